package states

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/base/basetest"
	"github.com/lethe-iac/lethe/internal/cli/workdir"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/operation"
)

// with calls the function do with the States of the directory d, and returns all output.
func with(d *basetest.Dir, do func(context.Context, *base.Call, *States)) string {
	d.Helper()
	return d.Do(func(ctx context.Context, c *base.Call) {
		s, ok := Open(c, &workdir.Options{Lock: true})
		if !ok {
			d.Fatal("not opened")
		}
		do(ctx, c, s)
	})
}

// isLocked reports whether the lock file of the state exists.
func isLocked(d *basetest.Dir) bool {
	_, err := os.Stat(filepath.Join(d.Path, ".terraform.tfstate.lock.info"))
	return err == nil
}

func TestStateIsLockedUntilTheEndOfTheCommand(t *testing.T) {
	d := basetest.New(t, "")
	d.State("a")
	with(d, func(ctx context.Context, c *base.Call, s *States) {
		c.AtEnd(func() {
			if !isLocked(d) {
				t.Error("unlocked before the end")
			}
		})
		l, ok := s.Lock(ctx, Locking{Operation: operation.Remove})
		if !ok || l.State.Snapshot().Len() != 1 || l.Type != "local" || !isLocked(d) {
			t.Fatalf("%t: %+v", ok, l)
		}
	})
	if isLocked(d) {
		t.Error("locked after the end")
	}
}

func TestUnlockMayBeCalledAgain(t *testing.T) {
	d := basetest.New(t, "")
	d.State("a")
	out := with(d, func(ctx context.Context, _ *base.Call, s *States) {
		for range 2 {
			if _, ok := s.Lock(ctx, Locking{Operation: operation.Remove}); !ok {
				t.Fatal("not locked")
			}
			s.Unlock()
			if isLocked(d) {
				t.Error("locked")
			}
			s.Unlock()
		}
	})
	if out != "" {
		t.Error(out)
	}
}

func TestStatesNeedNeitherModulesNorProviders(t *testing.T) {
	d := basetest.New(t, "module \"m\" {\n  source = \"./missing\"\n}\nresource \"test_thing\" \"a\" {}\n")
	d.State("a")
	out := with(d, func(ctx context.Context, c *base.Call, s *States) {
		if got, ok := s.Read(ctx); !ok || got.Len() != 1 {
			t.Errorf("%t: %v", ok, got)
		}
		if c.Work.Load() != nil || c.Keeps.Load() != nil {
			t.Error("there is an engine or a keeper")
		}
	})
	if out != "" || isLocked(d) {
		t.Error(out)
	}
}

func TestStoreIsNotOpenedIfTheBackendBlockCannotBeRead(t *testing.T) {
	out := with(basetest.New(t, "terraform {"), func(ctx context.Context, _ *base.Call, s *States) {
		if _, ok := s.OpenStore(ctx); ok {
			t.Error("opened")
		}
	})
	if !strings.Contains(out, "main.tf line 1") {
		t.Error(out)
	}
}

func TestWorkspaceToLockMayBeNamed(t *testing.T) {
	d := basetest.New(t, "")
	with(d, func(ctx context.Context, _ *base.Call, s *States) {
		selected, ok1 := s.Lock(ctx, Locking{Operation: operation.Remove})
		other, ok2 := s.Lock(ctx, Locking{Operation: operation.Delete, Workspace: "other"})
		if !ok1 || !ok2 || selected.Place == other.Place {
			t.Errorf("%+v, %+v", selected, other)
		}
	})
	out := with(d, func(ctx context.Context, _ *base.Call, s *States) {
		if _, ok := s.Lock(ctx, Locking{Workspace: "../x"}); ok {
			t.Error("locked")
		}
	})
	if !strings.Contains(out, "../x") {
		t.Error(out)
	}
}

func TestMistakesInAStateFileNameTheFile(t *testing.T) {
	with(basetest.New(t, ""), func(ctx context.Context, c *base.Call, s *States) {
		var bag diag.Bag
		if _, ok := s.OpenState(ctx, []byte("{"), "The file is x.", &bag); ok {
			t.Error("read")
		}
		if list := bag.List(); len(list) != 1 || !strings.HasSuffix(list[0].Detail, " The file is x.") || c.Bag.Len() > 0 {
			t.Errorf("%v, %v", list, c.Bag.List())
		}
	})
}

func TestBackendOfAnotherRootModuleHasItsOwnDirectory(t *testing.T) {
	d := basetest.New(t, "terraform {\n  backend \"local\" {}\n}\n")
	with(d, func(_ context.Context, c *base.Call, s *States) {
		var bag diag.Bag
		root := *s.loader.Root()
		root.Backend = &config.Backend{Type: "nowhere"}
		other := s.BackendOf(&root, "elsewhere", &bag)
		if other.CheckDeclared() || bag.Len() != 1 || other.Env.Data != "elsewhere" || other.Env.Bag != &bag {
			t.Errorf("%+v, %v", other.Env, bag.List())
		}
		if !s.Backend.CheckDeclared() || s.Backend.Env.Data == "elsewhere" || s.Backend.Env.Bag != &c.Bag {
			t.Error("the backend of the directory has changed")
		}
	})
}
