//go:build unix

package launch

import (
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/schema"
)

// playgrounds builds the provider programs of test/providers when a test first needs them. They use the same SDKs as
// real providers. If LETHE_TEST_PROVIDERS names a directory, they remain there for other tests.
var playgrounds = sync.OnceValues(func() (string, error) {
	dir := os.Getenv("LETHE_TEST_PROVIDERS")
	if dir == "" {
		var err error
		if dir, err = os.MkdirTemp("", "playgrounds"); err != nil {
			return "", err
		}
		built = dir
	}
	cmd := exec.Command("go", "build", "-ldflags=-s -w", "-o", dir+"/", "./cmd/...")
	cmd.Dir = filepath.Join("..", "..", "..", "test", "providers")
	// The walk opens the sources, so that go test repeats the test after a change of them. It does not see the files
	// that go build reads.
	_ = filepath.WalkDir(cmd.Dir, func(string, fs.DirEntry, error) error { return nil })
	if out, err := cmd.CombinedOutput(); err != nil {
		return string(out), err
	}
	return dir, nil
})

// built is the directory of the programs; "" if no test has built them.
var built string

func removePlaygrounds() {
	if built != "" {
		os.RemoveAll(built)
	}
}

func playgroundAddr(typ string) addr.Provider {
	return addr.Provider{Host: addr.DefaultHost, Namespace: "lethe", Type: typ}
}

// real returns a pool of playground providers.
func real(t *testing.T, env ...string) (*provider.Pool, *Processes) {
	t.Helper()
	if testing.Short() {
		t.Skip("building provider programs takes a while")
	}
	dir, err := playgrounds()
	if err != nil {
		t.Skipf("the provider programs of test/providers cannot be built here: %v\n%.2000s", err, dir)
	}
	ps := &Processes{
		Find:    func(p addr.Provider) (string, error) { return filepath.Join(dir, "terraform-provider-"+p.Type), nil },
		Env:     append(os.Environ(), env...),
		Version: "1.12.0",
	}
	pool := provider.NewPool(ps)
	t.Cleanup(func() { pool.Close() })
	return pool, ps
}

// object returns a value of a block. given has the values of some attributes. The other attributes are null, except
// that computed attributes are unknown if the argument unknown is true.
func object(b *schema.Block, unknown bool, given map[string]cty.Value) cty.Value {
	attrs := map[string]cty.Value{}
	for _, a := range b.Attrs {
		attrs[a.Name] = cty.NullVal(a.Type)
		if unknown && a.Computed {
			attrs[a.Name] = cty.UnknownVal(a.Type)
		}
	}
	for _, n := range b.Blocks {
		switch n.Nesting {
		case schema.List:
			attrs[n.Name] = cty.ListValEmpty(n.Block.Type())
		case schema.Set:
			attrs[n.Name] = cty.SetValEmpty(n.Block.Type())
		case schema.Map:
			attrs[n.Name] = cty.MapValEmpty(n.Block.Type())
		default:
			attrs[n.Name] = cty.NullVal(n.Block.Type())
		}
	}
	for k, v := range given {
		attrs[k] = v
	}
	return cty.ObjectVal(attrs)
}

func encode(t *testing.T, b *schema.Block, v cty.Value) provider.Dynamic {
	t.Helper()
	raw, err := b.Encode(v)
	if err != nil {
		t.Fatal(err)
	}
	return provider.Dynamic{Msgpack: raw}
}

