package ordering

import (
	"maps"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/declared"
	"github.com/lethe-iac/lethe/internal/engine/filling"
	"github.com/lethe-iac/lethe/internal/engine/receivers"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/zclconf/go-cty/cty"
)

// PreviewLeases returns the ephemeral resources that an apply of the plan will open, with their receivers: the
// declarations that use their values. It computes them from the configuration and the plan, and opens nothing. It
// returns nil for a plan with errors or without steps, and if the program has no ephemeral resources.
func PreviewLeases(prog *program.Program, received *receivers.Analysis, o frame.Options, p *plan.Plan) []plan.Lease {
	if p.Errored || !received.Any || !p.Visits() {
		return nil
	}
	o.Applying, o.Pure, o.PlanTime = true, true, p.Timestamp
	o.Steady, o.Variables = received.Steady, withEphemeral(o.Variables, prog)
	root, ok := frame.New(prog, o, &diag.Bag{})
	if !ok {
		return nil
	}
	filling.Predicted(prog, root, p)
	f := &preview{ordering: New(Source{prog, root, received, declared.NewRemovals(prog.Tree().Root), p}), by: map[int32]map[string]bool{}}
	return f.leases()
}

// withEphemeral returns a copy of set with an unknown value for each ephemeral root variable that set lacks.
func withEphemeral(set map[string]frame.Given, prog *program.Program) map[string]frame.Given {
	out := maps.Clone(set)
	if out == nil {
		out = map[string]frame.Given{}
	}
	for name, v := range prog.Tree().Root.Module.Variables {
		if _, given := out[name]; !given && v.Ephemeral {
			out[name] = frame.Given{Value: cty.DynamicVal}
		}
	}
	return out
}

func (f *preview) leases() []plan.Lease {
	for i := range f.ordering.Input.Objects {
		f.object(int32(i))
	}
	leases := map[string]map[string]bool{}
	for h, by := range f.by {
		for _, name := range f.instancesOf(f.ordering.Holds[h]) {
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

// instancesOf returns the addresses of the instances of the ephemeral resource h. If the instance keys are unknown or
// sensitive, or the module instance has no frame (its values), it returns one address for all instances.
func (f *preview) instancesOf(h Hold) []string {
	abs, face := h.Lease.Resource.In(h.At), frame.After
	if f.ordering.Input.Destroy {
		face = f.ordering.source.Receivers.Face(h.Lease.ID, frame.Before)
	}
	root := f.ordering.source.Frame.At(h.At, face)
	if root == nil {
		return []string{f.ordering.name(true, f.ordering.leaseFor(h))}
	}
	keys := root.Keys(h.Lease.ID, face, &diag.Bag{})
	switch {
	case keys.Hidden && len(keys.List) > 0:
		return []string{abs.String()}
	case keys.Status != frame.Known:
		return []string{f.ordering.name(true, f.ordering.leaseFor(h))}
	}
	var out []string
	for _, k := range receivers.Among(keys.List, h.Keys()) {
		out = append(out, abs.Instance(k).String())
	}
	return out
}

// preview collects the receivers of each ephemeral resource.
type preview struct {
	ordering *Ordering
	by       map[int32]map[string]bool // by the index of the ephemeral resource in Input.Holds: the names of its receivers
}

func (f *preview) object(i int32) {
	x, name := &f.ordering.Input.Objects[i], f.ordering.name(false, i)
	if t, ok := f.ordering.Tests[i]; ok && f.ordering.source.Program.Decls()[t.Decl].Kind == program.Resource {
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
		for _, list := range append(slices.Clone(p.BeforeUp), p.AfterUp...) {
			f.holds(list, "an action of "+name)
		}
	}
}

// ownName returns a text that takes the place of the receiver for an ephemeral resource that no declaration receives.
// It is the reason for opening: the conditions of the resource, a provider for tests, or the module outputs that return
// the value.
func (f *preview) ownName(t Place) string {
	e := f.ordering.source.Program.Decls()[t.Decl]
	w, is := f.ordering.source.Receivers.Exported(t.Decl)
	switch {
	case receivers.ReceivesItself(e):
		return "its own conditions"
	case !is:
		return "the test of its provider"
	}
	var names []string
	for _, d := range w.Through {
		out := f.ordering.source.Program.Decls()[d]
		f.ordering.meant(out.Module, t.At, func(m addr.ModuleInstance) { names = append(names, declared.ConditionsAddr(out, m)) })
	}
	return strings.Join(names, ", ")
}

func (f *preview) holds(list []int32, receiver string) {
	for _, h := range list {
		if f.ordering.Holds[h].Lease == nil {
			f.holds(f.ordering.Input.Holds[h].Over, f.ordering.name(true, h))
			continue
		}
		by := f.by[h]
		if by == nil {
			by = map[string]bool{}
			f.by[h] = by
			f.holds(f.ordering.Input.Holds[h].Over, f.ordering.name(true, h))
		}
		by[receiver] = true
	}
}
