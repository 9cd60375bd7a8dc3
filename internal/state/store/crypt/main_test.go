package crypt

import (
	"os"
	"testing"

	"github.com/lethe-iac/lethe/internal/state/store"
)

func TestMain(m *testing.M) {
	store.Hurry(100) // no test waits as long as a user would for a service
	os.Exit(m.Run())
}
