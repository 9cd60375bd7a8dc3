package ordering

import (
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/engine/declared"
	"github.com/lethe-iac/lethe/internal/engine/filling"
	"github.com/lethe-iac/lethe/internal/engine/receivers"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state"
)

// This file determines the holds of the objects in a plan: the provider instances and the ephemeral resources that must
// be open while an object is created, updated or read (up), or destroyed (down). A lease is an open ephemeral resource.

func (o *Ordering) provisionerHolds(h declared.Provisioners, own addr.Key) [][]int32 {
	out := make([][]int32, len(h.List))
	for i, p := range h.List {
		if h.Decl != nil {
			out[i] = o.leasesOf(o.source.Receivers.ReceivedByParts(h.Decl.ID, h.Parts(p)), h.In, own, nil)
		}
	}
	return out
}

// invocations returns, for each invocation of an action at the event e of a change, the holds that the invocation uses.
func (o *Ordering) invocations(of *plan.Change, e config.Event) (out [][]int32) {
	for _, i := range filling.InvocationsFor(o.source.Plan, of.Object, e) {
		d, ok := o.source.Program.Resource(i.Action.Resource())
		if !ok {
			continue
		}
		list := []int32{o.holdFor(declared.UseOf(o.source.Program, d, i.Provider.Key))}
		if r, ok := o.source.Program.Resource(of.Object.Resource()); ok && !e.Ends() {
			list = o.leasesOf(o.source.Receivers.ReceivedByParts(r.ID, []any{d.Res}), of.Object.Module, addr.NoKey, list)
		}
		out = append(out, list)
	}
	return out
}

// hold returns the hold of the provider instance that an object uses. The change c names the provider instance, or, if
// c is nil, the state entry e. hold returns false if both are nil, or if c (or e, if c is nil) has no provider.
func (o *Ordering) hold(obj addr.Object, e *state.Entry, c *plan.Change) (int32, bool) {
	inst := addr.ProviderInstance{}
	if c != nil {
		inst = c.Provider
	} else if e != nil {
		inst = e.Provider
	}
	if inst.Provider.IsZero() {
		return 0, false
	}
	if d, ok := o.source.Program.Resource(obj.Resource()); ok {
		u := declared.UseOf(o.source.Program, d, inst.Key)
		if c == nil || u.Instance == inst { // otherwise the change destroys the object with the provider block that its resource used before
			return o.holdFor(u), true
		}
	}
	u, ok := declared.SameUse(o.source.Program, inst)
	if !ok {
		u = declared.Use{Instance: inst}
	}
	return o.holdFor(u), true
}

func (o *Ordering) holdFor(u declared.Use) int32 {
	h, ok := o.holdOf[u.Instance]
	if ok {
		return h
	}
	h = o.addHold(Hold{Use: u})
	o.holdOf[u.Instance] = h
	if u.Declared {
		o.Input.Holds[h].Over = o.leasesFor(u.Decl, u.Instance.Module.Unkeyed(), u.Instance.Key, nil)
		for _, l := range o.through[u.Decl] {
			o.Input.Holds[l].Over = append(o.Input.Holds[l].Over, h)
		}
	}
	return h
}

func (o *Ordering) addHold(h Hold) int32 {
	o.Holds = append(o.Holds, h)
	o.Input.Holds = append(o.Input.Holds, plan.Hold{})
	return int32(len(o.Holds) - 1)
}

// alone returns a list that has only h. All objects that use only this hold share the list, to save memory.
func (o *Ordering) alone(h int32) []int32 {
	for int(h) >= len(o.single) {
		o.single = append(o.single, []int32{int32(len(o.single))})
	}
	return o.single[h]
}

// leasesFor appends to list the holds of the ephemeral resources whose values an instance of a declaration uses. at and
// own are the module instance and the key of that instance.
func (o *Ordering) leasesFor(d program.Decl, at addr.ModuleInstance, own addr.Key, list []int32) []int32 {
	return o.leasesOf(o.source.Receivers.Received(d), at, own, list)
}

// leasesOf appends to list the holds of the ephemeral resources in wants. at and own are the module instance and the
// key of the instance that uses their values. If every receiver of an ephemeral resource names instances, leasesOf
// appends one hold for each named instance.
func (o *Ordering) leasesOf(wants []receivers.Received, at addr.ModuleInstance, own addr.Key, list []int32) []int32 {
	add := func(x Hold) {
		if h := o.leaseFor(x); !slices.Contains(list, h) {
			list = append(list, h)
		}
	}
	for _, w := range wants {
		info := o.source.Program.Decls()[w.Of]
		o.meant(info.Module, at, func(m addr.ModuleInstance) {
			if !o.source.Receivers.ByInstance(w.Of) {
				add(Hold{Lease: info, At: m})
				return
			}
			for _, k := range w.Keys(own) {
				add(Hold{Lease: info, At: m, One: true, Key: k})
			}
		})
	}
	return list
}

// leaseFor returns the hold of an ephemeral resource in a module instance, or of one of its instances. It adds the hold
// if necessary. The hold requires other holds: its provider, and the ephemeral resources that its configuration uses.
func (o *Ordering) leaseFor(x Hold) int32 {
	k := leasePlace{Place{x.Lease.ID, x.At}, x.One, x.Key}
	if h, ok := o.leaseOf[k]; ok {
		return h
	}
	h := o.addHold(x)
	o.leaseOf[k] = h
	o.Input.Holds[h].Over = o.leasesFor(x.Lease.ID, x.At, addr.NoKey, o.providersOf(x.Lease, h))
	return h
}

