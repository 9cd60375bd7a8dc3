package engine

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/zclconf/go-cty/cty"
)

// Forecast says which leases the apply walk of a plan will open, as far as the configuration and
// the plan tell, and who receives them. Nothing is opened or started, and a plan never holds it.
// Ephemeral variables need no value.
func (e *Engine) Forecast(ctx context.Context, prog *lang.Program, o lang.Options, p *plan.Plan) []plan.Lease {
	if p.Errored || !slices.ContainsFunc(p.Changes, (*plan.Change).Visited) {
		return nil
	}
	var quiet diag.Bag
	r := e.idleRun(ctx, prog, past{state: p.Previous}, &quiet)
	if !r.reach.any {
		return nil
	}
	o.Applying, o.Pure, o.PlanTime = true, true, p.Timestamp
	o.Steady, o.Variables = r.reach.steady, withEphemeral(o.Variables, prog)
	var ok bool
	if r.frame, ok = lang.NewFrame(prog, o, &quiet); !ok {
		return nil
	}
	a := &applier{run: r, applying: &applying{plan: p, changes: byObject(p)}}
	a.fill()
	a.fillPlanned()
	return r.forecast(p)
}

// withEphemeral adds the ephemeral root variables that are not set, as not known.
func withEphemeral(set map[string]lang.Given, prog *lang.Program) map[string]lang.Given {
	out := maps.Clone(set)
	if out == nil {
		out = map[string]lang.Given{}
	}
	for name, v := range prog.Tree().Root.Module.Variables {
		if _, given := out[name]; !given && v.Ephemeral {
			out[name] = lang.Given{Value: cty.DynamicVal}
		}
	}
	return out
}

// fillPlanned puts what is planned into the frame, where the apply walk itself would.
func (a *applier) fillPlanned() {
	if a.plan.Mode == plan.Destroy {
		return
	}
	for _, c := range a.plan.Changes {
		d, declared := a.prog.Resource(c.Object.Resource())
		f := a.frame.At(c.Object.Module, lang.After)
		if !declared || f == nil || c.Object.IsDeposed() {
			continue
		}
		switch {
		case c.Action.Ups():
			f.Put(d.ID, c.Object.Key, lang.After, c.After)
		case c.Action == plan.NoOp:
			if e := a.plan.Refreshed.Get(c.Object); e != nil {
				f.PutLazy(d.ID, c.Object.Key, lang.After, func() mark.Value { return a.storedValue(d, c.Object, e) })
			}
		}
	}
}

func (r *run) forecast(p *plan.Plan) []plan.Lease {
	f := &forecast{ordering: r.newOrdering(p), receivers: map[int32]map[string]bool{}}
	for i := range f.in.Objects {
		f.object(int32(i))
	}
	leases := map[string]map[string]bool{}
	for h, by := range f.receivers {
		for _, name := range f.instancesOf(f.ordering.holds[h]) {
			if leases[name] == nil {
				leases[name] = map[string]bool{}
			}
			maps.Copy(leases[name], by)
		}
	}
	var out []plan.Lease
	for _, name := range slices.Sorted(maps.Keys(leases)) {
		out = append(out, plan.Lease{Addr: name, Receivers: slices.Sorted(maps.Keys(leases[name]))})
	}
	return out
}

// instancesOf names the leases of a hold: one for each instance, as far as these are known.
func (f *forecast) instancesOf(h hold) []string {
	abs, face := h.lease.Resource.In(h.at), lang.After
	if f.in.Destroy {
		face = f.reach.face(h.lease.ID, lang.Before)
	}
	frame := f.frame.At(h.at, face)
	if frame == nil {
		return []string{f.name(true, f.leaseFor(h))}
	}
	keys := frame.Keys(h.lease.ID, face, &diag.Bag{})
	switch {
	case keys.Hidden && len(keys.List) > 0:
		return []string{abs.String()}
	case keys.Status != lang.Known:
		return []string{f.name(true, f.leaseFor(h))}
	}
	var out []string
	for _, k := range chosen(keys.List, h.keys()) {
		out = append(out, abs.Instance(k).String())
	}
	return out
}

// forecast collects who receives what, by lease.
type forecast struct {
	*ordering
	receivers map[int32]map[string]bool
}

func (f *forecast) object(i int32) {
	x, name := &f.in.Objects[i], f.name(false, i)
	if t, ok := f.testAt[i]; ok && f.prog.Decls()[t.decl].Kind == lang.Resource {
		name = f.ownName(t)
	}
	if x.Up {
		f.holds(x.UpHolds, name)
	}
	if x.Down {
		f.holds(x.DownHolds, name)
	}
	if p := x.Provisioners; p != nil {
		for _, list := range append(slices.Clone(p.After), p.Before...) {
			f.holds(list, "a provisioner of "+name)
		}
	}
}

// ownName says for what an ephemeral resource opens itself.
func (f *forecast) ownName(t place) string {
	e := f.prog.Decls()[t.decl]
	w, is := f.reach.export(t.decl)
	switch {
	case receivesItself(e):
		return "its own conditions"
	case !is:
		return "the test of its provider"
	}
	var names []string
	for _, d := range w.by {
		out := f.prog.Decls()[d]
		f.meant(out.Module, t.at, func(m addr.ModuleInstance) { names = append(names, testAddr(out, m)) })
	}
	return strings.Join(names, ", ")
}

func (f *forecast) holds(list []int32, receiver string) {
	for _, h := range list {
		if f.ordering.holds[h].lease == nil {
			f.holds(f.in.Holds[h].Over, f.name(true, h))
			continue
		}
		by := f.receivers[h]
		if by == nil {
			by = map[string]bool{}
			f.receivers[h] = by
			f.holds(f.in.Holds[h].Over, f.name(true, h))
		}
		by[receiver] = true
	}
}
