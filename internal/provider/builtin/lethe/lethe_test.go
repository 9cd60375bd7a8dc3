package lethe

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
)

// canary is in every secret of these tests, and in no diagnostic.
const canary = "canary-51c7e9"

const ephemeral = addr.Ephemeral

// productWork is the cost of a digest without a key outside of these tests.
var productWork = unkeyedWork

// TestMain makes digests without a key cheap, because most tests are about other rules and compute many digests.
// TestWorkOfDigests has the real cost.
func TestMain(m *testing.M) {
	unkeyedWork = work{passes: 1, memory: 64, lanes: 1}
	os.Exit(m.Run())
}

// rig calls the provider like an engine: it uses encoded values, and checks every answer against the protocol.
type rig struct {
	t testing.TB
	p *Provider
	*provider.Schemas
	dir string
}

func newRig(t testing.TB, env ...string) *rig {
	t.Helper()
	dir := t.TempDir()
	p := New(Options{Dir: dir, Env: append(os.Environ(), append([]string{"HOME=" + dir, "SSH_AUTH_SOCK="}, env...)...)})
	t.Cleanup(func() { _ = p.Shutdown() })
	schemas, ds := p.Schemas(t.Context())
	if ds.HasErrors() {
		t.Fatal(ds)
	}
	return &rig{t, p, schemas, dir}
}

func (r *rig) schema(mode addr.Mode, typ string) *schema.Schema {
	r.t.Helper()
	s, err := r.Type(mode, typ)
	if err != nil || s == nil {
		r.t.Fatalf("no schema of %s: %v", typ, err)
	}
	return s
}

// config returns a configuration. Missing attributes are null.
func (r *rig) config(s *schema.Schema, given map[string]any) cty.Value {
	r.t.Helper()
	obj := s.Empty().AsValueMap()
	for name, v := range given {
		attr := s.Attr(name)
		if attr == nil {
			r.t.Fatalf("no attribute %s", name)
		}
		obj[name] = valueOf(v)
	}
	return cty.ObjectVal(obj)
}

func valueOf(v any) cty.Value {
	switch v := v.(type) {
	case string:
		return cty.StringVal(v)
	case bool:
		return cty.BoolVal(v)
	case int:
		return cty.NumberIntVal(int64(v))
	case float64:
		return cty.NumberFloatVal(v)
	case []string:
		if len(v) == 0 {
			return cty.ListValEmpty(cty.String)
		}
		var list []cty.Value
		for _, s := range v {
			list = append(list, cty.StringVal(s))
		}
		return cty.ListVal(list)
	case map[string]any:
		obj := map[string]cty.Value{}
		for k, e := range v {
			obj[k] = valueOf(e)
		}
		return cty.ObjectVal(obj)
	case cty.Value:
		return v
	}
	panic(fmt.Sprintf("%T", v))
}

func (r *rig) encode(s *schema.Schema, v cty.Value) provider.Dynamic {
	r.t.Helper()
	b, err := s.Encode(v)
	if err != nil {
		r.t.Fatal(err)
	}
	return provider.Dynamic{Msgpack: b}
}

func (r *rig) decode(s *schema.Schema, d provider.Dynamic) cty.Value {
	r.t.Helper()
	v, err := s.Decode(d.Msgpack)
	if err != nil {
		r.t.Fatal(err)
	}
	return v
}

// show returns the text of diagnostics. It fails the test if the text contains the canary.
func (r *rig) show(ds provider.Diags) string {
	r.t.Helper()
	var b strings.Builder
	for _, d := range ds {
		fmt.Fprintf(&b, "%s %s%s\n", d.Severity, path(d.Path), strings.TrimPrefix(d.Error(), d.Address))
	}
	if strings.Contains(b.String(), canary) {
		r.t.Errorf("a secret gets out: %s", b.String())
	}
	return strings.TrimSpace(b.String())
}

func path(p cty.Path) string {
	if len(p) == 0 {
		return ""
	}
	return p[0].(cty.GetAttrStep).Name + ": "
}

// opened is an open lease.
type opened struct {
	cty.Value
	private []byte
	renewAt time.Time
}

// open validates a configuration and opens a lease. It checks the answer as the engine does.
func (r *rig) open(typ string, given map[string]any) (opened, provider.Diags) {
	r.t.Helper()
	return r.openIn(r.t.Context(), typ, given)
}

