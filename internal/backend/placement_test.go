package backend

import (
	"slices"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/store"
)

const (
	emptyState = `{"version":4,"terraform_version":"1.9.0","serial":1,"lineage":"l","outputs":{},"resources":[]}`
	laterState = `{"version":4,"terraform_version":"1.9.0","serial":9,"lineage":"l","outputs":{"x":{"value":1,"type":"number"}},"resources":[]}`
)

// opened returns the store of the settings, without checking or recording the place.
func (b *bench) opened(s settings) store.Store {
	b.Helper()
	st, ok := b.opener.open(ctx, s)
	if !ok {
		b.Fatal(b.Env.Bag.List())
	}
	return st
}

func TestEmptyPlaceIsUsableIfTheDirectoryHasNoState(t *testing.T) {
	b := newBench(t)
	s := b.declare(`backend "local" { path = "one/s" }`)
	if !b.placement.usable(ctx, s, b.opened(s)) || b.exists(".terraform") {
		t.Errorf("refused or recorded: %v", b.Env.Bag.List())
	}
}

func TestPlaceWithAStateIsRecorded(t *testing.T) {
	b := newBench(t)
	s := b.declare(`backend "local" { path = "one/s" }`)
	b.write("one/s", emptyState)
	if !b.placement.usable(ctx, s, b.opened(s)) {
		t.Error(b.Env.Bag.List())
	}
	if got, ok := b.record.settings(); !ok || !got.same(s) {
		t.Errorf("%+v", got)
	}
}

// TestPlaceIsNotRecordedBeforeItsStateIsRead checks that a place whose state cannot be read, or is empty, does not replace
// the former state: the next plan would create all objects again.
func TestPlaceIsNotRecordedBeforeItsStateIsRead(t *testing.T) {
	for text, usable := range map[string]bool{"{": true, `{"version":99}`: true, emptyState: false} {
		b := newBench(t)
		b.write("terraform.tfstate", laterState)
		s := b.declare(`backend "local" { path = "one/s" }`)
		b.write("one/s", text)
		if got := b.placement.usable(ctx, s, b.opened(s)); got != usable || b.exists(".terraform") {
			t.Errorf("%s: usable %t, or recorded: %v", text, got, b.Env.Bag.List())
		}
		if !usable {
			if d := b.reported(initNeeded); !strings.Contains(d, "one/s, has an empty state, but the previous backend, terraform.tfstate, has") {
				t.Error(d)
			}
		}
	}
}

func TestEmptyPlaceIsUsableIfItHasOtherWorkspaces(t *testing.T) {
	b := newBench(t)
	b.write("terraform.tfstate", laterState)
	s := b.declare("backend \"local\" {\n  path = \"one/s\"\n  workspace_dir = \"w\"\n}")
	b.write("w/x/terraform.tfstate", laterState)
	if err := b.Env.Select("new"); err != nil {
		t.Fatal(err)
	}
	if !b.placement.usable(ctx, s, b.opened(s)) {
		t.Error(b.Env.Bag.List())
	}
}

func TestPlanIsRefusedIfAnotherPlaceHasALaterState(t *testing.T) {
	for state, detail := range map[string]string{"": "one/s, has no state", strings.Replace(laterState, ":9", ":8", 1): "The state is in one/s, but the configuration now names terraform.tfstate."} {
		b := newBench(t)
		s := b.declare(`backend "local" { path = "one/s" }`)
		b.write("terraform.tfstate", laterState)
		if state != "" {
			b.write("one/s", state)
		}
		if b.placement.current(ctx, s, b.opened(s), nil) {
			t.Error("current")
		}
		if d := b.reported("Backend configuration changed"); !strings.Contains(d, detail) {
			t.Error(d)
		}
		b.write("terraform.tfstate", emptyState)
		if state != "" && !b.placement.current(ctx, s, b.opened(s), nil) {
			t.Errorf("an earlier state in the other place: %v", b.Env.Bag.List())
		}
	}
}

func TestWorkspacesAreFilledIfOneOfThemHasContent(t *testing.T) {
	b := newBench(t)
	st := b.opened(implied())
	b.write("terraform.tfstate", emptyState)
	b.write("terraform.tfstate.d/w/terraform.tfstate", emptyState)
	if names, err := filled(ctx, b.Env, st); len(names) > 0 || err != nil {
		t.Errorf("without content: %q, %v", names, err)
	}
	b.write("terraform.tfstate.d/w/terraform.tfstate", laterState)
	if names, err := filled(ctx, b.Env, st); !slices.Equal(names, []string{"default", "w"}) || err != nil {
		t.Errorf("%q, %v", names, err)
	}
}

// TestPlaceOfInterruptedMigration checks that a place with a state is not recorded if the files of the directory have
// the state of another workspace that the place lacks, or a newer state of the same lineage.
func TestPlaceOfInterruptedMigration(t *testing.T) {
	for name, tt := range map[string]struct{ file, text, want string }{
		"another workspace lacks": {"terraform.tfstate.d/w/terraform.tfstate", stateOf("w", 1), "spaces/w/terraform.tfstate, has no state, but the previous backend, terraform.tfstate.d/w/terraform.tfstate, has a state"},
		"an older state":          {"terraform.tfstate", stateOf("l", 4), "one/s, has an older state, of serial 3 instead of 4, but the previous backend, terraform.tfstate, has a state"},
		"a newer state":           {"terraform.tfstate", stateOf("l", 2), ""},
		"another state":           {"terraform.tfstate", stateOf("m", 4), ""},
		"nothing":                 {"terraform.tfstate.d/w/other", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.write("one/s", stateOf("l", 3))
			b.write(tt.file, tt.text)
			s := b.declare("backend \"local\" {\n path = \"one/s\"\n workspace_dir = \"spaces\"\n}")
			if got := b.placement.usable(ctx, s, b.opened(s)); got != (tt.want == "") || got != b.exists(".terraform") {
				t.Errorf("usable %t, recorded %t: %v", got, b.exists(".terraform"), b.Env.Bag.List())
			}
			if tt.want == "" {
				b.reported()
			} else if d := b.reported(initNeeded); !strings.Contains(d, tt.want) {
				t.Error(d)
			}
		})
	}
}
