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

// Ordering is the input of plan.Order for a plan, with the meanings of its indexes.
type Ordering struct {
	Input   plan.Input
	Objects []addr.Object              // by index of Input.Objects; the zero Object for conditions
	Tests   map[int32]Place            // conditions, and ephemeral resources that open themselves, by index of Input.Objects
	Invoked map[int32]*plan.Invocation // invocations with -invoke, by index of Input.Objects
	Groups  []addr.AbsResource         // by index of Input.Groups; zero for conditions
	Holds   []Hold                     // by index of Input.Holds

	source     Source
	groupOf    map[addr.AbsResource]plan.Vertex
	testGroups map[Place]plan.Vertex
	ownGroups  map[Place]plan.Vertex // ephemeral resources opened without a receiver
	gates      map[Place]plan.Vertex
	nearby     map[relative]plan.Vertex // recorded dependencies on a resource, seen from a module instance
	keys       map[addr.Key]int32
	holdOf     map[addr.ProviderInstance]int32
	leaseOf    map[leasePlace]int32
	through    map[program.Decl][]int32 // by provider configuration with several instances: the leases that one of these may open
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

// Source holds the inputs of an ordering.
type Source struct {
	Program   *program.Program
	Frame     *frame.Frame // must have the keys of all instances; its values are not used
	Receivers *receivers.Analysis
	Removals  *declared.Removals
	Plan      *plan.Plan
}

// Hold is a provider instance, or an ephemeral resource in one module instance. The walk brings it up (configures the
// provider, opens the lease) before the first step that uses it, and down after the last.
type Hold struct {
	Use   declared.Use
	Lease *program.Declaration // set for an ephemeral resource; Use is zero then
	At    addr.ModuleInstance
	One   bool     // true: the hold is only the instance with the key Key; false: all instances
	Key   addr.Key // see One

	InChecks bool // only check blocks use the hold, so a failure to bring it up is a warning
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

// inOrder returns the places in the order of their vertexes.
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

// instances returns the frames of all instances of module m. A frame has the values of one module instance. The
// instances are the prior ones (before face) for a destroy plan, and the planned ones (after face) otherwise.
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
// means all module instances, because create-first spreads to all of them. If narrow is true and the reference names a
// constant key, it means only the module instance with this key.
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

// meant visits the instances of module m to which a declaration in the module instance from can refer. If an instance
// of m contains from, this is that instance. Otherwise it is each instance below the nearest common ancestor. For
// example, an argument of a module call is a declaration of the called module, and may refer to an output of another
// module that the same parent calls.
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

// hint returns the instances of a resource that a reference means. For other declarations it returns plan.All, because
// a key in such a reference is the key of a module instance.
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

// vertex returns the group or gate of a declaration in a module instance. An ephemeral resource is a gate: it has no
// step there, and only connects its dependents with its dependencies.
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
