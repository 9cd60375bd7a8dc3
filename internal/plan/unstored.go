package plan

import (
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/zclconf/go-cty/cty"
)

// Omitted returns a copy of the plan for a plan file. The copy lacks the results of data sources for which forgets
// returns true, and the sensitive arguments of data sources that apply will read. forgets receives the address and the
// entry of objects in both states and in changes.
func (p *Plan) Omitted(forgets func(addr.Object, *state.Entry) bool) *Plan {
	out := *p
	prior := p.Previous.Edit()
	for o, e := range p.Previous.Objects() {
		if forgets(o, e) {
			prior.Put(o, nil)
			out.Unstored.Lacking = append(out.Unstored.Lacking, o)
		}
	}
	if len(out.Unstored.Lacking) > 0 {
		out.Previous = prior.Done()
	}
	out.Changes = slices.Clone(p.Changes)
	for i, c := range out.Changes {
		if c.Action == Read && forgets(c.Object, &state.Entry{Sensitive: c.After.PathsOf(mark.Sensitive)}) {
			hidden := *c
			hidden.Entry, hidden.After = nil, withoutSensitive(c.After)
			out.Changes[i] = &hidden
		}
	}
	return &out
}

// withoutSensitive returns v with an unknown value in place of each value with the sensitive mark.
func withoutSensitive(v mark.Value) mark.Value {
	paths := v.PathsOf(mark.Sensitive)
	raw, err := cty.Transform(v.Raw, func(at cty.Path, x cty.Value) (cty.Value, error) {
		if slices.ContainsFunc(paths, at.Equals) {
			return cty.UnknownVal(x.Type()), nil
		}
		return x, nil
	})
	if err != nil {
		raw = cty.UnknownVal(v.Raw.Type())
	}
	return mark.Value{Raw: raw, Marks: v.Marks}
}

// AddLacking adds the results of data sources that Omitted removed from the prior state (Unstored.Lacking). It takes
// the results from the current state. A result that the current state does not have stays missing.
func (p *Plan) AddLacking(now *state.Snapshot) {
	if len(p.Unstored.Lacking) == 0 {
		return
	}
	prior := p.Previous.Edit()
	for _, o := range p.Unstored.Lacking {
		prior.Put(o, now.Get(o))
	}
	p.Previous = prior.Done()
}
