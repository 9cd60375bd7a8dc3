package transfer

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/state"
)

var provider = addr.ProviderInstance{ProviderConfig: addr.ProviderConfig{Provider: addr.Default("x")}}

func object(t *testing.T, s string) addr.Object {
	t.Helper()
	var o addr.Object
	if err := o.UnmarshalText([]byte(s)); err != nil {
		t.Fatal(err)
	}
	return o
}

func resources(t *testing.T, names ...string) (out []addr.Resource) {
	t.Helper()
	for _, n := range names {
		out = append(out, object(t, n).Resource())
	}
	return out
}

// snapshot returns a state with objects. Each text is an address, optionally followed by the addresses that it depends
// on.
func snapshot(t *testing.T, lineage string, objects ...string) *state.Snapshot {
	t.Helper()
	e := (&state.Snapshot{}).Edit()
	e.Head().Lineage, e.Head().Serial = lineage, 1
	for _, text := range objects {
		name, deps, _ := strings.Cut(text, " <- ")
		e.Put(object(t, name), &state.Entry{
			Attrs: fmt.Appendf(nil, `{"id":"id of %s","secret":"canary-5a7e-transfer"}`, name[strings.LastIndexByte(name, '.')+1:]), Provider: provider, Recorded: resources(t, strings.Fields(deps)...),
			Private: []byte("private"), Identity: []byte(`{"i":1}`), Schema: 3, CreateFirst: true, Protected: true, Tainted: true,
		})
	}
	return e.Done()
}

