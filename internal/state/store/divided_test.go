package store_test

import (
	"testing"

	"github.com/lethe-iac/lethe/internal/state/store"
	"github.com/lethe-iac/lethe/internal/state/store/storetest"
)

// TestDivided is the contract of stores that can be divided on the one of the tests.
func TestDivided(t *testing.T) {
	storetest.RunMembers(t, func(*testing.T) func() store.Store {
		d := &storetest.Divided{}
		return func() store.Store { return d }
	})
}
