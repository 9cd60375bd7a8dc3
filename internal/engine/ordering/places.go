package ordering

import (
	"maps"
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/engine/declared"
	"github.com/lethe-iac/lethe/internal/engine/receivers"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/plan"
)

// Ordering is the input of plan.Order for one plan, with the meanings of the indexes in it. plan.Order computes the
// steps of an apply. A gate is a node without work. A hold is a provider instance or an ephemeral resource, which is
// open while steps use it.
type Ordering struct {
	Input   plan.Input
	Objects []addr.Object              // by index of Input.Objects; for an index in Tests: the zero Object; for an index in Invoked: the action
	Tests   map[int32]Place            // conditions, and ephemeral resources that no declaration receives, by index of Input.Objects
	Invoked map[int32]*plan.Invocation // invocations with -invoke, by index of Input.Objects
	Groups  []addr.AbsResource         // by index of Input.Groups; zero for conditions and for ephemeral resources; the address of the action for an action that the user invokes
	Holds   []Hold                     // the places of holds, by their index in Input.Holds

	source     Source
	groupOf    map[addr.AbsResource]plan.Vertex     // the groups of managed resources and data sources
	testGroups map[Place]plan.Vertex                // the groups of variables, outputs and checks whose conditions the apply evaluates
	ownGroups  map[Place]plan.Vertex                // the groups of ephemeral resources that are opened although no declaration receives them
	gates      map[Place]plan.Vertex                // the gates of declarations without a group; for an action that the user invokes: its group
	nearby     map[relative]plan.Vertex             // the results of near: the vertex of a dependency in the state; -1 if the state has no object of it
	keys       map[addr.Key]int32                   // the number of each instance key (Object.Key)
	holdOf     map[addr.ProviderInstance]int32      // the holds of provider instances, by index of Holds
	leaseOf    map[leasePlace]int32                 // the holds of ephemeral resources, by index of Holds
	through    map[program.Decl][]int32             // by provider configuration with for_each: the holds of the ephemeral resources that one of its instances opens
	frames     map[addr.Module][]*frame.Frame       // the results of the method instances
	below      map[placeModule][]*frame.Frame       // the results of the method under
	stored     map[addr.Resource][]addr.AbsResource // the results of the method storedAs; nil before its first call
	single     [][]int32                            // the results of the method alone, by hold
}

// Place is a declaration in one module instance.
type Place struct {
	Decl program.Decl
	At   addr.ModuleInstance
}

// placeModule selects instances of a module: the module instance in the field under, or those below it.
type placeModule struct {
	module addr.Module
	under  addr.ModuleInstance
}

// relative selects the instances of the resource res in and below one module instance, which is in the field under.
// This is the nearest module instance around a dependent object that also contains instances of res.
type relative struct {
	res   addr.Resource
	under addr.ModuleInstance
}

// Source holds the inputs of New.
type Source struct {
	Program   *program.Program
	Frame     *frame.Frame // a frame that has the instance keys of all resources and modules; values in the frame are not used
	Receivers *receivers.Analysis
	Removals  *declared.Removals
	Plan      *plan.Plan
}

// Hold is a provider instance, or an ephemeral resource in one module instance. An apply configures the provider or
// opens the resource before the first step that uses it, and stops or closes it after the last.
type Hold struct {
	Use   declared.Use
	Lease *program.Declaration // set for an ephemeral resource; Use is zero then
	At    addr.ModuleInstance
	One   bool     // true: the hold is only the instance of Lease with the key Key; false: all instances of Lease in At
	Key   addr.Key // the key of the instance if One is true

	InChecks bool // only check blocks use the hold, so a failure to configure or open it is a warning
}

// Keys returns the instance keys of an ephemeral resource that belong to the hold. nil means all.
func (h Hold) Keys() []addr.Key {
	if h.One {
		return []addr.Key{h.Key}
	}
	return nil
}

// leasePlace is an ephemeral resource in a module instance, or one instance of it.
type leasePlace struct {
	Place
	one bool
	key addr.Key
}

// inOrder returns the keys of tests in the order of their vertexes.
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

// instances returns the frames of all instances of module m. A frame has the values of one module instance. For a
// destroy plan, these are the instances in the prior state (before face). For other plans, these are the planned
// instances (after face).
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

// under returns the frames of the instances of module m that are below the module instance top.
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

// key returns a number for an instance key, always the same for the same key.
func (o *Ordering) key(k addr.Key) int32 {
	n, ok := o.keys[k]
	if !ok {
		n = int32(len(o.keys))
		o.keys[k] = n
	}
	return n
}

// eachRef visits the references of a declaration in one module instance. A reference to an output of a repeated module
// means all module instances, because create_before_destroy applies to all of them. If narrow is true and the reference
// names a constant key, eachRef visits only the module instance with this key.
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

// meant visits the instances of module m to which a declaration in another module instance can refer. If an instance of
// m contains that module instance, meant visits only this instance of m. Otherwise it visits each instance of m below
// the nearest common ancestor. For example, an argument of a module call is a declaration of the called module, and may
// refer to an output of another module that the same parent calls.
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

// hint returns which instances of a resource the reference ref selects. For other declarations it returns plan.All,
// because a key in such a reference is the key of a module instance.
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

// vertex returns the group or the gate of a declaration in a module instance. An ephemeral resource is a gate, which
// connects its dependents with its dependencies. The steps that open and close the resource belong to its hold.
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
