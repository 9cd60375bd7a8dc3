package engine

import (
	"maps"
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
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
	owns    map[place]plan.Vertex // ephemeral resources that open themselves
	testAt  map[int32]place       // by object
	gates   map[place]plan.Vertex
	nearby  map[relative]plan.Vertex // recorded dependencies on a resource, seen from a module instance
	keys    map[addr.Key]int32
	holds   []hold
	holdOf  map[addr.ProviderInstance]int32
	leaseOf map[leasePlace]int32
	through map[lang.Decl][]int32 // leases that are opened through some instance of a repeated provider configuration
	frames  map[addr.Module][]*lang.Frame
	below   map[placeModule][]*lang.Frame
	stored  map[addr.Resource][]addr.AbsResource
	single  [][]int32
	settled map[addr.ProviderInstance]plan.Settings
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
		keys: map[addr.Key]int32{}, holdOf: map[addr.ProviderInstance]int32{}, leaseOf: map[leasePlace]int32{}, through: map[lang.Decl][]int32{},
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
		return d.Resource.In(t.at).String() + " (opens itself)"
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
		if d.Kind == lang.Resource && d.Resource.Mode == addr.Ephemeral && o.looksAt(d, planned) {
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
		out[c.Addr] = c.Kind == "resource" // of an ephemeral one with keys that are not kept no object is listed
		for _, x := range c.Objects {
			out[x.Addr] = true
		}
	}
	return out
}

// looksAt reports whether the apply walk opens an ephemeral resource that nothing acts on. Of one that
// was deferred the plan knows nothing, nor of one that is there only now.
func (o *ordering) looksAt(d *lang.Declaration, planned map[string]bool) bool {
	whole := len(o.plan.Targets) == 0 && len(o.plan.Excludes) == 0
	return o.plan.Mode == plan.Normal && (whole || planned[d.Resource.String()]) && o.opensItself(d, whole)
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
	acting := o.acting()
	o.addTestObjects(o.owns, func(at place) []int32 {
		return slices.DeleteFunc(o.ownHolds(at), func(h int32) bool { return acting[h] })
	})
}

// addTestObjects adds one for each place that has something to hold, or to look at.
func (o *ordering) addTestObjects(tests map[place]plan.Vertex, holds func(place) []int32) {
	for _, at := range inOrder(tests) {
		held := holds(at)
		if _, own := o.owns[at]; own && len(held) == 0 {
			continue // a receiver opens it
		}
		o.testAt[int32(len(o.objects))] = at
		o.objects = append(o.objects, addr.Object{})
		o.in.Objects = append(o.in.Objects, plan.Object{
			Group: tests[at], Key: o.key(addr.NoKey), Current: -1, Up: true, Still: true, UpHolds: held,
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
		fs, _ = o.frame.Instances(m, face)
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
			index[c.Object] = o.object(c.Object, c.Entry, c) // what is imported exists, too
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
	if o.plan.SpareDeposed && deposes(c) {
		down = hooks{}
	}
	if len(up.list) == 0 && len(down.list) == 0 {
		return nil
	}
	return &plan.Provisioners{After: o.hookHolds(up, c.Object.Key), Before: o.hookHolds(down, c.Object.Key)}
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

// hint narrows a reference to a resource down where the instance is known. The key of another one is that
// of an instance of a module.
func (o *ordering) hint(ref lang.Ref) plan.At {
	switch {
	case o.prog.Decls()[ref.To].Kind != lang.Resource:
		return plan.All
	case ref.Key == lang.Same:
		return plan.Same
	case ref.Key == lang.Fixed:
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

// orderReplacements settles what is create-first: which replacements are follows from the order, and
// the state is to remember of all objects whether they are declared so.
func (p *planner) orderReplacements(out *plan.Plan) {
	replaces := slices.ContainsFunc(out.Changes, func(c *plan.Change) bool { return c.Action.Replaces() })
	if !replaces && (out.Mode != plan.Normal || !p.declaresFirst()) {
		return
	}
	o := p.newOrdering(out)
	changes := byObject(out)
	var steps *plan.Steps
	if replaces {
		steps = plan.Order(&o.in)
	} else {
		steps = &plan.Steps{CreateFirst: plan.CreateFirst(&o.in)}
	}
	for i, obj := range o.objects {
		c := changes[obj]
		if c == nil || obj.IsDeposed() {
			continue
		}
		c.CreateFirst = steps.CreateFirst[o.in.Objects[i].Group]
		if c.Action != plan.DeleteCreate || !steps.First[i] {
			continue
		}
		c.Action = plan.CreateDelete
		if by := steps.FirstFor[i]; by >= 0 && int(by) < len(o.groupOf) {
			c.FirstFor = o.groupOf[by].String()
		}
	}
}

// declaresFirst reports whether any resource is declared create-first.
func (p *planner) declaresFirst() bool {
	return slices.ContainsFunc(p.prog.Decls(), func(d *lang.Declaration) bool {
		return d.Kind == lang.Resource && d.Resource.Mode == addr.Managed && d.Res.Lifecycle.CreateFirst
	})
}