func target(t *testing.T, s string) addr.Target {
	t.Helper()
	out, err := addr.ParseTarget(s)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func addresses(s *state.Snapshot) (out []string) {
	for o := range s.Objects() {
		out = append(out, o.String())
	}
	return out
}

func between(t *testing.T, source, into *state.Snapshot, as string, from ...string) (*Plan, string) {
	t.Helper()
	r := Request{Source: source, Target: into}
	for _, f := range from {
		r.Addresses = append(r.Addresses, target(t, f))
	}
	if as != "" {
		to := target(t, as)
		r.As = &to
	}
	var bag diag.Bag
	p, ok := Between(r, &bag)
	if ok == bag.HasErrors() {
		t.Fatalf("%t, %v", ok, bag.List())
	}
	if !ok {
		return nil, bag.List()[0].Detail
	}
	return p, ""
}

func keep(_ Move, p addr.ProviderInstance) addr.ProviderInstance { return p }

func TestMoves(t *testing.T) {
	source := snapshot(t, "l", "a.x", `a.k["one"]`, `a.k["two"]`, "a.x (deposed object 0a1b2c3d)", `module.m["p"].a.y`, `module.m["q"].module.n.a.y`, "module.m.data.a.d")
	for _, c := range []struct {
		as         string
		from       []string
		left, have []string
	}{
		{"", []string{"a.x"}, []string{`a.k["one"]`, `a.k["two"]`, "module.m.data.a.d", `module.m["p"].a.y`, `module.m["q"].module.n.a.y`}, []string{"a.x", "a.x (deposed object 0a1b2c3d)"}},
		{"a.z", []string{"a.k"}, []string{"a.x", "a.x (deposed object 0a1b2c3d)", "module.m.data.a.d", `module.m["p"].a.y`, `module.m["q"].module.n.a.y`}, []string{`a.z["one"]`, `a.z["two"]`}},
		{"module.w.a.z[3]", []string{`a.k["one"]`}, []string{`a.k["two"]`, "a.x", "a.x (deposed object 0a1b2c3d)", "module.m.data.a.d", `module.m["p"].a.y`, `module.m["q"].module.n.a.y`}, []string{"module.w.a.z[3]"}},
		{"module.v", []string{"module.m"}, []string{`a.k["one"]`, `a.k["two"]`, "a.x", "a.x (deposed object 0a1b2c3d)"}, []string{`module.v["p"].a.y`, `module.v["q"].module.n.a.y`}},
		{"", []string{"a.x", `module.m["p"]`}, []string{`a.k["one"]`, `a.k["two"]`, "module.m.data.a.d", `module.m["q"].module.n.a.y`}, []string{"a.x", "a.x (deposed object 0a1b2c3d)", `module.m["p"].a.y`}},
	} {
		p, why := between(t, source, snapshot(t, "other"), c.as, c.from...)
		if p == nil {
			t.Errorf("%v: %s", c.from, why)
			continue
		}
		if left, have := addresses(p.Source), addresses(p.Target(keep)); !slices.Equal(left, c.left) || !slices.Equal(have, c.have) {
			t.Errorf("%v as %s:\n%q\n%q", c.from, c.as, left, have)
		}
		for _, m := range p.Moves {
			if !state.SameObject(source.Get(m.From), p.Target(keep).Get(m.To)) {
				t.Errorf("%s is another object", m.To)
			}
		}
	}
}

func TestRefusedMoves(t *testing.T) {
	source, into := snapshot(t, "l", "a.x", "b.x", "module.m.data.a.d", "data.a.d"), snapshot(t, "other", "a.taken[0]", "module.t.a.x")
	for _, c := range []struct {
		as, want string
		from     []string
	}{
		{"", "no object with the address a.none", []string{"a.none"}},
		{"", "data source", []string{"data.a.d"}},
		{"", "ephemeral", []string{"ephemeral.a.e"}},
		{"", "only data sources", []string{"module.m"}},
		{"a.taken", "already has a.taken[0]", []string{"a.x"}},
		{"module.t", "already has module.t.a.x", []string{"module.m"}},
		{"b.y", "types differ", []string{"a.x"}},
		{"module.n", "of one kind", []string{"a.x"}},
		{"a.y[0]", "of one kind", []string{"a.x"}},
		{"a.y", "2 addresses", []string{"a.x", "b.x"}},
		{"", "named twice", []string{"a.x", "a.x"}},
	} {
		if p, why := between(t, source, into, c.as, c.from...); p != nil || !strings.Contains(why, c.want) {
			t.Errorf("%v as %q: %s", c.from, c.as, why)
		}
	}
}

// TestDependencies checks that names of moved resources change, that other names are dropped, and that an object keeps
// its dependency on a moved object behind an object that stays.
func TestDependencies(t *testing.T) {
	source := snapshot(t, "l", "module.m.a.first", "a.stays <- module.m.a.first", "module.m.a.last <- a.stays", "module.m.a.both <- module.m.a.first module.m.a.last")
	p, _ := between(t, source, snapshot(t, "other"), "module.n", "module.m")
	for name, want := range map[string][]addr.Resource{
		"module.n.a.first": nil,
		"module.n.a.last":  resources(t, "module.n.a.first"),
		"module.n.a.both":  resources(t, "module.n.a.first", "module.n.a.last"),
	} {
		if got := p.Target(keep).Get(object(t, name)).Recorded; !slices.Equal(got, want) {
			t.Errorf("%s depends on %v", name, got)
		}
	}
}

func TestProviderOfTheTarget(t *testing.T) {
	p, _ := between(t, snapshot(t, "l", "a.x"), snapshot(t, "other"), "", "a.x")
	west := provider
	west.Alias = "west"
	got := p.Target(func(Move, addr.ProviderInstance) addr.ProviderInstance { return west })
	if e := got.Get(object(t, "a.x")); e.Provider != west {
		t.Errorf("%v", e.Provider)
	}
}

func TestRecordHasNoValues(t *testing.T) {
	p, _ := between(t, snapshot(t, "l", "a.x", "module.m.a.y", "module.m.data.a.d"), snapshot(t, "other"), "", "a.x", "module.m")
	r := NewRecord(p, time.Now(), "1")
	r.Source.Dir, r.Target.Dir = "/a b/\"c", "/a\xfe\"/b"
	text := r.For(Target)
	if strings.Contains(string(text), "canary-") || strings.Contains(string(text), "id of") {
		t.Errorf("%s", text)
	}
	again, err := Parse(text)
	if err != nil || again.Role != Target || len(again.Objects) != 2 || len(again.Dropped) != 1 || again.ID != r.ID || again.Source != r.Source || again.Target != r.Target {
		t.Errorf("%+v, %v", again, err)
	}
	for _, bad := range []string{"", "{}", strings.Replace(string(text), `"format": 1`, `"format": 2`, 1)} {
		if _, err := Parse([]byte(bad)); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

// TestDecision checks the decision of a later command: whether the target was written, and which objects the source
// loses.
func TestDecision(t *testing.T) {
	source, into := snapshot(t, "l", "a.x", "a.y"), snapshot(t, "other", "a.own")
	p, _ := between(t, source, into, "", "a.x")
	r := NewRecord(p, time.Now(), "1")
	next, _ := state.Next(into, p.Target(keep).WithTransfer(r.ID), "1")
	r.Source.Before, r.Target.Before, r.Target.After = VersionOf(source, state.Digest{}), VersionOf(into, state.Digest{}), VersionOf(next, state.Digest{})
	foreign := func(s *state.Snapshot) *state.Snapshot { // a state as Terraform writes it, without the ID of the transfer
		e := s.Edit()
		e.Head().Extra = nil
		return e.Done()
	}
	without := func(s *state.Snapshot) *state.Snapshot {
		e := s.Edit()
		e.Put(object(t, "a.x"), nil)
		return e.Done()
	}
	replaced := without(into).Edit()
	replaced.Head().Serial += 5
	replaced.Put(object(t, "a.x"), &state.Entry{Attrs: []byte(`{"id":"another"}`), Provider: provider})
	for _, c := range []struct {
		name   string
		target *state.Snapshot
		want   bool
	}{
		{"no state", nil, false},
		{"not written", into, false},
		{"written", next, true},
		{"written, then destroyed there", without(next), true},
		{"written, then written by Terraform", foreign(next), true},
		{"not written, then an object of its own created there", replaced.Done(), false},
	} {
		if got := r.Arrived(c.target, source); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
	left, gone := r.Left(source)
	if len(gone) != 1 || !slices.Equal(addresses(left), []string{"a.y"}) || !slices.Contains(left.Transfers(), r.ID) {
		t.Errorf("%v, %q", gone, addresses(left))
	}
	e := left.Edit()
	e.Put(object(t, "a.x"), source.Get(object(t, "a.x"))) // a new object at the address of the moved object
	if again, gone := r.Left(e.Done()); len(gone) > 0 || again.Len() != 2 {
		t.Errorf("%v", gone)
	}
}

func TestTransfersAreBounded(t *testing.T) {
	s := snapshot(t, "l")
	for n := range 20 {
		s = s.WithTransfer(fmt.Sprint(n))
	}
	if got := s.Transfers(); len(got) != 8 || got[7] != "19" || !json.Valid(s.Extra) {
		t.Errorf("%q", got)
	}
}
