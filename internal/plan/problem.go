package plan

import (
	"cmp"
	"slices"
	"sort"

	"github.com/lethe-iac/lethe/internal/walk"
)

// Vertex is a node of the dependency graphs: a group (an index into Input.Groups) or, from len(Groups) up, a gate.
type Vertex = int32

// Input is the input of Order. It has no addresses, only numbers that the caller chose. The up of an object creates,
// updates or reads it. The down of an object destroys or forgets it.
type Input struct {
	Groups []Group
	// Gates is the number of vertices besides the groups. Such a vertex is called a gate. It represents n×m
	// dependencies by n+m edges. In Declared, a gate is a local, an output or a variable. In Recorded, a gate is a
	// resource in all its module instances. No gate is in both lists.
	Gates    int
	Objects  []Object
	Declared []Edge
	Recorded []Edge // references in the state; Edge.At is ignored
	Holds    []Hold
	Destroy  bool // the plan destroys everything, so all steps use the prior values

	// Name, if set, returns the name of an object or a hold for Steps.Label. index is an index in Objects or Holds.
	Name func(hold bool, index int32) string
}

// Group is a resource in one module instance: the set of its objects there.
type Group struct {
	Declared    bool // the configuration declares the resource
	CreateFirst bool // the declaration sets create_before_destroy
	Reads       bool // the group is a data source, so its ups (reads) change nothing outside
	Last        bool // the ups of the group come after all changes: the group is a data source in a check, which must see the new objects
}

// Object is one object of a group.
type Object struct {
	Group Vertex
	Key   int32 // the instance key, a number of 0 or more; equal keys of different groups have equal numbers

	Deposed bool
	Current int32 // only for a deposed object: the current object of the instance, or -1

	Existed     bool // the object is in the state, or for a data source: it has a before value; always true for deposed objects
	CreateFirst bool // create_before_destroy as the state stores it; used if the object has a down and no up

	Up    bool // the object has an up: it is created, updated or read, or only its entry in the state changes
	Still bool // the work of the up has no visible effect, for example a change of the state only
	Down  bool // the object has a down: it is destroyed or forgotten

	// UpHolds and DownHolds are the holds (indexes in Input.Holds) that must be open during the up and the down: the
	// provider of the object, and the ephemeral resources whose values it receives. They are set even if Up or Down is
	// false, because create_before_destroy also applies to the objects that configure these holds. Lists may share
	// memory.
	UpHolds, DownHolds []int32

	Provisioners *Provisioners
}

// Provisioners are the provisioners and action invocations of an object. Each element of a list is one step: the list
// of the holds that must be open during it. The provisioners After run between the up of the object and its dependents.
// The provisioners Before run before its down.
//
// The other lists are invocations of actions. BeforeUp and AfterUp run around the up with its provisioners, BeforeDown
// and AfterDown around the down with its provisioners.
type Provisioners struct {
	After, Before                            [][]int32
	BeforeUp, AfterUp, BeforeDown, AfterDown [][]int32
}

// Ups returns the steps before and after the up, in order, without the up itself.
func (p *Provisioners) Ups() [][]int32 { return slices.Concat(p.BeforeUp, p.After, p.AfterUp) }

// Downs returns the steps before and after the down, in order, without the down itself.
func (p *Provisioners) Downs() [][]int32 { return slices.Concat(p.BeforeDown, p.Before, p.AfterDown) }

// Edge is a reference from one vertex to another.
type Edge struct {
	From, To Vertex
	At       At // the instances of To to which the reference refers
}

// At selects the instances of a group that a reference means.
type At int32

// The references to all instances, and to the instance with the same key.
const (
	All  At = 0
	Same At = -1
)

// Only returns the At that selects the instance with the key.
func Only(key int32) At { return At(key) + 1 }

// Hold is a provider instance or an ephemeral resource. It is open (a configured process, or an open resource) while
// the steps that use it run.
type Hold struct {
	Settings []Ref   // the references in the settings of the hold
	Over     []int32 // indexes of other holds that must be open while this hold is open: the provider of an ephemeral resource, and ephemeral resources in the settings

	NoBefore bool // the prior settings of the hold are not known, for a reason that Settings does not show
}

