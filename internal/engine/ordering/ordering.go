package ordering

import (
	"maps"
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/engine/declared"
	"github.com/lethe-iac/lethe/internal/engine/filling"
	"github.com/lethe-iac/lethe/internal/engine/receivers"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state"
)

// Ordering is a plan in the numbers that plan.Order works with, with what they stand for.
type Ordering struct {
	Input   plan.Input
	Objects []addr.Object      // by index of Input.Objects; zero for conditions
	Tests   map[int32]Place    // conditions, and ephemeral resources that open themselves, by index of Input.Objects
	Groups  []addr.AbsResource // by index of Input.Groups; zero for conditions
	Holds   []Hold             // by index of Input.Holds

	source     Source
	groupOf    map[addr.AbsResource]plan.Vertex
	testGroups map[Place]plan.Vertex
	ownGroups  map[Place]plan.Vertex // ephemeral resources that open themselves
	gates      map[Place]plan.Vertex
	nearby     map[relative]plan.Vertex // recorded dependencies on a resource, seen from a module instance
	keys       map[addr.Key]int32
	holdOf     map[addr.ProviderInstance]int32
	leaseOf    map[leasePlace]int32
	through    map[program.Decl][]int32 // leases that are opened through some instance of a repeated provider configuration
	frames     map[addr.Module][]*frame.Frame
	below      map[placeModule][]*frame.Frame
	stored     map[addr.Resource][]addr.AbsResource
	single     [][]int32
}

// Place is a declaration in one module instance.
type Place struct {
	Decl program.Decl
	At   addr.ModuleInstance
}

type placeModule struct {
	module addr.Module
	under  addr.ModuleInstance
}

type relative struct {
	res   addr.Resource
	under addr.ModuleInstance
}

// Source is what an order is made from.
type Source struct {
	Program   *program.Program
	Frame     *frame.Frame // expanded: by the plan walk, or with what the plan says
	Receivers *receivers.Analysis
	Removals  *declared.Removals
	Plan      *plan.Plan
}

// New translates the plan of a source.
func New(s Source) *Ordering {
	o := &Ordering{
		source:  s,
		groupOf: map[addr.AbsResource]plan.Vertex{}, testGroups: map[Place]plan.Vertex{}, ownGroups: map[Place]plan.Vertex{}, Tests: map[int32]Place{}, gates: map[Place]plan.Vertex{}, nearby: map[relative]plan.Vertex{},
		keys: map[addr.Key]int32{}, holdOf: map[addr.ProviderInstance]int32{}, leaseOf: map[leasePlace]int32{}, through: map[program.Decl][]int32{},
		frames: map[addr.Module][]*frame.Frame{}, below: map[placeModule][]*frame.Frame{},
	}
	o.Input.Destroy = s.Plan.Mode == plan.Destroy
	o.addGroups()
	o.addObjects()
	o.addTests()
	o.addDeclared()
	o.addRecorded()
	o.Input.Name = o.name
	return o
}

func (o *Ordering) name(hold bool, i int32) string {
	if hold {
		if h := o.Holds[i]; h.One {
			return h.Lease.Resource.In(h.At).Instance(h.Key).String()
		} else if h.Lease != nil {
			return h.Lease.Resource.In(h.At).String()
		}
		return o.Holds[i].Use.Instance.String()
	}
	if t, ok := o.Tests[i]; ok {
		return o.testName(t)
	}
	return o.Objects[i].String()
}

// testName is what conditions without an object are called.
func (o *Ordering) testName(t Place) string {
	d := o.source.Program.Decls()[t.Decl]
	if d.Kind == program.Resource {
		return d.Resource.In(t.At).String() + " (opens itself)"
	}
	return declared.ConditionsAddr(d, t.At)
}

// addGroups numbers the resources: declared ones in every instance of their module, and what only
// the state knows.
func (o *Ordering) addGroups() {
	planned := o.plannedTests()
	for _, d := range o.source.Program.Decls() {
		if len(planned) > 0 && declared.HasConditions(d) {
			o.addTest(d, planned)
		}
		if d.Kind == program.Resource && d.Resource.Mode == addr.Ephemeral && o.looksAt(d, planned) {
			for _, f := range o.instances(d.Module) {
				o.ownGroups[Place{d.ID, f.Addr()}] = o.addGroup(addr.AbsResource{}, plan.Group{Declared: true})
			}
		}
		if d.Kind != program.Resource || d.Resource.Mode == addr.Ephemeral {
			continue
		}
		for _, f := range o.instances(d.Module) {
			g := o.group(d.Resource.In(f.Addr()))
			o.Input.Groups[g] = plan.Group{Declared: true, CreateFirst: d.Res.Lifecycle.CreateFirst, Last: d.Res.Check != ""}
		}
	}
	for _, r := range o.source.Plan.Refreshed.Resources() {
		o.group(r.Addr)
	}
	for _, c := range o.source.Plan.Changes {
		o.group(c.Object.Abs())
	}
}