// providersOf returns the holds of the provider instances that may open an ephemeral resource. If the provider
// configuration has for_each, the instance is known only when the resource is opened. The result then has all instances
// of the provider, and the ephemeral resources that their settings use. h is the hold of the ephemeral resource.
func (o *Ordering) providersOf(lease *program.Declaration, h int32) []int32 {
	u := declared.UseOf(o.source.Program, lease, addr.NoKey)
	if o.source.Program.Decls()[u.Decl].Repeat() == program.Once {
		return []int32{o.holdFor(u)}
	}
	o.through[u.Decl] = append(o.through[u.Decl], h)
	holds := o.leasesFor(u.Decl, u.Instance.Module.Unkeyed(), addr.NoKey, nil)
	for i, x := range o.Holds {
		if x.Lease == nil && x.Use.Declared && x.Use.Decl == u.Decl {
			holds = append(holds, int32(i))
		}
	}
	return holds
}

// ownHolds returns the holds of an ephemeral resource that the apply opens although no receiver (a declaration that
// uses its value) requires it. If the walk opens only certain instances, ownHolds returns a hold for each of them, and
// otherwise one hold for all instances.
func (o *Ordering) ownHolds(at Place) []int32 {
	e := o.source.Program.Decls()[at.Decl]
	keys := o.source.Receivers.OwnKeys(e)
	if keys == nil || !o.source.Receivers.ByInstance(e.ID) {
		return []int32{o.leaseFor(Hold{Lease: e, At: at.At})}
	}
	var out []int32
	for _, k := range keys {
		out = append(out, o.leaseFor(Hold{Lease: e, At: at.At, One: true, Key: k}))
	}
	return out
}

// findInChecks sets InChecks in each hold that only check blocks use in this walk.
func (o *Ordering) findInChecks() {
	others := o.acting(func(i int) bool { return !o.inCheck(i) })
	for h := range o.Holds {
		o.Holds[h].InChecks = !others[int32(h)]
	}
}

// inCheck reports whether the object with index i is the conditions of a check block, or a data source in a check
// block.
func (o *Ordering) inCheck(i int) bool {
	if t, ok := o.Tests[int32(i)]; ok {
		d := o.source.Program.Decls()[t.Decl]
		return d.Kind == program.Check || d.Kind == program.Resource && d.Res.Check != ""
	}
	d, ok := o.source.Program.Resource(o.Objects[i].Resource())
	return ok && d.Res.Check != ""
}

// acting returns the holds that the selected objects use in this apply, and all holds that these holds require. The
// function which returns true for the selected objects.
func (o *Ordering) acting(which func(i int) bool) map[int32]bool {
	out := map[int32]bool{}
	var add func(list []int32)
	add = func(list []int32) {
		for _, h := range list {
			if !out[h] {
				out[h] = true
				add(o.Input.Holds[h].Over)
			}
		}
	}
	for i := range o.Input.Objects {
		x := &o.Input.Objects[i]
		if !which(i) {
			continue
		}
		if x.Up {
			add(x.UpHolds)
		}
		if x.Down {
			add(x.DownHolds)
		}
		if p := x.Provisioners; p != nil {
			for _, list := range append(p.Ups(), p.Downs()...) {
				add(list)
			}
		}
	}
	return out
}

// addOwns adds the dependencies of ephemeral resources that the walk opens although no other declaration uses their
// values.
func (o *Ordering) addOwns() {
	for _, at := range inOrder(o.ownGroups) {
		o.Input.Declared = append(o.Input.Declared, plan.Edge{From: o.ownGroups[at], To: o.vertex(o.source.Program.Decls()[at.Decl], at.At)})
	}
}

// addSettings adds the references in the settings of the hold h. For an ephemeral resource whose provider configuration
// has for_each, it also adds the references of the provider configuration, because the provider instance is not known.
func (o *Ordering) addSettings(h int32) {
	x := o.Holds[h]
	switch {
	case x.Lease != nil:
		o.settingsOf(h, x.Lease.ID, x.At)
		if u := declared.UseOf(o.source.Program, x.Lease, addr.NoKey); o.source.Program.Decls()[u.Decl].Repeat() != program.Once {
			o.settingsOf(h, u.Decl, u.Instance.Module.Unkeyed())
		}
	case x.Use.Declared:
		o.settingsOf(h, x.Use.Decl, x.Use.Instance.Module.Unkeyed())
		o.Input.Holds[h].NoBefore = slices.Contains(o.source.Plan.NoBefore, x.Use.Instance)
	}
}

func (o *Ordering) settingsOf(h int32, d program.Decl, at addr.ModuleInstance) {
	if o.source.Receivers.Steady(d) {
		return
	}
	in := &o.Input.Holds[h]
	o.eachSource(d, at, map[Place]bool{}, func(to plan.Vertex, at plan.At) {
		in.Settings = append(in.Settings, plan.Ref{To: to, At: at})
	})
}

// eachSource visits the references in the settings of a hold. d and at are the declaration and the module instance of
// the hold. A data source is never destroyed, but the objects to which it refers may be. So eachSource also visits the
// references of data sources to which d refers. seen prevents repeated visits.
func (o *Ordering) eachSource(d program.Decl, at addr.ModuleInstance, seen map[Place]bool, visit func(plan.Vertex, plan.At)) {
	seen[Place{d, at}] = true
	o.eachRef(d, at, true, visit)
	o.source.Receivers.Resources(d, func(ref program.Ref) {
		to := o.source.Program.Decls()[ref.To]
		if to.Resource.Mode != addr.Data {
			return
		}
		o.meant(to.Module, at, func(m addr.ModuleInstance) {
			if !seen[Place{to.ID, m}] {
				o.eachSource(to.ID, m, seen, visit)
			}
		})
	})
}
