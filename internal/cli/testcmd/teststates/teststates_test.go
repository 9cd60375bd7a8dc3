package teststates

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/base/basetest"
	"github.com/lethe-iac/lethe/internal/cli/loader"
	"github.com/lethe-iac/lethe/internal/cli/states"
	"github.com/lethe-iac/lethe/internal/cli/workdir"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/suite"
)

// with calls the function do with the Leftovers (states that tests left) of the directory d and a state with one
// object, and returns all output.
func with(d *basetest.Dir, do func(*Leftovers, *state.Snapshot)) string {
	d.Helper()
	d.State("a")
	return d.Do(func(ctx context.Context, c *base.Call) {
		dir, ok := workdir.Open(c, &workdir.Options{})
		if !ok {
			d.Fatal("not opened")
		}
		s := states.New(loader.New(dir))
		some, _ := s.Read(ctx)
		do(New(dir, s), some)
	})
}

func TestKeptStateIsListedUntilItIsForgotten(t *testing.T) {
	d := basetest.New(t, "")
	with(d, func(l *Leftovers, some *state.Snapshot) {
		if _, err := l.Keep(suite.Kept{File: "x.tftest.hcl", Run: "r", State: some}); err != nil {
			t.Fatal(err)
		}
	})
	with(d, func(l *Leftovers, _ *state.Snapshot) { // as in another command
		kept, ok := l.Kept()
		if !ok || len(kept) != 1 || kept[0].Run != "r" || kept[0].Failed || kept[0].State.Len() != 1 {
			t.Fatalf("%t: %+v", ok, kept)
		}
		if err := l.Forget(kept[0]); err != nil {
			t.Error(err)
		}
		if kept, ok := l.Kept(); !ok || len(kept) != 0 {
			t.Errorf("%t: %+v", ok, kept)
		}
	})
}

func TestStatesThatCouldNotBeDestroyedAreBesideTheConfiguration(t *testing.T) {
	d := basetest.New(t, "")
	with(d, func(l *Leftovers, some *state.Snapshot) {
		for _, want := range []string{"errored_test.tfstate", "errored_test.2.tfstate"} {
			if got, err := l.Keep(suite.Kept{File: "x.tftest.hcl", Run: "r", State: some, Failed: true}); err != nil || got != want || d.Read(want) == "" {
				t.Errorf("%s, %v", got, err)
			}
		}
		if err := os.Remove(filepath.Join(d.Path, "errored_test.tfstate")); err != nil {
			t.Fatal(err)
		}
		// A file that the user has removed is no leftover.
		if kept, ok := l.Kept(); !ok || len(kept) != 1 || !kept[0].Failed || kept[0].Written != "errored_test.2.tfstate" {
			t.Errorf("%t: %+v", ok, kept)
		}
	})
}

func TestStateIsWrittenToTheFileThatItIsFrom(t *testing.T) {
	d := basetest.New(t, "")
	with(d, func(l *Leftovers, some *state.Snapshot) {
		for range 2 {
			if _, err := l.Keep(suite.Kept{File: "x.tftest.hcl", Run: "r", State: some, Written: "errored_test.tfstate", Failed: true}); err != nil {
				t.Fatal(err)
			}
		}
		if kept, ok := l.Kept(); !ok || len(kept) != 1 {
			t.Errorf("%t: %+v", ok, kept)
		}
	})
}

func TestJournalOfARunningTestIsLeftAlone(t *testing.T) {
	d := basetest.New(t, "")
	journals := func() int {
		list, _ := filepath.Glob(filepath.Join(d.Path, ".terraform", "test", "*.journal"))
		return len(list)
	}
	out := with(d, func(l *Leftovers, _ *state.Snapshot) {
		j := l.Begin(suite.Kept{File: "x.tftest.hcl", Run: "r", State: &state.Snapshot{}})
		other := l.Begin(suite.Kept{File: "x.tftest.hcl", Run: "s", State: &state.Snapshot{}})
		if j == nil || other == nil || journals() != 2 {
			t.Fatalf("%v, %v, %d journals", j, other, journals())
		}
		if _, ok := l.Kept(); !ok || journals() != 2 {
			t.Errorf("%t, %d journals", ok, journals())
		}
		j.End(true)
		other.End(false) // the journal stays, as if the process had been killed
		if journals() != 1 {
			t.Errorf("%d journals", journals())
		}
		if kept, ok := l.Kept(); !ok || len(kept) != 0 || journals() != 0 {
			t.Errorf("%t: %+v, %d journals", ok, kept, journals())
		}
	})
	if out != "" {
		t.Error(out)
	}
}

func TestUnreadableListIsReported(t *testing.T) {
	d := basetest.New(t, "")
	if err := os.MkdirAll(filepath.Join(d.Path, ".terraform", "test"), 0o755); err != nil {
		t.Fatal(err)
	}
	d.Write(filepath.Join(".terraform", "test", "manifest.json"), "{")
	out := with(d, func(l *Leftovers, some *state.Snapshot) {
		if _, ok := l.Kept(); ok {
			t.Error("read")
		}
		// The state is written although the list cannot be written, because the state may be the only record of the
		// objects.
		if _, err := l.Keep(suite.Kept{File: "x.tftest.hcl", Run: "r", State: some, Failed: true}); err != nil || d.Read("errored_test.tfstate") == "" {
			t.Error(err)
		}
	})
	if !strings.Contains(out, "manifest.json") {
		t.Error(out)
	}
}