func (r *rig) openIn(ctx context.Context, typ string, given map[string]any) (opened, provider.Diags) {
	r.t.Helper()
	s := r.schema(addr.Ephemeral, typ)
	config := r.config(s, given)
	sent := r.encode(s, config)
	if ds := r.p.Validate(ctx, addr.Ephemeral, typ, sent); ds.HasErrors() {
		return opened{}, ds
	}
	resp, ds := r.p.Open(ctx, provider.OpenRequest{Type: typ, Config: sent})
	o := opened{private: resp.Private, renewAt: resp.RenewAt}
	if ds.HasErrors() {
		return o, ds
	}
	o.Value = r.decode(s, resp.Result)
	if !o.IsWhollyKnown() {
		r.t.Errorf("the result is not wholly known")
	}
	if breaches := s.PlanBreaches(s.Null(), config, o.Value); len(breaches) > 0 {
		r.t.Errorf("the result contradicts the configuration: %v", breaches)
	}
	return o, ds
}

// mustOpen opens a lease, and fails the test after an error.
func (r *rig) mustOpen(typ string, given map[string]any) opened {
	r.t.Helper()
	o, ds := r.open(typ, given)
	if ds != nil {
		r.t.Fatal(r.show(ds))
	}
	return o
}

// text returns a string attribute of the result, or "<null>" for null.
func (o opened) text(name string) string {
	v := o.GetAttr(name)
	if v.IsNull() {
		return "<null>"
	}
	return v.AsString()
}

// refusals checks that validate or open returns the expected error for each configuration.
func (r *rig) refusals(typ string, cases map[string]refusal) {
	r.t.Helper()
	for name, c := range cases {
		if _, ds := r.open(typ, c.given); !ds.HasErrors() || !strings.Contains(r.show(ds), c.want) {
			r.t.Errorf("%s: got %q, want %q", name, r.show(ds), c.want)
		}
	}
}

type refusal struct {
	given map[string]any
	want  string
}

// TestUnknownIsValid checks that unknown values are valid.
func TestUnknownIsValid(t *testing.T) {
	r := newRig(t)
	for mode, types := range map[addr.Mode][]string{
		addr.Managed:   {"lethe_secret_file"},
		addr.Data:      {"lethe_null"},
		addr.Ephemeral: {"lethe_exec", "lethe_file", "lethe_random", "lethe_ssh_tunnel"},
	} {
		for _, typ := range types {
			s := r.schema(mode, typ)
			config := s.Empty().AsValueMap()
			for _, a := range s.Attrs {
				if a.Required || a.Optional {
					config[a.Name] = cty.UnknownVal(a.Type)
				}
				if a.Description == "" {
					t.Errorf("%s.%s has no description", typ, a.Name)
				}
			}
			if ds := r.p.Validate(t.Context(), mode, typ, r.encode(s, cty.ObjectVal(config))); ds != nil {
				t.Errorf("%s: %s", typ, r.show(ds))
			}
		}
	}
}

func TestNull(t *testing.T) {
	r := newRig(t)
	s := r.schema(addr.Data, "lethe_null")
	read := func(given map[string]any) cty.Value {
		config := r.config(s, given)
		resp, ds := r.p.ReadData(t.Context(), provider.DataRequest{Type: "lethe_null", Config: r.encode(s, config)})
		if ds != nil {
			t.Fatal(r.show(ds))
		}
		v := r.decode(s, resp.State)
		if breaches := s.PlanBreaches(s.Null(), config, v); len(breaches) > 0 || !v.IsWhollyKnown() {
			t.Errorf("the result contradicts the configuration: %v", breaches)
		}
		return v
	}
	inputs := cty.MapVal(map[string]cty.Value{"a": cty.StringVal("1"), "b": cty.NullVal(cty.String)})
	v := read(map[string]any{"inputs": inputs})
	if !v.GetAttr("outputs").RawEquals(inputs) || v.GetAttr("has_computed_default").AsString() != "default" {
		t.Errorf("%#v", v)
	}
	w := read(map[string]any{"has_computed_default": "mine"})
	if !w.GetAttr("outputs").IsNull() || w.GetAttr("has_computed_default").AsString() != "mine" {
		t.Errorf("%#v", w)
	}
	same := v.GetAttr("rand")
	for range 5 { // two values are equal once in a thousand million times
		if !read(nil).GetAttr("rand").RawEquals(same) {
			return
		}
	}
	t.Error("rand is the same each time")
}
