package backend

import (
	"slices"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/schema"
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

// TestShownSettingsAreNotSecret checks for each backend that messages about a file of settings may show no secret setting,
// also inside a nested setting, and all other settings.
func TestShownSettingsAreNotSecret(t *testing.T) {
	for _, driver := range Drivers {
		shown := shownSettings(driver.Schema)
		var check func(attrs []*schema.Attr)
		check = func(attrs []*schema.Attr) {
			for _, a := range attrs {
				if slices.Contains(shown, a.Name) == a.Sensitive {
					t.Errorf("%s: the setting %q is sensitive: %t, and in %q", driver.Name, a.Name, a.Sensitive, shown)
				}
				if a.Object != nil {
					check(a.Object.Attrs)
				}
			}
		}
		check(driver.Schema.Attrs)
		text := "assume_role_with_web_identity = {\n  web_identity_token = \"canary-web\"\n  session_name = \"s\"\n}\n"
		if masked := string(diag.Masked([]byte(text), diag.Harmless{Values: shown})); strings.Contains(masked, "canary") || strings.Contains(masked, `"s"`) != slices.Contains(shown, "session_name") {
			t.Errorf("%s: %s", driver.Name, masked)
		}
	}
}
