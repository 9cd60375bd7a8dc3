package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/lethe-iac/lethe/internal/store"
)

type suite struct {
	*testing.T
	open  func() store.Store
	ctx   context.Context
	known func(*suite, store.LockInfo) store.LockInfo // returns the description of a lock of the default workspace as other processes receive it
}

// state returns a state in the format of Terraform. Two states with different numbers have the same object and, besides
// it, an output and an object that differ.
func state(n int) []byte {
	return []byte(fmt.Sprintf(`{
  "version": 4,
  "terraform_version": "1.11.4",
  "serial": %[1]d,
  "lineage": "l",
  "outputs": {
    "o": {
      "value": %[1]d,
      "type": "number"
    }
  },
  "resources": [
    {
      "mode": "managed",
      "type": "terraform_data",
      "name": "a",
      "provider": "provider[\"terraform.io/builtin/terraform\"]",
      "instances": [
        {
          "index_key": "stays",
          "schema_version": 0,
          "attributes": {
            "id": "x"
          },
          "sensitive_attributes": []
        },
        {
          "index_key": %[1]d,
          "schema_version": 0,
          "attributes": {
            "id": "y"
          },
          "sensitive_attributes": []
        }
      ]
    }
  ],
  "check_results": null
}
`, n))
}

func (s *suite) get(st store.Store, workspace string) ([]byte, store.Version) {
	s.Helper()
	data, v, err := st.Get(s.ctx, workspace)
	if err != nil {
		s.Fatalf("Get %q: %v", workspace, err)
	}
	return data, v
}

func (s *suite) put(st store.Store, workspace string, data []byte, prev store.Version) store.Version {
	s.Helper()
	v, err := st.Put(s.ctx, workspace, data, prev)
	if err != nil {
		s.Fatalf("Put %q: %v", workspace, err)
	}
	return v
}

func (s *suite) lockIt(st store.Store, workspace string) func() {
	s.Helper()
	unlock, err := st.Lock(s.ctx, workspace, store.NewLockInfo("test", "1"))
	if err != nil {
		s.Fatalf("Lock %q: %v", workspace, err)
	}
	return func() {
		s.Helper()
		if err := unlock(s.ctx); err != nil {
			s.Fatalf("unlock %q: %v", workspace, err)
		}
	}
}

// id returns the ID of a lock of the default workspace, as other processes know it.
func (s *suite) id(who store.LockInfo) string {
	s.Helper()
	return s.known(s, who).ID
}

// unchanged returns the description of a lock from a store that keeps all of it.
func (s *suite) unchanged(who store.LockInfo) store.LockInfo { return who }

// chosen returns the description of a lock from a service that chooses the ID, and keeps neither the version nor the
// time of the lock.
func (s *suite) chosen(who store.LockInfo) store.LockInfo {
	s.Helper()
	_, err := s.open().Lock(s.ctx, store.Default, store.NewLockInfo("test", "1"))
	var held *store.LockError
	if !errors.As(err, &held) || held.Held == nil {
		s.Fatalf("a second lock: %v", err)
	}
	who.ID, who.Version, who.Created = held.Held.ID, held.Held.Version, held.Held.Created
	return who
}

func (s *suite) wantStale(_ store.Version, err error) {
	s.Helper()
	var stale *store.StaleError
	if !errors.As(err, &stale) {
		s.Fatalf("the error is %v, not a StaleError", err)
	}
}

// kept returns the workspaces whose names the store does not refuse.
func (s *suite) kept(workspaces ...string) []string {
	s.Helper()
	st := s.open()
	return slices.DeleteFunc(workspaces, func(w string) bool {
		_, _, err := st.Get(s.ctx, w)
		return errors.Is(err, store.ErrOnly) || errors.Is(err, store.ErrName)
	})
}
