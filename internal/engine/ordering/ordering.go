package ordering

import (
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

// New translates s.Plan into the input of plan.Order.
func New(s Source) *Ordering {
	o := &Ordering{
		source:  s,
		groupOf: map[addr.AbsResource]plan.Vertex{}, testGroups: map[Place]plan.Vertex{}, ownGroups: map[Place]plan.Vertex{}, Tests: map[int32]Place{}, Invoked: map[int32]*plan.Invocation{}, gates: map[Place]plan.Vertex{}, nearby: map[relative]plan.Vertex{},
		keys: map[addr.Key]int32{}, holdOf: map[addr.ProviderInstance]int32{}, leaseOf: map[leasePlace]int32{}, through: map[program.Decl][]int32{},
		frames: map[addr.Module][]*frame.Frame{}, below: map[placeModule][]*frame.Frame{},
	}
	o.Input.Destroy = s.Plan.Mode == plan.Destroy
	o.addGroups()
	o.addObjects()
	o.addTests()
	addInvoked(o)
	o.findInChecks()
	o.addDeclared()
	o.addRecorded()
	o.Input.Name = o.name
	return o
}

// Name returns the address of the subject of a step: an object, the declaration of conditions, or a hold (a provider
// instance or an ephemeral resource).
func (o *Ordering) Name(s plan.Step) string {
	return o.name(s.Kind == plan.HoldUp || s.Kind == plan.HoldDown, s.Index)
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

// testName returns the name of conditions, or of an ephemeral resource that is opened without a receiver.
func (o *Ordering) testName(t Place) string {
	d := o.source.Program.Decls()[t.Decl]
	if d.Kind == program.Resource {
		return d.Resource.In(t.At).String() + " (opens itself)"
	}
	return declared.ConditionsAddr(d, t.At)
}

// addGroups adds a group (of objects that are ordered together) for each declared resource in every module instance,
// and for each resource that only the state has. It also adds groups for conditions and for actions that the user
// invokes.
func (o *Ordering) addGroups() {
	planned := o.plannedTests()
	for _, d := range o.source.Program.Decls() {
		if len(planned) > 0 && declared.HasConditions(d) {
			o.addTest(d, planned)
		}
		if d.Kind == program.Resource && d.Resource.Mode == addr.Ephemeral && o.opensUnreceived(d, planned) {
			for _, f := range o.instances(d.Module) {
				o.ownGroups[Place{d.ID, f.Addr()}] = o.addGroup(addr.AbsResource{}, plan.Group{Declared: true})
			}
		}
		if d.Kind != program.Resource || d.Resource.Mode == addr.Ephemeral {
			continue
		}
		for _, f := range o.instances(d.Module) {
			g := o.group(d.Resource.In(f.Addr()))
			o.Input.Groups[g] = plan.Group{Declared: true, CreateFirst: d.Res.Lifecycle.CreateFirst, Reads: d.Resource.Mode == addr.Data, Last: d.Res.Check != ""}
		}
	}
	for _, r := range o.source.Plan.Refreshed.Resources() {
		o.group(r.Addr)
	}
	for _, c := range o.source.Plan.Changes {
		o.group(c.Object.Abs())
	}
	for _, i := range o.source.Plan.Invocations {
		d, ok := o.source.Program.Resource(i.Action.Resource())
		if !ok || !i.Trigger.Requested() {
			continue
		}
		at := Place{d.ID, i.Action.Module}
		if _, ok := o.gates[at]; !ok {
			o.gates[at] = o.addGroup(i.Action.Abs(), plan.Group{Declared: true})
		}
	}
}

// addInvoked adds an element to Objects for each invocation that the user requested with -invoke. The step of such an
// element invokes the action and changes no object.
func addInvoked(o *Ordering) {
	for _, i := range o.source.Plan.Invocations {
		d, ok := o.source.Program.Resource(i.Action.Resource())
		if !ok || !i.Trigger.Requested() {
			continue
		}
		holds := []int32{o.holdFor(declared.UseOf(o.source.Program, d, i.Provider.Key))}
		o.Invoked[int32(len(o.Objects))] = i
		o.Objects = append(o.Objects, i.Action.Current())
		o.Input.Objects = append(o.Input.Objects, plan.Object{
			Group: o.gates[Place{d.ID, i.Action.Module}], Key: o.key(i.Action.Key), Current: -1, Up: true, Still: true,
			UpHolds: o.leasesFor(d.ID, i.Action.Module, i.Action.Key, holds),
		})
	}
}

// plannedTests returns the addresses of the conditions that planning evaluated, because apply evaluates them again. The
// value is true for the address of each instance whose conditions planning evaluated (of a resource, or of a variable,
// output or check in a module instance), and for the address of each resource. It is false for the address of another
// declaration. plannedTests returns nil for destroy and refresh-only plans.
func (o *Ordering) plannedTests() map[string]bool {
	if o.source.Plan.Mode != plan.Normal {
		return nil
	}
	out := map[string]bool{}
	for _, c := range o.source.Plan.Checks {
		out[c.Addr] = c.Kind == "resource" // the plan lists no objects for an ephemeral resource whose instance keys are secret
		for _, x := range c.Objects {
			out[x.Addr] = true
		}
	}
	return out
}

// opensUnreceived reports whether an apply opens the ephemeral resource d although no declaration receives its value.
// For a plan of a part of the configuration, the apply does so only if planning evaluated the resource's conditions.
func (o *Ordering) opensUnreceived(d *program.Declaration, planned map[string]bool) bool {
	whole := !o.source.Plan.Partial()
	return o.source.Plan.Mode == plan.Normal && (whole || planned[d.Resource.String()]) && o.source.Receivers.OpensItself(d, whole)
}

// addTest adds a group for the conditions of a declaration in each module instance where planning evaluated them. The
// group takes the place of the declaration's gate.
func (o *Ordering) addTest(d *program.Declaration, planned map[string]bool) {
	for _, f := range o.instances(d.Module) {
		if planned[declared.ConditionsAddr(d, f.Addr())] {
			o.testGroups[Place{d.ID, f.Addr()}] = o.addGroup(addr.AbsResource{}, plan.Group{Declared: true})
		}
	}
}

// addTests adds elements to Objects for conditions, and for ephemeral resources that apply opens although no
// declaration receives them. The steps of such elements evaluate conditions or open the resources, and change no
// object.
func (o *Ordering) addTests() {
	o.addTestObjects(o.testGroups, func(at Place) []int32 { return o.leasesFor(at.Decl, at.At, addr.NoKey, nil) })
	acting := o.acting(func(int) bool { return true })
	o.addTestObjects(o.ownGroups, func(at Place) []int32 {
		return slices.DeleteFunc(o.ownHolds(at), func(h int32) bool { return acting[h] })
	})
}

// addTestObjects adds an element to Objects for each place in tests, except for ephemeral resources that a receiver
// opens. holds returns the indexes of the holds (providers, ephemeral resources) that the step of a place uses.
func (o *Ordering) addTestObjects(tests map[Place]plan.Vertex, holds func(Place) []int32) {
	for _, at := range inOrder(tests) {
		held := holds(at)
		if _, own := o.ownGroups[at]; own && len(held) == 0 {
			continue // a receiver opens the ephemeral resource
		}
		o.Tests[int32(len(o.Objects))] = at
		o.Objects = append(o.Objects, addr.Object{})
		o.Input.Objects = append(o.Input.Objects, plan.Object{
			Group: tests[at], Key: o.key(addr.NoKey), Current: -1, Up: true, Still: true, UpHolds: held,
		})
	}
}

// addObjects adds the objects of the refreshed state and the objects that the plan creates or imports.
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
			index[c.Object] = o.object(c.Object, c.Entry, c) // adds objects that are not in the state, which the plan creates or imports
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
		Existed: e != nil || c != nil && c.Why == plan.ReadNotStored, CreateFirst: e != nil && e.CreateFirst && (c == nil || c.Action != plan.Forget), // forgetting destroys no object, so create_before_destroy does not matter
	}
	if h, ok := o.hold(obj, e, c); ok {
		x.UpHolds = o.alone(h)
		x.DownHolds = x.UpHolds
		if e != nil && c != nil && e.Provider.Key != c.Provider.Key && fits(o.source.Program, o.source.Receivers, obj, e) { // the provider instance in the state destroys the object
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
		x.Down = c.Action.Downs() && c.Action != plan.ForgetCreate && c.Deferral == nil // the step that creates the new object also forgets the old object
		x.Provisioners = o.provisioners(c, e)
	}
	o.Objects = append(o.Objects, obj)
	o.Input.Objects = append(o.Input.Objects, x)
	return int32(len(o.Objects) - 1)
}

// fits reports whether the provider instance in the state entry e destroys the object obj. This is so if the provider
// block of the object may still have this instance.
func fits(prog *program.Program, refs *receivers.Analysis, obj addr.Object, e *state.Entry) bool {
	d, ok := prog.Resource(obj.Resource())
	if !ok || declared.Fits(prog, d, e.Provider) {
		return true
	}
	if _, former := declared.FormerUse(prog, refs.FromResources, d, e.Provider); former {
		return false
	}
	return declared.MayHave(prog, d, e.Provider.Key) && !declared.Early(prog, refs.Steady, d)
}

// provisioners returns the provisioners and the invocations of actions around the creation, update or destruction of an
// object. Each element is a list of indexes of holds: the providers and ephemeral resources that it uses. e is the
// state entry. provisioners returns nil if the object has no provisioners and the plan invokes no action.
func (o *Ordering) provisioners(c *plan.Change, e *state.Entry) *plan.Provisioners {
	up, down := declared.ProvisionersOf(o.source.Program, o.source.Removals, c, e, false), declared.ProvisionersOf(o.source.Program, o.source.Removals, c, e, true)
	if o.source.Plan.SkipDeposed && declared.Deposes(c) || c.Deferral != nil {
		down = declared.Provisioners{}
	}
	if len(up.List) == 0 && len(down.List) == 0 && len(o.source.Plan.Invocations) == 0 {
		return nil
	}
	out := &plan.Provisioners{After: o.provisionerHolds(up, c.Object.Key), Before: o.provisionerHolds(down, c.Object.Key)}
	if len(o.source.Plan.Invocations) > 0 {
		out.BeforeUp, out.AfterUp = o.invocations(c, filling.Around(c.Action, true)[0]), o.invocations(c, filling.Around(c.Action, true)[1])
		out.BeforeDown, out.AfterDown = o.invocations(c, filling.Around(c.Action, false)[0]), o.invocations(c, filling.Around(c.Action, false)[1])
	}
	return out
}

// addDeclared adds the references in the configuration to Input.Declared, from every declaration in every module
// instance.
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

// eachProviderRef visits the references in the settings of a resource's provider, and of the providers of the ephemeral
// resources that the resource uses. create_before_destroy of the resource applies to the targets of these references,
// too. plan.Order finds the targets through the holds of objects. For a resource without objects, which has no holds,
// the caller adds them as edges.
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

// addRecorded adds the dependencies that the state records. A recorded dependency names a resource without its module
// instance. If the state has the resource in several module instances, the dependency means the instances nearest to
// the object.
func (o *Ordering) addRecorded() {
	var seen []plan.Vertex // by target: one plus the last group that referred to the target; the objects of a group are consecutive
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

// near returns the vertex for the resource dep, on which an object depends according to the state. The parameter from
// is the module instance of the object. If several module instances match, the vertex is a gate (a node without work)
// for all of them. near returns false if the state has no object of the resource.
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

// storedAs returns the addresses of a resource in all module instances of the state.
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
