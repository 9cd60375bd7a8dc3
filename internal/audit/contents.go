package audit

import (
	"bytes"
	"hash/maphash"
	"maps"
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/journal"
	"github.com/zclconf/go-cty/cty"
)

// unit is a part of the contents that is examined once: an object, an output, a variable, or the messages of a check.
// Several places may have the same unit.
type unit struct {
	name   string      // the address for messages
	object addr.Object // the zero value unless the unit is an object
	in     []int32     // indexes of the places that have the unit

	// An object of a state has an entry. Other units have a value.
	entry *state.Entry
	value mark.Value
	from  addr.Provider // the provider of the object, if the unit is a value of an object
	what  Reason        // Output or Variable: the whole value is a secret; "": the value is no secret itself
}

// Auditor collects the contents of places. It must not be used concurrently.
type Auditor struct {
	in     Inputs
	places []*Place
	units  []*unit
	byHash map[uint64][]int32 // the units of objects, by the hash of their content; nil until the second state, because equal objects occur only in different states
	byName map[string][]int32 // the other units
	seed   maphash.Seed
}

// New returns an Auditor without contents.
func New(in Inputs) *Auditor {
	return &Auditor{in: in, byName: map[string][]int32{}, seed: maphash.MakeSeed()}
}

// Place adds a place and returns it. The caller passes it to the methods that add its content, such as State. If the
// content of a place cannot be read, no such method is called.
func (a *Auditor) Place(p Place) *Place {
	a.places = append(a.places, &p)
	return &p
}

// State adds the content of a state, which is at the place p. Of an object that several states have without a
// difference, the Auditor keeps one copy. If p is an earlier version, the Auditor copies the objects that it keeps, so
// that the rest of the state can be freed.
func (a *Auditor) State(p *Place, s *state.Snapshot) {
	n := a.number(p)
	alone := len(a.units) == 0
	for o, e := range s.Objects() {
		if alone {
			a.units = append(a.units, &unit{name: o.String(), object: o, entry: e, in: []int32{n}})
			continue
		}
		a.entry(n, p, o, e)
	}
	a.outputs(n, s.Outputs)
	a.checks(n, s.Checks)
}

// Journal adds the objects of a journal. It skips changes without an object, such as deletions.
func (a *Auditor) Journal(p *Place, changes []journal.Change) {
	n := a.number(p)
	for _, c := range changes {
		if c.Entry != nil {
			a.entry(n, p, c.Object, c.Entry)
		}
	}
}

