package engine

import (
	"maps"
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state"
)

// ordering puts a plan into the numbers that plan.Order works with: resources in module instances
// are groups, value declarations in module instances are gates, provider instances are holds.
type ordering struct {
	*run
	plan *plan.Plan
	in   plan.Input

	objects []addr.Object
	groups  map[addr.AbsResource]plan.Vertex
	groupOf []addr.AbsResource
	tests   map[place]plan.Vertex
	owns    map[place]plan.Vertex // postconditions of ephemeral resources
	testAt  map[int32]place       // by object
	gates   map[place]plan.Vertex
	nearby  map[relative]plan.Vertex // recorded dependencies on a resource, seen from a module instance
	keys    map[addr.Key]int32
	holds   []hold
	holdOf  map[addr.ProviderInstance]int32
	leaseOf map[leasePlace]int32
	frames  map[addr.Module][]*lang.Frame
	below   map[placeModule][]*lang.Frame
	stored  map[addr.Resource][]addr.AbsResource
	single  [][]int32
}

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

// place is a declaration in one module instance.
type place struct {
	decl lang.Decl
	at   addr.ModuleInstance
}

type placeModule struct {
	module addr.Module
	under  addr.ModuleInstance
}

type relative struct {
	res   addr.Resource
	under addr.ModuleInstance
}

func (r *run) newOrdering(p *plan.Plan) *ordering {
	o := &ordering{
		run: r, plan: p,
		groups: map[addr.AbsResource]plan.Vertex{}, tests: map[place]plan.Vertex{}, owns: map[place]plan.Vertex{}, testAt: map[int32]place{}, gates: map[place]plan.Vertex{}, nearby: map[relative]plan.Vertex{},
		keys: map[addr.Key]int32{}, holdOf: map[addr.ProviderInstance]int32{}, leaseOf: map[leasePlace]int32{},
		frames: map[addr.Module][]*lang.Frame{}, below: map[placeModule][]*lang.Frame{},
	}
	o.in.Destroy = p.Mode == plan.Destroy
	o.addGroups()
	o.addObjects()
	o.addTests()
	o.addDeclared()
	o.addRecorded()
	o.in.Name = o.name
	return o
}

func (o *ordering) name(hold bool, i int32) string {
	if hold {
		if h := o.holds[i]; h.one {
			return h.lease.Resource.In(h.at).Instance(h.key).String()
		} else if h.lease != nil {
			return h.lease.Resource.In(h.at).String()
		}
		return o.holds[i].instance.String()
	}
	if t, ok := o.testAt[i]; ok {
		return o.testName(t)
	}
	return o.objects[i].String()
}

// testName is what conditions without an object are called.
func (o *ordering) testName(t place) string {
	d := o.prog.Decls()[t.decl]
	if d.Kind == lang.Resource {
		return "a postcondition of " + d.Resource.In(t.at).String()
	}
	return testAddr(d, t.at)
}

// addGroups numbers the resources: declared ones in every instance of their module, and what only
// the state knows.
func (o *ordering) addGroups() {
	planned := o.plannedTests()
	for _, d := range o.prog.Decls() {
		if len(planned) > 0 && tested(d) {
			o.addTest(d, planned)
		}
		if receivesItself(d) && o.looksAt(d, planned) {
			for _, f := range o.instances(d.Module) {
				o.owns[place{d.ID, f.Addr()}] = o.addGroup(addr.AbsResource{}, plan.Group{Declared: true})
			}
		}
		if d.Kind != lang.Resource || d.Resource.Mode == addr.Ephemeral {
			continue
		}
		for _, f := range o.instances(d.Module) {
			g := o.group(d.Resource.In(f.Addr()))
			o.in.Groups[g] = plan.Group{Declared: true, CreateFirst: d.Res.Lifecycle.CreateFirst}
		}
	}
	for _, r := range o.plan.Refreshed.Resources() {
		o.group(r.Addr)
	}
	for _, c := range o.plan.Changes {
		o.group(c.Object.Abs())
	}
}