// Ref is a reference in the settings of a hold. A hold has no key, so Same means All here, as in edges from gates.
type Ref struct {
	To Vertex
	At At
}

// facts are a set of bits. They describe the effects of a plan on a group, on a value, or on the settings of a hold.
type facts uint8

// problem is an Input with lists for fast access, and with the facts computed so far.
type problem struct {
	*Input
	vertices           int              // number of groups and gates
	declared, recorded walk.Rows[Edge]  // the edges of the two lists in Input, by From; recorded without the edges inside cycles
	cyclic             [][]Vertex       // the result of breakCycles for the recorded edges, which becomes Steps.Cyclic
	members            walk.Rows[int32] // the objects of each group, sorted by key, the current object of each first
	facts              []facts          // by vertex; without the bit known: not computed yet
	held               []facts          // by hold; without the bit known: not computed yet
}

// work records which kinds of steps exist: ups, downs that come before the ups (early, destroy-first), and downs that
// come after them (late, create-first).
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

// at returns the objects of a group that have the key.
func (p *problem) at(g Vertex, key int32) []int32 {
	all := p.objects(g)
	lo := searchKey(p.Objects, all, key)
	return all[lo : lo+searchKey(p.Objects, all[lo:], key+1)]
}

// named returns the objects to which the reference r refers, if r names one key (Only).
func (p *problem) named(r Ref) []int32 { return p.at(r.To, int32(r.At)-1) }

// whole reports whether a reference from a vertex without a key means the whole vertex.
func (p *problem) whole(r Ref) bool { return r.At <= All || p.isGate(r.To) }

// adjacent groups edges by their sources.
func adjacent(vertices int, edges []Edge) walk.Rows[Edge] {
	return walk.Sorted(vertices, edges, func(e Edge) int32 { return e.From }, func(e Edge) Edge { return e })
}

// breakCycles removes the edges that are on cycles (inside a strongly connected component). It returns the remaining
// edges, and for each such component the vertices of its removed edges.
func breakCycles(a walk.Rows[Edge]) (walk.Rows[Edge], [][]Vertex) {
	if len(a.All()) == 0 {
		return a, nil
	}
	n := a.Len()
	comp, _ := walk.Components(n, a.Of, func(e Edge) int32 { return e.To })
	cyclic := map[int32][]Vertex{}
	for _, e := range a.All() {
		if comp[e.From] == comp[e.To] {
			cyclic[comp[e.From]] = append(cyclic[comp[e.From]], e.From, e.To)
		}
	}
	if len(cyclic) == 0 {
		return a, nil
	}
	a = adjacent(n, slices.DeleteFunc(a.All(), func(e Edge) bool { return comp[e.From] == comp[e.To] }))
	var out [][]Vertex
	for _, vs := range cyclic {
		slices.Sort(vs)
		out = append(out, slices.Compact(vs))
	}
	slices.SortFunc(out, func(x, y []Vertex) int { return cmp.Compare(x[0], y[0]) })
	return a, out
}

// sortMembers groups the objects, and sorts each group by key, with the current object of each key first.
func (p *problem) sortMembers() {
	all := make([]int32, len(p.Objects))
	for i := range all {
		all[i] = int32(i)
	}
	p.members = walk.Sorted(len(p.Groups), all, func(i int32) int32 { return p.Objects[i].Group }, func(i int32) int32 { return i })
	less := func(a, b int32) int {
		x, y := &p.Objects[a], &p.Objects[b]
		if x.Deposed != y.Deposed && x.Key == y.Key {
			return cmp.Compare(bit(x.Deposed), bit(y.Deposed))
		}
		return cmp.Compare(x.Key, y.Key)
	}
	for g := range p.Groups {
		if m := p.objects(Vertex(g)); !slices.IsSortedFunc(m, less) {
			slices.SortStableFunc(m, less)
		}
	}
}

// searchKey returns the index in among of the first object whose key is not below key, or len(among) if all keys are
// below it.
func searchKey(objects []Object, among []int32, key int32) int {
	return sort.Search(len(among), func(i int) bool { return objects[among[i]].Key >= key })
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}
