package session

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/base/basetest"
	"github.com/lethe-iac/lethe/internal/cli/workdir"
	"github.com/lethe-iac/lethe/internal/lang/vet"
	"github.com/lethe-iac/lethe/internal/operation"
	"github.com/lethe-iac/lethe/internal/state"
)

// with calls the function do with a Session for an operation in the directory d, and returns all output.
func with(d *basetest.Dir, of operation.Operation, do func(context.Context, *base.Call, *Session)) string {
	d.Helper()
	return d.Do(func(ctx context.Context, c *base.Call) {
		s, ok := Open(c, &workdir.Options{Lock: true}, of)
		if !ok {
			d.Fatal("not opened")
		}
		do(ctx, c, s)
	})
}

func TestSessionClosesWhatItOpened(t *testing.T) {
	d := basetest.New(t, "")
	d.State("a")
	lock := filepath.Join(d.Path, ".terraform.tfstate.lock.info")
	with(d, operation.Apply, func(ctx context.Context, _ *base.Call, s *Session) {
		if _, ok := s.Lock(ctx, nil); !ok {
			t.Fatal("not locked")
		}
		if _, err := os.Stat(lock); err != nil {
			t.Error(err)
		}
	})
	if _, err := os.Stat(lock); err == nil {
		t.Error("locked after the end")
	}
}

func TestLockedStateRecordsLeases(t *testing.T) {
	d := basetest.New(t, "")
	with(d, operation.Apply, func(ctx context.Context, _ *base.Call, s *Session) {
		if s.Engine.Leases != nil || s.Locked != nil {
			t.Error("there is a state before Lock")
		}
		ws, ok := s.Lock(ctx, nil)
		if !ok || s.Engine.Leases != ws || s.Locked.State != ws {
			t.Errorf("%t: %v", ok, s.Engine.Leases)
		}
	})
}

func TestOpenLocksNothingAndReadsNoConfiguration(t *testing.T) {
	d := basetest.New(t, "nonsense")
	out := with(d, operation.None, func(_ context.Context, c *base.Call, s *Session) {
		if s.Loader.Tree != nil || s.Program != nil || s.Locked != nil || c.Work.Load() != s.Engine {
			t.Errorf("%+v", s)
		}
	})
	if out != "" {
		t.Error(out)
	}
}

func TestJudgeReportsAllMistakes(t *testing.T) {
	d := basetest.New(t, "locals {\n  a = local.b\n}\noutput \"x\" {\n  value = var.c\n}\n")
	out := with(d, operation.None, func(ctx context.Context, _ *base.Call, s *Session) {
		s.Loader.Load()
		s.Judge(ctx, vet.CheckOptions{})
	})
	for _, name := range []string{"local.b", "var.c"} {
		if !strings.Contains(out, name) {
			t.Errorf("no %s: %s", name, out)
		}
	}
}

func TestPlanRequestNamesTheBackendOfTheLockedState(t *testing.T) {
	d := basetest.New(t, basetest.TestObject("a"))
	with(d, operation.Plan, func(ctx context.Context, _ *base.Call, s *Session) {
		if !s.Loader.Load() || !s.Loader.Vars.Collect() || !s.Compile(ctx, vet.CheckOptions{}) {
			t.Fatal("not compiled")
		}
		if req, ok := s.PlanRequest(&state.Snapshot{}); !ok || req.Backend != "" || !req.Refresh {
			t.Errorf("%t: %+v", ok, req)
		}
		if _, ok := s.Lock(ctx, nil); !ok {
			t.Fatal("not locked")
		}
		if req, ok := s.PlanRequest(&state.Snapshot{}); !ok || req.Backend != "local" || req.Program != s.Program {
			t.Errorf("%t: %+v", ok, req)
		}
	})
}

func TestProvisionersOfDeposedObjectsAreSkippedAsTheEnvironmentSays(t *testing.T) {
	d := basetest.New(t, "")
	for text, want := range map[string][2]bool{"": {false, true}, "true": {true, true}, "perhaps": {false, false}} {
		d.Environ = []string{"LETHE_SKIP_DEPOSED_PROVISIONERS=" + text}
		with(d, operation.Plan, func(_ context.Context, _ *base.Call, s *Session) {
			if req, ok := s.PlanRequest(nil); req.Provisioners.SkipDeposed != want[0] || ok != want[1] {
				t.Errorf("%q: %t, %t", text, req.Provisioners.SkipDeposed, ok)
			}
		})
	}
}