// plannedTests are the conditions that planning looked at and that are to be looked at again.
func (o *ordering) plannedTests() map[string]bool {
	if o.plan.Mode != plan.Normal {
		return nil
	}
	out := map[string]bool{}
	for _, c := range o.plan.Checks {
		out[c.Addr] = true
		for _, x := range c.Objects {
			out[x.Addr] = true
		}
	}
	return out
}

// looksAt reports whether the apply walk looks at the postconditions of an ephemeral resource by
// itself. Of one that was deferred the plan knows nothing, nor of one that is there only now.
func (o *ordering) looksAt(d *lang.Declaration, planned map[string]bool) bool {
	if o.plan.Mode != plan.Normal {
		return false
	}
	return len(o.plan.Targets) == 0 && len(o.plan.Excludes) == 0 || planned[d.Resource.String()]
}

// addTest gives the conditions of a declaration a group of their own, in place of a gate.
func (o *ordering) addTest(d *lang.Declaration, planned map[string]bool) {
	for _, f := range o.instances(d.Module) {
		if planned[testAddr(d, f.Addr())] {
			o.tests[place{d.ID, f.Addr()}] = o.addGroup(addr.AbsResource{}, plan.Group{Declared: true})
		}
	}
}

// addTests makes the objects that stand for conditions: work that changes nothing.
func (o *ordering) addTests() {
	o.addTestObjects(o.tests, func(at place) []int32 { return o.leasesFor(at.decl, at.at, addr.NoKey, nil) })
	o.addTestObjects(o.owns, func(at place) []int32 { return []int32{o.leaseFor(hold{lease: o.prog.Decls()[at.decl], at: at.at})} })
}

func (o *ordering) addTestObjects(tests map[place]plan.Vertex, holds func(place) []int32) {
	for _, at := range inOrder(tests) {
		o.testAt[int32(len(o.objects))] = at
		o.objects = append(o.objects, addr.Object{})
		o.in.Objects = append(o.in.Objects, plan.Object{
			Group: tests[at], Key: o.key(addr.NoKey), Current: -1, Up: true, Still: true, UpHolds: holds(at),
		})
	}
}

// inOrder lists places as they were added.
func inOrder(tests map[place]plan.Vertex) []place {
	return slices.SortedFunc(maps.Keys(tests), func(a, b place) int { return int(tests[a]) - int(tests[b]) })
}

func (o *ordering) addGroup(a addr.AbsResource, g plan.Group) plan.Vertex {
	o.in.Groups = append(o.in.Groups, g)
	o.groupOf = append(o.groupOf, a)
	return plan.Vertex(len(o.in.Groups) - 1)
}

func (o *ordering) group(a addr.AbsResource) plan.Vertex {
	g, ok := o.groups[a]
	if !ok {
		g = o.addGroup(a, plan.Group{})
		o.groups[a] = g
	}
	return g
}

// instances are the frames of a module path. A destroy goes by what is there.
func (o *ordering) instances(m addr.Module) []*lang.Frame {
	fs, ok := o.frames[m]
	if !ok {
		face := lang.After
		if o.in.Destroy {
			face = lang.Before
		}
		fs, _ = o.frame.Instances(m, face, &diag.Bag{})
		o.frames[m] = fs
	}
	return fs
}

// under are the frames of a module path below one module instance.
func (o *ordering) under(m addr.Module, top addr.ModuleInstance) []*lang.Frame {
	if _, done := o.below[placeModule{m, addr.ModuleInstance{}}]; !done {
		o.below[placeModule{m, addr.ModuleInstance{}}] = nil
		for _, f := range o.instances(m) {
			for at := f.Addr(); ; at = at.Parent() {
				k := placeModule{m, at}
				o.below[k] = append(o.below[k], f)
				if at.IsRoot() {
					break
				}
			}
		}
	}
	return o.below[placeModule{m, top}]
}

