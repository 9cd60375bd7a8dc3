package plan

import "github.com/lethe-iac/lethe/internal/walk"

// How steps are ordered
//
// Every object that exists has a down, every declared instance an up; those without work only
// pass the order on. An object refers to others in two ways, by the configuration (declared) and
// as the state remembers it (recorded). With these two sets, and z, w, x, d for objects:
//
//	1. +d before +x            for declared x → d
//	2. -x before -d            for recorded x → d
//	3. -z before +w            for w = z and its neighbours in either set,
//	   or, if z is create-first, +w before -z
//	4. +x after all other ups and destroy-first downs, if x comes last
//
// What is declared create-first makes create-first what it depends on as declared. A create-first
// down makes create-first the downs of what its object depends on as recorded, and of what the
// settings of the holds that it goes through are made from. So what is destroyed and depended on a
// destroy-first object is destroy-first itself, and this order satisfies all rules: the
// destroy-first downs, in recorded order; the ups, in declared order; the create-first downs, in
// recorded order. Hence there is no cycle, for any configuration and state. (Recorded sets that are cyclic in themselves come from edited
// states; they lose the edges inside the component.)
//
// Holds, that is provider instances and ephemeral resources, are up while a step works through
// them: one session, or two when something that their settings are made from changes. A before
// session serves refreshes, destroy-first downs, and create-first downs if something that its
// settings are made from goes down; an after session the rest. What the settings are made from
// comes up before the after session opens; it comes up only when the destroy-first downs through
// the before session are over, and goes down only when all of them are. That last edge is the one
// that recorded dependencies can contradict: then they win. Where the settings before are not
// known, downs use the after session; if that closes a cycle, these objects are create-first.
//
// Edges do not run between objects but through gates of their groups, so that a thousand instances
// which refer to a thousand others are two thousand edges. In the rules for groups (rules.go),
// gates without work before or after them are left out again (emit.go). Everything is linear in
// objects, edges and uses of holds.

// Vertex is a place in the dependency graphs: an index into Input.Groups or, from len(Groups) on,
// a gate.
type Vertex = int32

// Input is what Order works on. It knows no addresses, only numbers that the caller gave.
type Input struct {
	Groups []Group
	// Gates is the number of vertices beyond the groups: value declarations (locals, outputs,
	// variables) among the declared edges, resources in all their module instances among the
	// recorded ones, or what else turns n×m edges into n+m. One gate is in one of the two.
	Gates    int
	Objects  []Object
	Declared []Edge
	Recorded []Edge // At is not looked at
	Holds    []Hold
	Destroy  bool // everything is served by what is there: frames have only a before face

	// Name, if set, names objects and holds for String.
	Name func(hold bool, index int32) string
}

// Group is a resource in one module instance: the set of its objects there.
type Group struct {
	Declared    bool // the configuration declares the resource
	CreateFirst bool // and declares it create_before_destroy
	Last        bool // its ups come after all others: data of a check, which are to see what was done
}

// Object is one object of a group.
type Object struct {
	Group Vertex
	Key   int32 // the instance key, numbered so that equal keys of different groups are equal; 0 or more

	Deposed bool
	Current int32 // of a deposed object: the current object of the instance, or -1

	Existed     bool // is in the state (data: has a before value); deposed objects always are
	CreateFirst bool // as stored; looked at where it goes and does not come again

	Up    bool // there is work to bring it up: create, update, read, or merely to record something
	Still bool // that work changes nothing that others could see
	Down  bool // there is work to take it down: destroy or forget

	// The holds through which it works: the provider, and what it receives values of. They are
	// given whether or not there is work, because create-first spreads through them. Lists may
	// share memory.
	UpHolds, DownHolds []int32

	Provisioners *Provisioners
}

// Provisioners are the steps of their own between an object's up and what follows, or before its
// down, in order. Each is the list of holds it works through.
type Provisioners struct{ After, Before [][]int32 }

// Edge says that From refers to To.
type Edge struct {
	From, To Vertex
	At       At // which instances of To
}

// At narrows a reference to a group down to instances of it.
type At int32

// The references: to all instances, or to the one with the same key.
const (
	All  At = 0
	Same At = -1
)

// Only is a reference to the one instance with that key.
func Only(key int32) At { return At(key) + 1 }

// Hold is a provider instance or an ephemeral resource.
type Hold struct {
	Settings []Ref   // what its settings refer to
	Over     []int32 // holds it works through, or whose values its settings receive

	NoBefore bool // its settings before are not known, for a reason that cannot be seen here
}

// Ref is a vertex as a hold's settings refer to it. A hold has no key, so Same means All here, as
// it does in edges from gates.
type Ref struct {
	To Vertex
	At At
}

// Order finds the steps and their order. It is pure: equal inputs give equal steps.
func Order(in *Input) *Steps {
	p := newProblem(in)
	s := &Steps{Cyclic: p.cyclic, name: in.Name}
	first := p.spread(nil)
	g := p.build(first)
	if !g.acyclic() && !g.harden() {
		if fresh := p.freshDowns(); fresh != nil {
			first = p.spread(fresh)
			g = p.build(first)
			_ = g.acyclic() || g.harden()
		}
	}
	s.First, s.FirstFor, s.CreateFirst = first.object, first.cause, first.group
	g.emit(s)
	return s
}

// CreateFirst is Steps.CreateFirst of the steps of in, for where nothing else of them is needed.
func CreateFirst(in *Input) []bool { return newProblem(in).spread(nil).group }

// problem is an input prepared.
type problem struct {
	*Input
	vertices           int
	declared, recorded walk.Rows[Edge]
	cyclic             [][]Vertex
	members            walk.Rows[int32] // the objects of each group, sorted by key, the current object of each first
	facts              []facts          // by vertex, once known
	held               []facts          // by hold, once known
}

// work is what there is to do.
type work struct{ up, early, late bool }

func (w work) down() bool { return w.early || w.late }

func newProblem(in *Input) *problem {
	p := &problem{Input: in, vertices: len(in.Groups) + in.Gates}
	p.declared = adjacent(p.vertices, in.Declared)
	p.recorded, p.cyclic = breakCycles(adjacent(p.vertices, in.Recorded))
	p.sortMembers()
	p.facts = make([]facts, p.vertices)
	p.held = make([]facts, len(in.Holds))
	return p
}

func (p *problem) isGate(v Vertex) bool { return int(v) >= len(p.Groups) }

func (p *problem) objects(g Vertex) []int32 { return p.members.Of(g) }

// at lists the objects of a group that have the key.
func (p *problem) at(g Vertex, key int32) []int32 {
	all := p.objects(g)
	lo := searchKey(p.Objects, all, key)
	return all[lo : lo+searchKey(p.Objects, all[lo:], key+1)]
}

// named lists the objects that a reference to certain instances means.
func (p *problem) named(r Ref) []int32 { return p.at(r.To, int32(r.At)-1) }

// whole reports whether a reference from something without an instance key is to all of a vertex.
func (p *problem) whole(r Ref) bool { return r.At <= All || p.isGate(r.To) }
