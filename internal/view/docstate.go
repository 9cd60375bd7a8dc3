package view

import (
	"cmp"
	"io"
	"maps"
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/state"
)

// WriteStateJSON writes a state as `show -json` prints it, format 1.0. A nil snapshot is an empty
// one.
func WriteStateJSON(w io.Writer, s *state.Snapshot, sch Schemas, version string) error {
	d := newDoc(w)
	d.object(func() {
		d.keyStr("format_version", formatState)
		if s == nil || s.Len() == 0 && len(s.Outputs) == 0 {
			return
		}
		d.stateBody(s, newObjects(sch), version)
		d.checks(s.Checks)
	})
	return d.end()
}

// stateBody is what a state document and the prior state of a plan have in common.
func (d *doc) stateBody(s *state.Snapshot, x *objects, version string) {
	d.keyStr("terraform_version", version)
	d.Key("values")
	d.object(func() {
		d.storedOutputs(s.Outputs)
		m := d.modules()
		closure := s.Closure()
		for o, e := range storedObjects(s) {
			m.resource(o.Module, func() { d.storedObject(x, o, e, closure) })
		}
		m.end()
	})
}

func (d *doc) storedOutputs(outs map[string]state.Output) {
	if len(outs) == 0 {
		return
	}
	d.Key("outputs")
	d.object(func() {
		for _, name := range slices.Sorted(maps.Keys(outs)) {
			o := outs[name]
			d.Key(name)
			d.object(func() {
				d.KeyBool("sensitive", o.Sensitive)
				d.Key("value")
				d.value(o.Value.Raw)
				d.Key("type")
				d.typeOf(o.Value.Raw.Type())
			})
		}
	})
}

// storedObjects gives the objects of a state as the peers order them: by module, data sources
// first.
func storedObjects(s *state.Snapshot) func(func(addr.Object, *state.Entry) bool) {
	resources := slices.Clone(s.Resources())
	rank := func(r *state.Resource) int {
		if r.Addr.Mode == addr.Data {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(resources, func(a, b *state.Resource) int {
		return cmp.Or(a.Addr.Module.Compare(b.Addr.Module), cmp.Compare(rank(a), rank(b)), a.Addr.Compare(b.Addr))
	})
	return func(yield func(addr.Object, *state.Entry) bool) {
		for _, r := range resources {
			for o, e := range r.Objects() {
				if !yield(o, e) {
					return
				}
			}
		}
	}
}

// storedObject writes the members of one object. closure may be nil: dependencies are then those
// recorded.
func (d *doc) storedObject(x *objects, o addr.Object, e *state.Entry, closure *state.Closure) {
	v := x.stored(e, o.Instance)
	d.address(o.Instance)
	d.keyStr("provider_name", e.Provider.Provider.String())
	d.KeyInt("schema_version", e.Schema)
	d.Key("values")
	d.value(v.Raw)
	d.sensitiveObject("sensitive_values", v, x.form(e.Provider.Provider, o.Instance))
	if e.Identity != nil && validJSON(e.Identity) {
		d.KeyInt("identity_schema_version", e.IdentitySchema)
		d.Key("identity")
		d.ready(e.Identity)
	}
	depends := e.Recorded
	if closure != nil {
		depends = closure.Of(o.Instance.Resource(), e.Recorded)
	}
	if len(depends) > 0 {
		d.Key("depends_on")
		d.array(func() {
			for _, r := range depends {
				d.str(r.String())
			}
		})
	}
	if e.Tainted {
		d.KeyBool("tainted", true)
	}
	if o.IsDeposed() {
		d.keyStr("deposed_key", o.Deposed)
	}
}

// ObjectJSON writes one object of a state, as it stands in the state document.
func ObjectJSON(w io.Writer, o addr.Object, e *state.Entry, sch Schemas) error {
	d := newDoc(w)
	d.object(func() { d.storedObject(newObjects(sch), o, e, nil) })
	return d.end()
}
