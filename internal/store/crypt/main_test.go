package crypt

import (
	"os"
	"testing"

	"github.com/lethe-iac/lethe/internal/store"
)

func TestMain(m *testing.M) {
	store.Hurry(100) // do not wait as long for a service as users do
	os.Exit(m.Run())
}
