package backend

import (
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

func TestInitSelectsAWorkspaceIfTheStoreLacksTheSelectedOne(t *testing.T) {
	for _, tt := range []struct {
		names    []string
		env, ask string
		want     string // "" is an error
	}{
		{[]string{"a", store.Default}, "", "", store.Default},
		{[]string{"a"}, "", "", "a"},
		{[]string{"a", "b"}, "", "b", "b"},
		{[]string{"a", "b"}, "", "", ""},
		{[]string{"a"}, "c", "", ""},
		{nil, "", "", ""},
	} {
		b := newBench(t)
		b.env[workspace.Variable] = tt.env
		ok := reselect(b.Env, tt.names, func(string, []string) string { return tt.ask })
		if ok != (tt.want != "") || ok && b.Env.Selected() != tt.want || ok != (b.Env.Bag.Len() == 0) {
			t.Errorf("%v: %t, %s, %v", tt, ok, b.Env.Selected(), b.Env.Bag.List())
		}
	}
}
