package store_test

import (
	"testing"

	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/store/storetest"
)

// TestDivided runs the contract of divisible stores on the store that tests use.
func TestDivided(t *testing.T) {
	storetest.RunMembers(t, func(*testing.T) func() store.Store {
		d := &storetest.Divided{}
		return func() store.Store { return d }
	})
}