func decode(t *testing.T, b *schema.Block, d provider.Dynamic) cty.Value {
	t.Helper()
	v, err := b.Decode(d.Msgpack)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

var null = provider.Dynamic{Msgpack: []byte{0xc0}}

func clean(t *testing.T, ds provider.Diags) {
	t.Helper()
	if ds.HasErrors() {
		t.Fatal(ds)
	}
}

// TestRealProviders creates, updates and destroys one object of each kind, with providers of both protocols on real
// SDKs.
func TestRealProviders(t *testing.T) {
	for _, typ := range []string{"playground", "playground5"} {
		t.Run(typ, func(t *testing.T) {
			pool, _ := real(t, "PLAYGROUND_CLOUD="+t.TempDir())
			ctx, a := context.Background(), playgroundAddr(typ)
			schemas, ds := pool.Schemas(ctx, a)
			clean(t, ds)
			if schemas.Functions["concat"].Variadic == nil || len(schemas.Identities()) == 0 {
				t.Errorf("functions %v, identities %v", schemas.Functions, schemas.Identities())
			}
			for _, m := range []addr.Mode{addr.Managed, addr.Data, addr.Ephemeral} {
				for _, name := range schemas.Types(m) {
					if _, err := schemas.Type(m, name); err != nil {
						t.Error(err)
					}
				}
			}
			p, err := pool.Session(ctx, a)
			if err != nil {
				t.Fatal(err)
			}
			config := encode(t, schemas.Config.Block, object(schemas.Config.Block, false, map[string]cty.Value{"label": cty.StringVal("x")}))
			config, ds = p.ValidateConfig(ctx, config)
			clean(t, ds)
			clean(t, p.Configure(ctx, config, provider.Allow{}))
			managed(t, p, schemas, typ+"_thing")
			data(t, p, schemas, typ+"_null")
			lease(t, p, schemas, typ+"_lease")
			text, err := p.Call(ctx, "concat", []provider.Dynamic{{Msgpack: []byte("\xa1-")}, {Msgpack: []byte("\xa1a")}, {Msgpack: []byte("\xa1b")}})
			if err != nil || string(text.Msgpack) != "\xa3a-b" {
				t.Error(text, err)
			}
			if err := p.Stop(ctx); err != nil {
				t.Error(err)
			}
		})
	}
}

func managed(t *testing.T, p provider.Provider, schemas *provider.Schemas, typ string) {
	ctx := context.Background()
	s, err := schemas.Type(addr.Managed, typ)
	if err != nil {
		t.Fatal(err)
	}
	given := map[string]cty.Value{"name": cty.StringVal("one")}
	config := encode(t, s.Block, object(s.Block, false, given))
	clean(t, p.Validate(ctx, addr.Managed, typ, config))
	planned, ds := p.Plan(ctx, provider.PlanRequest{Type: typ, Prior: null, Proposed: encode(t, s.Block, object(s.Block, true, given)), Config: config})
	clean(t, ds)
	made, ds := p.Apply(ctx, provider.ApplyRequest{Type: typ, Prior: null, Planned: planned.Planned, Config: config, Private: planned.Private, Identity: planned.Identity})
	clean(t, ds)
	id := decode(t, s.Block, made.State).GetAttr("id")
	if !id.IsKnown() || id.IsNull() {
		t.Fatalf("made without an id: %#v", made)
	}
	read, ds := p.Read(ctx, provider.ReadRequest{Type: typ, State: made.State, Private: made.Private, Identity: made.Identity})
	clean(t, ds)
	if !decode(t, s.Block, read.State).RawEquals(decode(t, s.Block, made.State)) || len(read.Identity.Msgpack) == 0 {
		t.Errorf("read %#v, not %#v", read, made)
	}
	found, ds := p.Import(ctx, provider.ImportRequest{Type: typ, ID: id.AsString()})
	clean(t, ds)
	if len(found.Objects) != 1 || found.Objects[0].Type != typ {
		t.Errorf("found %v", found)
	}
	plain, err := s.Block.EncodeJSON(decode(t, s.Block, made.State))
	if err != nil {
		t.Fatal(err)
	}
	upgraded, ds := p.Upgrade(ctx, provider.UpgradeRequest{Type: typ, Version: s.Version, JSON: plain})
	clean(t, ds)
	if !decode(t, s.Block, upgraded.State).RawEquals(decode(t, s.Block, made.State)) {
		t.Errorf("upgraded to %#v", upgraded)
	}
	gone, ds := p.Apply(ctx, provider.ApplyRequest{Type: typ, Prior: made.State, Planned: null, Config: null, Private: made.Private})
	clean(t, ds)
	if v := decode(t, s.Block, gone.State); !v.IsNull() {
		t.Errorf("after destroying there is %#v", v)
	}
}

func data(t *testing.T, p provider.Provider, schemas *provider.Schemas, typ string) {
	s, err := schemas.Type(addr.Data, typ)
	if err != nil {
		t.Fatal(err)
	}
	inputs := cty.MapVal(map[string]cty.Value{"a": cty.StringVal("b")})
	config := encode(t, s.Block, object(s.Block, false, map[string]cty.Value{"inputs": inputs}))
	clean(t, p.Validate(context.Background(), addr.Data, typ, config))
	read, ds := p.ReadData(context.Background(), provider.DataRequest{Type: typ, Config: config})
	clean(t, ds)
	if got := decode(t, s.Block, read.State).GetAttr("outputs"); !got.RawEquals(inputs) {
		t.Errorf("read %#v", got)
	}
}

func lease(t *testing.T, p provider.Provider, schemas *provider.Schemas, typ string) {
	ctx := context.Background()
	s, err := schemas.Type(addr.Ephemeral, typ)
	if err != nil {
		t.Fatal(err)
	}
	config := encode(t, s.Block, object(s.Block, false, map[string]cty.Value{"name": cty.StringVal("one"), "renew_after": cty.StringVal("30s")}))
	clean(t, p.Validate(ctx, addr.Ephemeral, typ, config))
	opened, ds := p.Open(ctx, provider.OpenRequest{Type: typ, Config: config})
	clean(t, ds)
	if d := time.Until(opened.RenewAt); d < 10*time.Second || d > time.Minute {
		t.Errorf("to be renewed in %s", d)
	}
	renewed, ds := p.Renew(ctx, typ, opened.Private)
	clean(t, ds)
	clean(t, p.CloseLease(ctx, typ, renewed.Private))
}

// TestRogueStarts checks programs that do not start correctly. The rogue provider has more ways to fail than the test
// binary.
func TestRogueStarts(t *testing.T) {
	for how, want := range map[string]string{
		"exit:3":     "it exited (exit status 3)",
		"panic":      "it exited (exit status 2)",
		"hang":       "it did not print its address in time",
		"garbage":    `"this is not a plugin"`,
		"short":      `"1|6|unix"`,
		"noise:5":    `"noise noise`,
		"protocol:4": "version 4 of the provider protocol",
		"protocol:x": `its first line is not a plugin handshake: "1|x|`,
		"core:2":     "version 2 of the handshake",
		"network":    "unknown address type",
	} {
		t.Run(how, func(t *testing.T) {
			pool, ps := real(t, "PLAYGROUND_ROGUE_START="+how)
			if ps.Deadlines.Start = 10 * time.Second; how == "hang" {
				ps.Deadlines.Start = 300 * time.Millisecond
			}
			_, ds := pool.Schemas(context.Background(), playgroundAddr("rogue"))
			if len(ds) != 1 || ds[0].Summary != title || !strings.Contains(ds[0].Detail, want) || !strings.Contains(ds[0].Detail, "lethe/rogue") {
				t.Errorf("not %q: %v", want, ds)
			}
		})
	}
}

// TestRogueConnections checks programs that start and whose connection does not work.
func TestRogueConnections(t *testing.T) {
	for _, how := range []string{"refuse", "babble"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			pool, _ := real(t, "PLAYGROUND_ROGUE_START="+how)
			_, ds := pool.Schemas(context.Background(), playgroundAddr("rogue"))
			if len(ds) != 1 || ds[0].Summary != "Plugin did not respond" && ds[0].Summary != title || !strings.Contains(ds[0].Detail, "lethe/rogue") {
				t.Errorf("got %v", ds)
			}
		})
	}
}

