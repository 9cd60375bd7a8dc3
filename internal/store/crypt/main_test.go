package crypt

import (
	"os"
	"testing"

	"github.com/lethe-iac/lethe/internal/store"
)

func TestMain(m *testing.M) {
	store.Hurry(100) // the pauses between attempts are 100 times shorter than in the product
	os.Exit(m.Run())
}
