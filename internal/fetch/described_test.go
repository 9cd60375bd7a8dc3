package fetch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/shortcut"
)

// TestDescribed checks that a description is returned only for the same package and the same switches, and that file
// names do not depend on other values of the environment.
func TestDescribed(t *testing.T) {
	a := addr.Provider{Host: "registry.opentofu.org", Namespace: "acme", Type: "kv"}
	p := &Providers{DataDir: t.TempDir()}
	env := []string{"TOKEN=canary-3f0a", "TF_VAR_beta=true", "BETA=true"}
	if p.Described(a, env) != nil {
		t.Fatal("a package that was not verified is described")
	}
	p.verified.Store(a.Canon(), verdict{hash: "h1:one"})
	text := strings.Repeat("schemas ", 1000)
	p.Described(a, env).Store([]byte(text))

	loads := func(env ...string) bool { return string(p.Described(a, env).Load()) == text }
	for what, c := range map[string]struct {
		env  []string
		want bool
	}{
		"the same":                 {env, true},
		"another token":            {[]string{"BETA=true", "TOKEN=other"}, true},
		"another input variable":   {[]string{"BETA=true", "TF_VAR_beta=false"}, true},
		"another switch":           {[]string{"BETA=true", "GAMMA=1"}, false},
		"a switch the other way":   {[]string{"BETA=false"}, false},
		"a switch that is no more": {nil, false},
	} {
		if got := loads(c.env...); got != c.want {
			t.Errorf("%s: %v", what, got)
		}
	}

	host := a
	host.Host = "registry.terraform.io"
	if p.Described(host, env) == nil {
		t.Error("the same provider under its other host is not known")
	}
	p.Disabled = shortcut.Schemas
	if p.Described(a, env) != nil {
		t.Error("the shortcut is taken though it is closed")
	}
	p.Disabled = 0

	kept := p.Described(a, env).path
	for what, change := range map[string]func() error{
		"cut off": func() error { return os.Truncate(kept, 100) },
		"emptied": func() error { return os.Truncate(kept, 0) },
		"gone":    func() error { return os.Remove(kept) },
		"changed": func() error { return os.WriteFile(kept, []byte("canabc"+text), 0o644) },
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
		if got := p.Described(a, env).Load(); got != nil {
			t.Errorf("%s, it is still used: %.20q", what, got)
		}
		p.Described(a, env).Store([]byte(text))
		if !loads(env...) {
			t.Errorf("%s, it is not put right", what)
		}
	}

	p.verified.Store(a.Canon(), verdict{hash: "h1:two"})
	if loads(env...) {
		t.Error("another package has the same description")
	}
	p.Described(a, env).Store([]byte("two"))
	if files, _ := os.ReadDir(filepath.Dir(kept)); len(files) != 1 {
		t.Errorf("what was kept of the package before is still there: %v", files)
	}
}