// plannedTests are the conditions that planning looked at and that are to be looked at again.
func (o *Ordering) plannedTests() map[string]bool {
	if o.source.Plan.Mode != plan.Normal {
		return nil
	}
	out := map[string]bool{}
	for _, c := range o.source.Plan.Checks {
		out[c.Addr] = c.Kind == "resource" // of an ephemeral one with keys that are not kept no object is listed
		for _, x := range c.Objects {
			out[x.Addr] = true
		}
	}
	return out
}

// looksAt reports whether the apply walk opens an ephemeral resource that nothing acts on. Of one that
// was deferred the plan knows nothing, nor of one that is there only now.
func (o *Ordering) looksAt(d *program.Declaration, planned map[string]bool) bool {
	whole := len(o.source.Plan.Targets) == 0 && len(o.source.Plan.Excludes) == 0
	return o.source.Plan.Mode == plan.Normal && (whole || planned[d.Resource.String()]) && o.source.Receivers.OpensItself(d, whole)
}

// addTest gives the conditions of a declaration a group of their own, in Place of a gate.
func (o *Ordering) addTest(d *program.Declaration, planned map[string]bool) {
	for _, f := range o.instances(d.Module) {
		if planned[declared.ConditionsAddr(d, f.Addr())] {
			o.testGroups[Place{d.ID, f.Addr()}] = o.addGroup(addr.AbsResource{}, plan.Group{Declared: true})
		}
	}
}

// addTests makes the objects that stand for conditions: work that changes nothing.
func (o *Ordering) addTests() {
	o.addTestObjects(o.testGroups, func(at Place) []int32 { return o.leasesFor(at.Decl, at.At, addr.NoKey, nil) })
	acting := o.acting()
	o.addTestObjects(o.ownGroups, func(at Place) []int32 {
		return slices.DeleteFunc(o.ownHolds(at), func(h int32) bool { return acting[h] })
	})
}

// addTestObjects adds one for each Place that has something to hold, or to look at.
func (o *Ordering) addTestObjects(tests map[Place]plan.Vertex, holds func(Place) []int32) {
	for _, at := range inOrder(tests) {
		held := holds(at)
		if _, own := o.ownGroups[at]; own && len(held) == 0 {
			continue // a receiver opens it
		}
		o.Tests[int32(len(o.Objects))] = at
		o.Objects = append(o.Objects, addr.Object{})
		o.Input.Objects = append(o.Input.Objects, plan.Object{
			Group: tests[at], Key: o.key(addr.NoKey), Current: -1, Up: true, Still: true, UpHolds: held,
		})
	}
}

// inOrder lists places as they were added.
func inOrder(tests map[Place]plan.Vertex) []Place {
	return slices.SortedFunc(maps.Keys(tests), func(a, b Place) int { return int(tests[a]) - int(tests[b]) })
}

func (o *Ordering) addGroup(a addr.AbsResource, g plan.Group) plan.Vertex {
	o.Input.Groups = append(o.Input.Groups, g)
	o.Groups = append(o.Groups, a)
	return plan.Vertex(len(o.Input.Groups) - 1)
}

func (o *Ordering) group(a addr.AbsResource) plan.Vertex {
	g, ok := o.groupOf[a]
	if !ok {
		g = o.addGroup(a, plan.Group{})
		o.groupOf[a] = g
	}
	return g
}

// instances are the frames of a module path. A destroy goes by what is there.
func (o *Ordering) instances(m addr.Module) []*frame.Frame {
	fs, ok := o.frames[m]
	if !ok {
		face := frame.After
		if o.Input.Destroy {
			face = frame.Before
		}
		fs, _ = o.source.Frame.Instances(m, face)
		o.frames[m] = fs
	}
	return fs
}