// key numbers an instance key.
func (o *ordering) key(k addr.Key) int32 {
	n, ok := o.keys[k]
	if !ok {
		n = int32(len(o.keys))
		o.keys[k] = n
	}
	return n
}

// byObject finds the changes of a plan.
func byObject(p *plan.Plan) map[addr.Object]*plan.Change {
	out := make(map[addr.Object]*plan.Change, len(p.Changes))
	for _, c := range p.Changes {
		out[c.Object] = c
	}
	return out
}

// addObjects numbers the objects: what exists and what will.
func (o *ordering) addObjects() {
	changes := byObject(o.plan)
	n := len(o.objects) + max(len(changes), o.plan.Refreshed.Len())
	o.objects, o.in.Objects = slices.Grow(o.objects, n), slices.Grow(o.in.Objects, n)
	index := make(map[addr.Object]int32, n)
	for obj, e := range o.plan.Refreshed.Objects() {
		index[obj] = o.object(obj, e, changes[obj])
	}
	for _, c := range o.plan.Changes {
		if _, have := index[c.Object]; !have {
			index[c.Object] = o.object(c.Object, nil, c)
		}
	}
	for i, obj := range o.objects {
		if x := &o.in.Objects[i]; x.Deposed {
			if cur, ok := index[obj.Current()]; ok {
				x.Current = cur
			}
		}
	}
}

func (o *ordering) object(obj addr.Object, e *state.Entry, c *plan.Change) int32 {
	x := plan.Object{
		Group: o.group(obj.Abs()), Key: o.key(obj.Key), Deposed: obj.IsDeposed(), Current: -1,
		Existed: e != nil, CreateFirst: e != nil && e.CreateFirst,
	}
	if h, ok := o.hold(obj, e, c); ok {
		x.DownHolds = o.alone(h)
		x.UpHolds = x.DownHolds
		if d, ok := o.prog.Resource(obj.Resource()); ok && len(o.reach.wants(d.ID)) > 0 {
			x.UpHolds = o.leasesFor(d.ID, obj.Module, obj.Key, []int32{h})
		}
	}
	if c != nil {
		x.Up = c.Action.Ups() || c.Action == plan.NoOp && c.Visited()
		x.Still = c.Action == plan.NoOp
		x.Down = c.Action.Downs()
		x.Provisioners = o.provisioners(c, e)
	}
	o.objects = append(o.objects, obj)
	o.in.Objects = append(o.in.Objects, x)
	return int32(len(o.objects) - 1)
}

// provisioners are the steps beside those of an object, with the leases that they receive.
func (o *ordering) provisioners(c *plan.Change, e *state.Entry) *plan.Provisioners {
	up, down := o.hooksOf(c, e, false), o.hooksOf(c, e, true)
	if len(up.list) == 0 && len(down.list) == 0 {
		return nil
	}
	return &plan.Provisioners{After: o.hookHolds(up, c.Object.Key), Before: o.hookHolds(down, c.Object.Key)}
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
	over := []int32{o.holdFor(o.useOf(x.lease, addr.NoKey))}
	o.in.Holds[h].Over = o.leasesFor(x.lease.ID, x.at, addr.NoKey, over)
	return h
}

// addDeclared adds the references of the configuration: from every declaration in every module
// instance, to what it refers to as seen from there.
func (o *ordering) addDeclared() {
	for _, d := range o.prog.Decls() {
		if d.Kind == lang.Provider {
			continue
		}
		for _, f := range o.instances(d.Module) {
			from := o.vertex(d, f.Addr())
			o.eachRef(d.ID, f.Addr(), func(to plan.Vertex, at plan.At) {
				o.in.Declared = append(o.in.Declared, plan.Edge{From: from, To: to, At: at})
			})
		}
	}
	o.addOwns()
	for h := range o.holds {
		o.addSettings(int32(h))
	}
}