// Plan adds the content of a saved plan. sensitive has the names of the sensitive root variables.
func (a *Auditor) Plan(p *Place, pl *plan.Plan, sensitive map[string]bool) {
	a.State(p, pl.Refreshed)
	if pl.Previous != pl.Refreshed {
		a.State(p, pl.Previous)
	}
	n := a.number(p)
	for _, list := range [][]*plan.Change{pl.Changes, pl.Drift, pl.Deferred} {
		for _, c := range list {
			a.change(n, p, c)
		}
	}
	for _, r := range pl.Readings {
		if r.Entry != nil {
			a.entry(n, p, r.Object, r.Entry)
		}
	}
	for _, i := range slices.Concat(pl.Invocations, pl.LaterInvocations) {
		a.units = append(a.units, &unit{name: i.Action.String(), in: []int32{n}, value: i.Config})
	}
	for _, o := range pl.Outputs {
		what := Reason("")
		if o.Sensitive {
			what = Output
		}
		for _, v := range []mark.Value{o.Before, o.After} {
			a.whole(n, "output."+o.Name, v.Raw, what)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(pl.Variables)) {
		what := Reason("")
		if sensitive[name] {
			what = Variable
		}
		a.whole(n, "var."+name, pl.Variables[name].Value, what)
	}
	a.checks(n, pl.Checks)
}

// change adds the values of a planned change that are known and not null, and the private data of the change. It also
// adds the entry, which is the object in the state.
func (a *Auditor) change(n int32, p *Place, c *plan.Change) {
	if c.Entry != nil {
		a.entry(n, p, c.Object, c.Entry)
	}
	if len(c.Private) > 0 {
		a.entry(n, p, c.Object, &state.Entry{Attrs: []byte("{}"), Provider: c.Provider, Private: c.Private})
	}
	for _, v := range []mark.Value{c.Before, c.After} {
		if v.Raw == cty.NilVal || !v.Raw.IsKnown() || v.Raw.IsNull() {
			continue
		}
		a.units = append(a.units, &unit{name: c.Object.String(), object: c.Object, in: []int32{n}, value: v, from: c.Provider.Provider})
	}
}

// number returns the index of a place, which Place returned, in a.places.
func (a *Auditor) number(p *Place) int32 { return int32(slices.Index(a.places, p)) }

// entry adds an object of a state in the place number n. If an equal object was added before, entry adds the place to
// it.
func (a *Auditor) entry(n int32, p *Place, o addr.Object, e *state.Entry) {
	a.index()
	h := a.hash(o, e)
	for _, i := range a.byHash[h] {
		if u := a.units[i]; u.object == o && sameEntry(u.entry, e) {
			u.add(n)
			return
		}
	}
	if p.Kind == Version { // copy the entry, because it keeps the text of its whole state in memory
		c := *e
		for _, text := range []*[]byte{&c.Attrs, &c.Private, &c.Identity, &c.Extra} {
			*text = bytes.Clone(*text)
		}
		e = &c
	}
	a.byHash[h] = append(a.byHash[h], int32(len(a.units)))
	a.units = append(a.units, &unit{name: o.String(), object: o, entry: e, in: []int32{n}})
}

// index builds byHash for the objects of the first state. Most audits have one state and do not need byHash.
func (a *Auditor) index() {
	if a.byHash != nil {
		return
	}
	a.byHash = map[uint64][]int32{}
	for i, u := range a.units {
		if u.entry != nil {
			h := a.hash(u.object, u.entry)
			a.byHash[h] = append(a.byHash[h], int32(i))
		}
	}
}

// add records that the place with the index n has the unit.
func (u *unit) add(n int32) {
	if u.in[len(u.in)-1] != n {
		u.in = append(u.in, n)
	}
}

func (a *Auditor) hash(o addr.Object, e *state.Entry) uint64 {
	var h maphash.Hash
	h.SetSeed(a.seed)
	maphash.WriteComparable(&h, o)
	for _, text := range [][]byte{e.Attrs, e.Private} {
		h.Write(text)
		h.WriteByte(0)
	}
	return h.Sum64()
}

// sameEntry reports whether two entries of an object have the same contents, provider and marks, so that the same
// secrets are found in both.
func sameEntry(a, b *state.Entry) bool {
	return a.Schema == b.Schema && a.Provider == b.Provider && bytes.Equal(a.Attrs, b.Attrs) && bytes.Equal(a.Private, b.Private) &&
		bytes.Equal(a.Identity, b.Identity) && bytes.Equal(a.Extra, b.Extra) && maps.Equal(a.Flatmap, b.Flatmap) && mark.SamePaths(a.Sensitive, b.Sensitive)
}

// outputs adds the root outputs of a state. The values of sensitive outputs are secrets.
func (a *Auditor) outputs(n int32, outputs map[string]state.Output) {
	for _, name := range slices.Sorted(maps.Keys(outputs)) {
		o := outputs[name]
		what := Reason("")
		if o.Sensitive {
			what = Output
		}
		a.whole(n, "output."+name, o.Value.Raw, what)
	}
}

// checks adds the messages of failed conditions, which may contain values.
func (a *Auditor) checks(n int32, checks []state.Check) {
	for _, c := range checks {
		for _, o := range c.Objects {
			for _, text := range o.Failures {
				a.whole(n, "message of "+o.Addr, cty.StringVal(text), "")
			}
		}
	}
}

// whole adds a value that is not a provider's object, unless a place has added an equal value with the same name. It
// ignores null and unknown values. The parameter what is the reason why the whole value is a secret, or "".
func (a *Auditor) whole(n int32, name string, v cty.Value, what Reason) {
	if v == cty.NilVal || v.IsNull() || !v.IsKnown() {
		return
	}
	for _, i := range a.byName[name] {
		if u := a.units[i]; u.what == what && u.value.Raw.RawEquals(v) {
			u.add(n)
			return
		}
	}
	a.byName[name] = append(a.byName[name], int32(len(a.units)))
	a.units = append(a.units, &unit{name: name, in: []int32{n}, value: mark.Plain(v), what: what})
}
