package savedplan

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/base/basetest"
	"github.com/lethe-iac/lethe/internal/cli/session"
	"github.com/lethe-iac/lethe/internal/cli/workdir"
	"github.com/lethe-iac/lethe/internal/engine"
	"github.com/lethe-iac/lethe/internal/lang/vet"
	"github.com/lethe-iac/lethe/internal/operation"
	"github.com/lethe-iac/lethe/internal/plan/file"
)

// with calls the function do with the Plans of a session, and returns all output.
func with(d *basetest.Dir, do func(context.Context, *base.Call, *Plans)) string {
	d.Helper()
	return d.Do(func(ctx context.Context, c *base.Call) {
		s, ok := session.Open(c, &workdir.Options{Lock: true}, operation.Plan)
		if !ok {
			d.Fatal("not opened")
		}
		do(ctx, c, New(s))
	})
}

// save saves a plan of the configuration in the directory d to a file.
func save(ctx context.Context, d *basetest.Dir, p *Plans, name string) {
	d.Helper()
	s := p.session
	if !s.Loader.Load() || !s.Loader.Vars.Collect() || !s.Compile(ctx, vet.CheckOptions{}) {
		d.Fatal("not compiled")
	}
	ws, ok := s.Lock(ctx, nil)
	if !ok {
		d.Fatal("not locked")
	}
	req, _ := s.PlanRequest(ws.Snapshot())
	var result *engine.Result
	if result, ok = s.Engine.Plan(ctx, req, &s.Dir.Call.Bag); !ok {
		d.Fatal(s.Dir.Call.Bag.List())
	}
	if ok, err := p.Save(ctx, name, result.Plan); !ok || err != nil {
		d.Fatal(ok, err)
	}
}

func TestSavedPlanIsTrustedByTheKeyThatSealedIt(t *testing.T) {
	d := basetest.New(t, basetest.TestObject("a"))
	with(d, func(ctx context.Context, _ *base.Call, p *Plans) { save(ctx, d, p, "p") })
	for _, c := range []struct {
		key              string
		foreign, trusted bool
		text             string
	}{
		{"", false, true, ""}, // without a key in the environment, the user's key file counts, which Save created
		{"another-key-0123456789", false, false, "Saved plan of unknown origin"},
		{"another-key-0123456789", true, true, ""},
	} {
		if d.Environ = nil; c.key != "" {
			d.Environ = []string{"LETHE_PLAN_KEY=" + c.key}
		}
		out := with(d, func(ctx context.Context, _ *base.Call, p *Plans) {
			saved, ok := p.Read(ctx, "p")
			if !ok {
				t.Fatal("not read")
			}
			if trusted := p.Trust(saved, c.foreign); trusted != c.trusted {
				t.Errorf("%+v: %t", c, trusted)
			}
		})
		if c.text == "" && out != "" || !strings.Contains(out, c.text) {
			t.Errorf("%+v: %s", c, out)
		}
	}
}

func TestSavedPlanHasItsConfiguration(t *testing.T) {
	d := basetest.New(t, basetest.TestObject("a"))
	with(d, func(ctx context.Context, _ *base.Call, p *Plans) { save(ctx, d, p, "p") })
	d.Write("main.tf", basetest.TestObject("other"))
	out := with(d, func(ctx context.Context, _ *base.Call, p *Plans) {
		saved, ok := p.Read(ctx, "p")
		if !ok || !p.Load(ctx, saved) {
			t.Fatal("not loaded")
		}
		if r := p.session.Loader.Tree.Root.Module.Resources; len(r) != 1 || p.session.Program == nil {
			t.Errorf("%v", r)
		}
		for _, decl := range p.session.Program.Decls() {
			if decl.Resource.Name == "other" {
				t.Error("the configuration of the directory is used")
			}
		}
	})
	if out != "" {
		t.Error(out)
	}
}

func TestSavedPlanNeedsTheProvidersItWasMadeWith(t *testing.T) {
	lock := func(version, hash string) []byte {
		return []byte("provider \"registry.opentofu.org/hashicorp/test\" {\n  version = \"" + version + "\"\n  hashes  = [\"h1:" + hash + "\"]\n}\n")
	}
	d := basetest.New(t, "")
	for _, c := range []struct {
		now, text string
	}{
		{string(lock("1.0.0", "one=")), ""},
		{string(lock("1.1.0", "one=")), "the lock file has 1.1.0"},
		{string(lock("1.0.0", "two=")), "the checksums for version 1.0.0"},
		{"", "does not have it"},
	} {
		d.Write(".terraform.lock.hcl", c.now)
		out := with(d, func(_ context.Context, _ *base.Call, p *Plans) {
			if same := p.SameProviders(&file.Contents{Lock: lock("1.0.0", "one=")}); same != (c.text == "") {
				t.Errorf("%q: %t", c.now, same)
			}
		})
		if c.text == "" && out != "" || !strings.Contains(out, c.text) {
			t.Errorf("%q: %s", c.text, out)
		}
	}
}

func TestSavedPlanHasNoSecretOfTheBackend(t *testing.T) {
	const text, secret = "password = \"canary-8d20\" # comment", "\"canary-8d20\""
	at := strings.Index(text, secret)
	out := string(nulled([]byte(text), at, at+len(secret)))
	if out != "password = null          # comment" {
		t.Errorf("%q", out)
	}
}

func TestPlanThatCannotBeSavedIsReported(t *testing.T) {
	d := basetest.New(t, basetest.TestObject("a"))
	with(d, func(ctx context.Context, _ *base.Call, p *Plans) {
		save(ctx, d, p, "p")
		if err := os.Mkdir(filepath.Join(d.Path, "dir"), 0o755); err != nil {
			t.Fatal(err)
		}
		saved, _ := p.Read(ctx, "p")
		if ok, err := p.Save(ctx, "dir", saved.Plan); !ok || err == nil {
			t.Errorf("%t, %v", ok, err)
		}
	})
}