// addOwns puts the postconditions of ephemeral resources after all who receive them otherwise, so
// that no lease is opened earlier because of them.
func (o *ordering) addOwns() {
	if len(o.owns) == 0 {
		return
	}
	receivers := o.receivers()
	for _, at := range inOrder(o.owns) {
		own := o.owns[at]
		add := func(to plan.Vertex) { o.in.Declared = append(o.in.Declared, plan.Edge{From: own, To: to}) }
		add(o.vertex(o.prog.Decls()[at.decl], at.at))
		for _, d := range receivers[at.decl] {
			for _, f := range o.instances(d.Module) {
				add(o.vertex(d, f.Addr()))
			}
		}
	}
}

// receivers are the declarations that receive each ephemeral resource, by their provisioners and
// through a provider too.
func (o *ordering) receivers() map[lang.Decl][]*lang.Declaration {
	out := map[lang.Decl][]*lang.Declaration{}
	for _, d := range o.prog.Decls() {
		if !receiver(d) || d.Kind == lang.Provider {
			continue
		}
		all := slices.Clone(o.reach.ephemerals(d.ID))
		if d.Kind == lang.Resource {
			all = append(all, o.reach.ephemerals(o.prog.ProviderOf(d.ID))...)
			all = append(all, o.reach.ephemeralsBehind(o.prog.Refs(d.ID), byProvision)...)
		}
		for _, e := range all {
			out[e] = append(out[e], d)
		}
	}
	return out
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
	o.eachRef(d, at, func(to plan.Vertex, at plan.At) {
		in.Settings = append(in.Settings, plan.Ref{To: to, At: at})
	})
	if x.lease == nil {
		in.Equal, in.NoBefore = o.equalSettings(x.use), o.noBefore(x.use)
	}
}

// equalSettings reports whether planning found the settings of both faces to be known and equal.
func (o *ordering) equalSettings(u use) bool {
	before, after := o.peek(u, lang.Before), o.peek(u, lang.After)
	return before != nil && after != nil && before.ok && after.ok && !before.unknown && !after.unknown &&
		before.settings.Raw.RawEquals(after.settings.Raw)
}

func (o *ordering) noBefore(u use) bool {
	s := o.peek(u, lang.Before)
	return s != nil && (!s.ok || s.unknown)
}

// peek is a session that this walk opened, if it did.
func (r *run) peek(u use, face lang.Face) *session {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.sessions[r.sessionKey(u, face)]; s != nil && s.opened {
		return s
	}
	return nil
}

// eachRef visits what a declaration in one module instance refers to.
func (o *ordering) eachRef(d lang.Decl, at addr.ModuleInstance, visit func(plan.Vertex, plan.At)) {
	for _, ref := range o.prog.Refs(d) {
		to := o.prog.Decls()[ref.To]
		if to.Kind == lang.Provider {
			continue
		}
		hint := o.hint(ref)
		o.meant(to.Module, at, func(m addr.ModuleInstance) { visit(o.vertex(to, m), hint) })
	}
}

// meant visits the instances of a module that what stands in another module instance can refer to:
// the one around it, or those below the nearest that is around both. An argument of a module call
// is a declaration of the called module and may refer to the outputs of a sibling.
func (o *ordering) meant(m addr.Module, from addr.ModuleInstance, visit func(addr.ModuleInstance)) {
	from = nearest(m, from)
	if from.Module() == m {
		visit(from)
		return
	}
	for _, f := range o.under(m, from) {
		visit(f.Addr())
	}
}

// hint narrows a reference down where the instance is known.
func (o *ordering) hint(ref lang.Ref) plan.At {
	switch ref.Key {
	case lang.Same:
		return plan.Same
	case lang.Fixed:
		return plan.Only(o.key(ref.Fixed))
	}
	return plan.All
}

