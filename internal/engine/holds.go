package engine

import (
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/lang"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state"
)

// What the objects of a plan go through and hold while they are brought up and taken down: sessions
// of providers, and leases.

// hold is what is up only while steps work through it: a provider instance, or an ephemeral
// resource in one module instance.
type hold struct {
	use
	lease *lang.Declaration // set for an ephemeral resource
	at    addr.ModuleInstance
	one   bool // only the instance with this key
	key   addr.Key
}

// keys are the instances of an ephemeral resource that belong to the hold; nil: all.
func (h hold) keys() []addr.Key {
	if h.one {
		return []addr.Key{h.key}
	}
	return nil
}

// leasePlace is an ephemeral resource in a module instance, or one instance of it.
type leasePlace struct {
	place
	one bool
	key addr.Key
}

func (o *ordering) hookHolds(h hooks, own addr.Key) [][]int32 {
	out := make([][]int32, len(h.list))
	for i, p := range h.list {
		if h.decl != nil {
			out[i] = o.leasesOf(o.reach.parts(h.decl.ID, h.parts(p)), h.in, own, nil)
		}
	}
	return out
}

// hold is the provider instance that an object works through.
func (o *ordering) hold(obj addr.Object, e *state.Entry, c *plan.Change) (int32, bool) {
	inst := addr.ProviderInstance{}
	if c != nil {
		inst = c.Provider
	} else if e != nil {
		inst = e.Provider
	}
	if inst.Provider.IsZero() {
		return 0, false
	}
	u := use{instance: inst}
	if d, ok := o.prog.Resource(obj.Resource()); ok {
		u = o.useOf(d, inst.Key)
	} else if p, ok := o.prog.ProviderFor(inst.Module, inst.Provider, inst.Alias); ok {
		u = use{decl: p, declared: true, instance: addr.ProviderInstance{ProviderConfig: o.prog.Decls()[p].Provider, Key: inst.Key}}
	}
	return o.holdFor(u), true
}

func (o *ordering) holdFor(u use) int32 {
	h, ok := o.holdOf[u.instance]
	if ok {
		return h
	}
	h = o.addHold(hold{use: u})
	o.holdOf[u.instance] = h
	if u.declared {
		o.in.Holds[h].Over = o.leasesFor(u.decl, u.instance.Module.Unkeyed(), u.instance.Key, nil)
		for _, l := range o.through[u.decl] {
			o.in.Holds[l].Over = append(o.in.Holds[l].Over, h)
		}
	}
	return h
}

func (o *ordering) addHold(h hold) int32 {
	o.holds = append(o.holds, h)
	o.in.Holds = append(o.in.Holds, plan.Hold{})
	return int32(len(o.holds) - 1)
}

// alone is the list of one hold, shared by all who work through nothing else.
func (o *ordering) alone(h int32) []int32 {
	for int(h) >= len(o.single) {
		o.single = append(o.single, []int32{int32(len(o.single))})
	}
	return o.single[h]
}

// leasesFor adds the ephemeral resources whose values reach an instance of a declaration in a module
// instance.
func (o *ordering) leasesFor(d lang.Decl, at addr.ModuleInstance, own addr.Key, list []int32) []int32 {
	return o.leasesOf(o.reach.wants(d), at, own, list)
}

// leasesOf adds ephemeral resources as seen from an instance in a module instance: those instances
// of them that it means, where everybody says which.
func (o *ordering) leasesOf(wants []want, at addr.ModuleInstance, own addr.Key, list []int32) []int32 {
	add := func(x hold) {
		if h := o.leaseFor(x); !slices.Contains(list, h) {
			list = append(list, h)
		}
	}
	for _, w := range wants {
		info := o.prog.Decls()[w.of]
		o.meant(info.Module, at, func(m addr.ModuleInstance) {
			if !o.reach.apart(w.of) {
				add(hold{lease: info, at: m})
				return
			}
			for _, k := range w.keys(own) {
				add(hold{lease: info, at: m, one: true, key: k})
			}
		})
	}
	return list
}

// leaseFor is the hold of an ephemeral resource in a module instance, or of one instance of it. It
// works through its provider and through the leases that it is obtained with.
func (o *ordering) leaseFor(x hold) int32 {
	k := leasePlace{place{x.lease.ID, x.at}, x.one, x.key}
	if h, ok := o.leaseOf[k]; ok {
		return h
	}
	h := o.addHold(x)
	o.leaseOf[k] = h
	o.in.Holds[h].Over = o.leasesFor(x.lease.ID, x.at, addr.NoKey, o.providersOf(x.lease, h))
	return h
}