// under are the frames of a module path below one module instance.
func (o *Ordering) under(m addr.Module, top addr.ModuleInstance) []*frame.Frame {
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
func (o *Ordering) key(k addr.Key) int32 {
	n, ok := o.keys[k]
	if !ok {
		n = int32(len(o.keys))
		o.keys[k] = n
	}
	return n
}

// addObjects numbers the objects: what exists and what will.
func (o *Ordering) addObjects() {
	changes := filling.ChangesByObject(o.source.Plan)
	n := len(o.Objects) + max(len(changes), o.source.Plan.Refreshed.Len())
	o.Objects, o.Input.Objects = slices.Grow(o.Objects, n), slices.Grow(o.Input.Objects, n)
	index := make(map[addr.Object]int32, n)
	for obj, e := range o.source.Plan.Refreshed.Objects() {
		index[obj] = o.object(obj, e, changes[obj])
	}
	for _, c := range o.source.Plan.Changes {
		if _, have := index[c.Object]; !have {
			index[c.Object] = o.object(c.Object, c.Entry, c) // what is imported exists, too
		}
	}
	for i, obj := range o.Objects {
		if x := &o.Input.Objects[i]; x.Deposed {
			if cur, ok := index[obj.Current()]; ok {
				x.Current = cur
			}
		}
	}
}

func (o *Ordering) object(obj addr.Object, e *state.Entry, c *plan.Change) int32 {
	x := plan.Object{
		Group: o.group(obj.Abs()), Key: o.key(obj.Key), Deposed: obj.IsDeposed(), Current: -1,
		Existed: e != nil, CreateFirst: e != nil && e.CreateFirst,
	}
	if h, ok := o.hold(obj, e, c); ok {
		x.UpHolds = o.alone(h)
		x.DownHolds = x.UpHolds
		if e != nil && c != nil && e.Provider.Key != c.Provider.Key { // it goes through the instance that it was made through
			if was, ok := o.hold(obj, e, nil); ok {
				x.DownHolds = o.alone(was)
			}
		}
		if d, ok := o.source.Program.Resource(obj.Resource()); ok && len(o.source.Receivers.Received(d.ID)) > 0 {
			x.UpHolds = o.leasesFor(d.ID, obj.Module, obj.Key, []int32{h})
		}
	}
	if c != nil {
		x.Up = c.Action.Ups() || c.Action == plan.NoOp && c.Visited()
		x.Still = c.Action == plan.NoOp
		x.Down = c.Action.Downs()
		x.Provisioners = o.provisioners(c, e)
	}
	o.Objects = append(o.Objects, obj)
	o.Input.Objects = append(o.Input.Objects, x)
	return int32(len(o.Objects) - 1)
}

// provisioners are the steps beside those of an object, with the leases that they receive.
func (o *Ordering) provisioners(c *plan.Change, e *state.Entry) *plan.Provisioners {
	up, down := declared.ProvisionersOf(o.source.Program, o.source.Removals, c, e, false), declared.ProvisionersOf(o.source.Program, o.source.Removals, c, e, true)
	if o.source.Plan.SpareDeposed && declared.Deposes(c) {
		down = declared.Provisioners{}
	}
	if len(up.List) == 0 && len(down.List) == 0 {
		return nil
	}
	return &plan.Provisioners{After: o.provisionerHolds(up, c.Object.Key), Before: o.provisionerHolds(down, c.Object.Key)}
}

// addDeclared adds the references of the configuration: from every declaration in every module
// instance, to what it refers to as seen from there.
func (o *Ordering) addDeclared() {
	filled := make([]bool, len(o.Input.Groups))
	for _, x := range o.Input.Objects {
		filled[x.Group] = true
	}
	for _, d := range o.source.Program.Decls() {
		if d.Kind == program.Provider {
			continue
		}
		for _, f := range o.instances(d.Module) {
			from := o.vertex(d, f.Addr())
			refer := func(to plan.Vertex, at plan.At) {
				o.Input.Declared = append(o.Input.Declared, plan.Edge{From: from, To: to, At: at})
			}
			o.eachRef(d.ID, f.Addr(), false, refer)
			if d.Kind == program.Resource && d.Resource.Mode != addr.Ephemeral && !filled[from] {
				o.eachProviderRef(d, refer)
			}
		}
	}
	o.addOwns()
	for h := range o.Holds {
		o.addSettings(int32(h))
	}
}

// eachProviderRef visits what the provider of a resource refers to, and those of the ephemeral resources that
// it receives. Create-first spreads to that through the holds of objects; of what has no objects nothing
// else says so.
func (o *Ordering) eachProviderRef(d *program.Declaration, visit func(plan.Vertex, plan.At)) {
	of := func(d *program.Declaration) {
		u := declared.UseOf(o.source.Program, d, addr.NoKey)
		o.eachRef(u.Decl, u.Instance.Module.Unkeyed(), true, visit)
	}
	of(d)
	for _, w := range o.source.Receivers.Received(d.ID) {
		of(o.source.Program.Decls()[w.Of])
	}
}

// eachRef visits what a declaration in one module instance refers to. Of the outputs of a repeated module
// these are those of all instances, since create-first spreads to all, or, narrow, those of the one that
// is named.
func (o *Ordering) eachRef(d program.Decl, at addr.ModuleInstance, narrow bool, visit func(plan.Vertex, plan.At)) {
	for _, ref := range o.source.Program.Refs(d) {
		to := o.source.Program.Decls()[ref.To]
		if to.Kind == program.Provider {
			continue
		}
		hint := o.hint(ref)
		narrow := narrow && to.Kind == program.Output && ref.Key == program.Fixed
		o.meant(to.Module, at, func(m addr.ModuleInstance) {
			if _, key := m.Call(); !narrow || key == ref.Fixed {
				visit(o.vertex(to, m), hint)
			}
		})
	}
}

// meant visits the instances of a module that what stands in another module instance can refer to:
// the one around it, or those below the nearest that is around both. An argument of a module call
// is a declaration of the called module and may refer to the outputs of a sibling.
func (o *Ordering) meant(m addr.Module, from addr.ModuleInstance, visit func(addr.ModuleInstance)) {
	from = from.Around(m)
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
func (o *Ordering) hint(ref program.Ref) plan.At {
	switch {
	case o.source.Program.Decls()[ref.To].Kind != program.Resource:
		return plan.All
	case ref.Key == program.Same:
		return plan.Same
	case ref.Key == program.Fixed:
		return plan.Only(o.key(ref.Fixed))
	}
	return plan.All
}

// vertex is a declaration in a module instance: a group, or a gate. Ephemeral resources are gates:
// what depends on them depends on what they are made from.
func (o *Ordering) vertex(d *program.Declaration, at addr.ModuleInstance) plan.Vertex {
	if d.Kind == program.Resource && d.Resource.Mode != addr.Ephemeral {
		return o.group(d.Resource.In(at))
	}
	k := Place{d.ID, at}
	if g, ok := o.testGroups[k]; ok {
		return g
	}
	g, ok := o.gates[k]
	if !ok {
		g = o.gate()
		o.gates[k] = g
	}
	return g
}

func (o *Ordering) gate() plan.Vertex {
	o.Input.Gates++
	return plan.Vertex(len(o.Input.Groups) + o.Input.Gates - 1)
}

// addRecorded adds the references that the state remembers. They name declarations; of those in
// several module instances the ones meant are those nearest to the object.
func (o *Ordering) addRecorded() {
	var seen []plan.Vertex // by what is referred to: the group that did last, plus one; the objects of a group follow each other
	for obj, e := range o.source.Plan.Refreshed.Objects() {
		from := o.groupOf[obj.Abs()]
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
				o.Input.Recorded = append(o.Input.Recorded, plan.Edge{From: from, To: to})
			}
		}
	}
}

// near is the vertex of a recorded dependency as seen from a module instance.
func (o *Ordering) near(dep addr.Resource, from addr.ModuleInstance) (plan.Vertex, bool) {
	top := from.Around(dep.Module)
	k := relative{dep, top}
	if v, ok := o.nearby[k]; ok {
		return v, v >= 0
	}
	v := plan.Vertex(-1)
	var all []plan.Vertex
	for _, r := range o.storedAs(dep) {
		if r.Module.Under(top) {
			all = append(all, o.groupOf[r])
		}
	}
	switch len(all) {
	case 0:
	case 1:
		v = all[0]
	default:
		v = o.gate()
		for _, to := range all {
			o.Input.Recorded = append(o.Input.Recorded, plan.Edge{From: v, To: to})
		}
	}
	o.nearby[k] = v
	return v, v >= 0
}

// storedAs are the module instances in which the state has the resource.
func (o *Ordering) storedAs(res addr.Resource) []addr.AbsResource {
	if o.stored == nil {
		o.stored = map[addr.Resource][]addr.AbsResource{}
		for _, r := range o.source.Plan.Refreshed.Resources() {
			k := r.Addr.Resource()
			o.stored[k] = append(o.stored[k], r.Addr)
		}
	}
	return o.stored[res]
}