// TestRogueCalls checks the messages about calls that the provider fails in various ways.
func TestRogueCalls(t *testing.T) {
	for rule, want := range map[string]struct{ title, text string }{
		"Validate=panic:oh":                           {"Plugin did not respond", "exit status 2"},
		"Validate=exit:9":                             {"Plugin did not respond", "exit status 9"},
		"Validate=kill":                               {"Plugin did not respond", "signal: killed"},
		"Validate=after-exit:0":                       {"Plugin did not respond", "exit status 0"},
		"Validate=error:sorry":                        {"Plugin error", "sorry"},
		"Validate=diag:told you":                      {"An error was asked for", "told you"},
		"Validate=stdout:5;Validate=diag:still there": {"An error was asked for", "still there"},
		"Validate=stderr:5;Validate=diag:still there": {"An error was asked for", "still there"},
	} {
		for _, protocol := range []string{"5", "6"} {
			t.Run(rule+" "+protocol, func(t *testing.T) {
				pool, _ := real(t, "PLAYGROUND_ROGUE="+rule, "PLAYGROUND_ROGUE_PROTOCOL="+protocol)
				a := playgroundAddr("rogue")
				schemas, ds := pool.Schemas(context.Background(), a)
				clean(t, ds)
				s, err := schemas.Type(addr.Managed, "rogue_thing")
				if err != nil {
					t.Fatal(err)
				}
				p, err := pool.Idle(context.Background(), a)
				if err != nil {
					t.Fatal(err)
				}
				ds = p.Validate(context.Background(), addr.Managed, "rogue_thing", encode(t, s.Block, object(s.Block, false, map[string]cty.Value{"name": cty.StringVal("x")})))
				if len(ds) != 1 || ds[0].Summary != want.title || !strings.Contains(ds[0].Detail, want.text) {
					t.Errorf("got %.2000v", ds)
				}
			})
		}
	}
}