// providersOf are the holds that a lease is opened through. Through which instance of a repeated provider
// configuration that is, only its opening finds out: it is closed before any that others work through is
// stopped, and while what they are configured with is open.
func (o *ordering) providersOf(lease *lang.Declaration, h int32) []int32 {
	u := o.useOf(lease, addr.NoKey)
	if o.prog.Decls()[u.decl].Repeat() == lang.Once {
		return []int32{o.holdFor(u)}
	}
	o.through[u.decl] = append(o.through[u.decl], h)
	over := o.leasesFor(u.decl, u.instance.Module.Unkeyed(), addr.NoKey, nil)
	for i, x := range o.holds {
		if x.lease == nil && x.declared && x.decl == u.decl {
			over = append(over, int32(i))
		}
	}
	return over
}

// ownHolds are the holds of an ephemeral resource that opens itself: of all its instances, or of those
// that are meant.
func (o *ordering) ownHolds(at place) []int32 {
	e := o.prog.Decls()[at.decl]
	keys := o.ownKeys(e)
	if keys == nil || !o.reach.apart(e.ID) {
		return []int32{o.leaseFor(hold{lease: e, at: at.at})}
	}
	var out []int32
	for _, k := range keys {
		out = append(out, o.leaseFor(hold{lease: e, at: at.at, one: true, key: k}))
	}
	return out
}

// acting are the holds that objects work through in this walk, or what they are made from.
func (o *ordering) acting() map[int32]bool {
	out := map[int32]bool{}
	var add func(list []int32)
	add = func(list []int32) {
		for _, h := range list {
			if !out[h] {
				out[h] = true
				add(o.in.Holds[h].Over)
			}
		}
	}
	for i := range o.in.Objects {
		x := &o.in.Objects[i]
		if x.Up {
			add(x.UpHolds)
		}
		if x.Down {
			add(x.DownHolds)
		}
		if p := x.Provisioners; p != nil {
			for _, list := range append(slices.Clone(p.After), p.Before...) {
				add(list)
			}
		}
	}
	return out
}

// addOwns puts ephemeral resources that open themselves after what they are made from.
func (o *ordering) addOwns() {
	for _, at := range inOrder(o.owns) {
		o.in.Declared = append(o.in.Declared, plan.Edge{From: o.owns[at], To: o.vertex(o.prog.Decls()[at.decl], at.at)})
	}
}

func byProvision(ref lang.Ref) bool { return ref.Use&lang.ByProvision != 0 }

// addSettings says what a hold is made from.
func (o *ordering) addSettings(h int32) {
	x := o.holds[h]
	d, at, ok := x.decl, x.instance.Module.Unkeyed(), x.declared
	if x.lease != nil {
		d, at, ok = x.lease.ID, x.at, true
	}
	if !ok || o.reach.steady(d) {
		return
	}
	in := &o.in.Holds[h]
	o.eachSource(d, at, map[place]bool{}, func(to plan.Vertex, at plan.At) {
		in.Settings = append(in.Settings, plan.Ref{To: to, At: at})
	})
	if x.lease == nil {
		found := o.settingsOf(x.use)
		in.Equal, in.NoBefore = found.Equal, found.NoBefore
	}
}

// eachSource visits what settings are made from. What is read has no down, but what its reading refers
// to may go: that is a source as well.
func (o *ordering) eachSource(d lang.Decl, at addr.ModuleInstance, seen map[place]bool, visit func(plan.Vertex, plan.At)) {
	seen[place{d, at}] = true
	o.eachRef(d, at, visit)
	o.reach.resources(d, func(ref lang.Ref) {
		to := o.prog.Decls()[ref.To]
		if to.Resource.Mode != addr.Data {
			return
		}
		o.meant(to.Module, at, func(m addr.ModuleInstance) {
			if !seen[place{to.ID, m}] {
				o.eachSource(to.ID, m, seen, visit)
			}
		})
	})
}

// settingsOf is what planning found out about the settings of a provider instance.
func (o *ordering) settingsOf(u use) plan.Settings {
	if o.settled == nil {
		o.settled = map[addr.ProviderInstance]plan.Settings{}
		for _, x := range o.plan.Settings {
			o.settled[x.Provider] = x
		}
	}
	return o.settled[u.instance]
}
