package store_test

import (
	"testing"

	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/store/storetest"
)

func TestMemory(t *testing.T) {
	storetest.Run(t, func(*testing.T) func() store.Store {
		var m store.Memory
		return func() store.Store { return &m }
	})
}

func TestLocal(t *testing.T) {
	storetest.Run(t, func(t *testing.T) func() store.Store {
		dir := t.TempDir()
		return func() store.Store { return store.NewLocal(store.LocalOptions{Dir: dir}) }
	})
}