// TestRogueHangs checks that a hanging call returns when it is cancelled, and that the process can be ended.
func TestRogueHangs(t *testing.T) {
	pool, _ := real(t, "PLAYGROUND_ROGUE=Validate=hang")
	p, err := pool.Idle(context.Background(), playgroundAddr("rogue"))
	if err != nil {
		t.Fatal(err)
	}
	if _, ds := p.Schemas(context.Background()); ds != nil {
		t.Fatal(ds)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	ds := p.Validate(ctx, addr.Managed, "rogue_thing", null)
	if len(ds) != 1 || ds[0].Summary != "Request cancelled" {
		t.Errorf("got %v", ds)
	}
	began := time.Now()
	pool.Close()
	if d := time.Since(began); d > 30*time.Second {
		t.Errorf("ending it took %s", d)
	}
}

// TestRealAliases checks that each configuration of a provider gets a separate process.
func TestRealAliases(t *testing.T) {
	pool, _ := real(t)
	ctx, a := context.Background(), playgroundAddr("strict")
	schemas, ds := pool.Schemas(ctx, a)
	clean(t, ds)
	s, err := schemas.Type(addr.Data, "strict_region")
	if err != nil {
		t.Fatal(err)
	}
	for _, region := range []string{"north", "south"} {
		p, err := pool.Session(ctx, a)
		if err != nil {
			t.Fatal(err)
		}
		clean(t, p.Configure(ctx, encode(t, schemas.Config.Block, object(schemas.Config.Block, false, map[string]cty.Value{"region": cty.StringVal(region)})), provider.Allow{}))
		read, ds := p.ReadData(ctx, provider.DataRequest{Type: "strict_region", Config: encode(t, s.Block, object(s.Block, false, nil))})
		clean(t, ds)
		if v := decode(t, s.Block, read.State); !v.GetAttr("name").RawEquals(cty.StringVal(region)) {
			t.Errorf("%s: %#v", region, v)
		}
		if region == "north" {
			pool.Release(p)
		}
	}
}