// nearest is the nearest module instance around at, or at itself, that m lies below or is.
func nearest(m addr.Module, at addr.ModuleInstance) addr.ModuleInstance {
	for !m.Under(at.Module()) {
		at = at.Parent()
	}
	return at
}

// vertex is a declaration in a module instance: a group, or a gate. Ephemeral resources are gates:
// what depends on them depends on what they are made from.
func (o *ordering) vertex(d *lang.Declaration, at addr.ModuleInstance) plan.Vertex {
	if d.Kind == lang.Resource && d.Resource.Mode != addr.Ephemeral {
		return o.group(d.Resource.In(at))
	}
	k := place{d.ID, at}
	if g, ok := o.tests[k]; ok {
		return g
	}
	g, ok := o.gates[k]
	if !ok {
		g = o.gate()
		o.gates[k] = g
	}
	return g
}

func (o *ordering) gate() plan.Vertex {
	o.in.Gates++
	return plan.Vertex(len(o.in.Groups) + o.in.Gates - 1)
}

// addRecorded adds the references that the state remembers. They name declarations; of those in
// several module instances the ones meant are those nearest to the object.
func (o *ordering) addRecorded() {
	var seen []plan.Vertex // by what is referred to: who did last, plus one; the objects of a group follow each other
	for obj, e := range o.plan.Refreshed.Objects() {
		from := o.groups[obj.Abs()]
		for _, dep := range e.Recorded {
			to, ok := o.near(dep, obj.Module)
			if !ok || from == to {
				continue
			}
			for int(to) >= len(seen) {
				seen = append(seen, make([]plan.Vertex, int(to)+1)...)
			}
			if seen[to] != from+1 {
				seen[to] = from + 1
				o.in.Recorded = append(o.in.Recorded, plan.Edge{From: from, To: to})
			}
		}
	}
}

// near is the vertex of a recorded dependency as seen from a module instance.
func (o *ordering) near(dep addr.Resource, from addr.ModuleInstance) (plan.Vertex, bool) {
	top := from
	for !dep.Module.Under(top.Module()) {
		top = top.Parent()
	}
	k := relative{dep, top}
	if v, ok := o.nearby[k]; ok {
		return v, v >= 0
	}
	v := plan.Vertex(-1)
	var all []plan.Vertex
	for _, r := range o.storedAs(dep) {
		if r.Module.Under(top) {
			all = append(all, o.groups[r])
		}
	}
	switch len(all) {
	case 0:
	case 1:
		v = all[0]
	default:
		v = o.gate()
		for _, to := range all {
			o.in.Recorded = append(o.in.Recorded, plan.Edge{From: v, To: to})
		}
	}
	o.nearby[k] = v
	return v, v >= 0
}

// storedAs are the module instances in which the state has the resource.
func (o *ordering) storedAs(res addr.Resource) []addr.AbsResource {
	if o.stored == nil {
		o.stored = map[addr.Resource][]addr.AbsResource{}
		for _, r := range o.plan.Refreshed.Resources() {
			k := r.Addr.Resource()
			o.stored[k] = append(o.stored[k], r.Addr)
		}
	}
	return o.stored[res]
}

// orderReplacements settles which replacements create first: that follows from the order.
func (p *planner) orderReplacements(out *plan.Plan) {
	replaces := false
	for _, c := range out.Changes {
		replaces = replaces || c.Action.Replaces()
	}
	if !replaces {
		return
	}
	o := p.newOrdering(out)
	steps := plan.Order(&o.in)
	changes := byObject(out)
	for i, obj := range o.objects {
		c := changes[obj]
		if c == nil || !steps.First[i] {
			continue
		}
		c.CreateFirst = true
		if by := steps.FirstFor[i]; by >= 0 && int(by) < len(o.groupOf) {
			c.FirstFor = o.groupOf[by].String()
		}
		if c.Action == plan.DeleteCreate {
			c.Action = plan.CreateDelete
		}
	}
}
