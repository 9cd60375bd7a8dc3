package backend

import (
	"slices"
	"testing"

	"github.com/lethe-iac/lethe/internal/config"
)

func TestDirectoryWithoutABlockDeclaresItsOwnFiles(t *testing.T) {
	b := newBench(t)
	b.root = nil
	if s, ok := b.declared.settings(); !ok || b.declared.block() != nil || !s.same(implied()) {
		t.Errorf("%+v", s)
	}
}

func TestDeclarationFollowsTheRootModule(t *testing.T) {
	b := newBench(t)
	one, two := b.declare(`backend "local" { path = "one/s" }`), b.declare(`backend "local" { path = "two/s" }`)
	if one.same(two) || !slices.Equal(one.differ(two), []string{"path"}) || one.fingerprint() == two.fingerprint() {
		t.Errorf("%+v, %+v", one, two)
	}
}

func TestSettingsOfAModuleAreReadWithoutErrors(t *testing.T) {
	b := newBench(t)
	for _, kind := range []string{"nowhere", "cos"} {
		m := &config.Module{}
		m.Backend = &config.Backend{Type: kind}
		if s, ok := b.declared.of(m); ok {
			t.Errorf("%+v", s)
		}
	}
	b.reported()
}

func TestMistakeInASettingNamesThePlaceOfTheSetting(t *testing.T) {
	b := newBench(t)
	s := b.declare("backend \"s3\" {\n  bucket = \"b\"\n  key = \"/k\"\n  region = \"us-east-1\"\n}")
	if _, ok := b.opener.unencrypted(ctx, s); ok {
		t.Fatal("opened")
	}
	if d := b.Env.Bag.List()[0]; d.Subject == nil || d.Subject.Start.Line != 4 || d.Path != nil {
		t.Errorf("%+v", d)
	}
}
