package backend

import (
	"context"
	"testing"

	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/workspace"
)

func TestMissingSettingsAreAskedForUntilOneHasNoAnswer(t *testing.T) {
	b := newBench(t)
	s := b.declare(`backend "s3" {}`)
	var names []string
	got := b.opener.asked(ctx, s, func(name, _ string, _ bool) (string, bool) {
		names = append(names, name)
		return "x", len(names) < 2
	})
	if len(names) != 2 || names[0] == names[1] || got.config.GetAttr(names[0]).AsString() != "x" || !got.config.GetAttr(names[1]).IsNull() {
		t.Errorf("asked for %q: %#v", names, got.config)
	}
	if got := b.opener.asked(ctx, s, nil); !got.same(s) {
		t.Error("nobody can be asked, and the settings have changed")
	}
}

// single is a store with only the default workspace.
type single struct{ store.Memory }

func (s *single) Get(ctx context.Context, workspace string) ([]byte, store.Version, error) {
	if err := store.Only(workspace); err != nil {
		return nil, "", err
	}
	return s.Memory.Get(ctx, workspace)
}

func TestInitSelectsAWorkspaceIfTheStoreLacksTheSelectedOne(t *testing.T) {
	for _, tt := range []struct {
		store    store.Store
		names    []string
		selected string
		env, ask string
		want     string // the selected workspace; "" if an error is expected
	}{
		{&store.Memory{}, []string{"a", store.Default}, "", "", "", store.Default},
		{&store.Memory{}, []string{"a", store.Default}, "c", "", "", "c"},
		{&single{}, []string{store.Default}, "c", "", "", store.Default},
		{&single{}, []string{store.Default}, "", "c", "", "c"},
		{&store.Memory{}, []string{"a"}, "", "", "", "a"},
		{&store.Memory{}, []string{"a", "b"}, "", "", "b", "b"},
		{&store.Memory{}, []string{"a", "b"}, "", "", "", ""},
		{&store.Memory{}, []string{"a"}, "", "c", "", ""},
		{&store.Memory{}, nil, "", "", "", ""},
	} {
		b := newBench(t)
		b.env[workspace.Variable] = tt.env
		if tt.selected != "" {
			if err := b.Env.Select(tt.selected); err != nil {
				t.Fatal(err)
			}
		}
		ok := reselect(ctx, b.Env, tt.store, tt.names, func(string, []string) string { return tt.ask })
		if ok != (tt.want != "") || ok && b.Env.Selected() != tt.want || ok != (b.Env.Bag.Len() == 0) {
			t.Errorf("%v: %t, %s, %v", tt, ok, b.Env.Selected(), b.Env.Bag.List())
		}
	}
}
