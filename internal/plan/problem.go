package plan

import (
	"cmp"
	"slices"
	"sort"

	"github.com/lethe-iac/lethe/internal/walk"
)

// Vertex is a node of the dependency graphs: an index into Input.Groups or, from len(Groups) up, a gate.
type Vertex = int32

// Input is the input of Order. It has no addresses, only numbers that the caller chose.
type Input struct {
	Groups []Group
	// Gates is the number of vertices besides the groups. A gate turns n×m edges into n+m. Among the declared edges,
	// gates are value declarations (locals, outputs, variables); among the recorded edges they are resources in all
	// their module instances. Each gate is in one of the two sets.
	Gates    int
	Objects  []Object
	Declared []Edge
	Recorded []Edge // At is ignored
	Holds    []Hold
	Destroy  bool // all steps use the prior values, as in a plan that destroys everything

	// Name, if set, names objects and holds for String.
	Name func(hold bool, index int32) string
}

// Group is a resource in one module instance: the set of its objects there.
type Group struct {
	Declared    bool // the configuration declares the resource
	CreateFirst bool // the declaration sets create_before_destroy
	Reads       bool // the group is a data source, so its ups change nothing outside
	Last        bool // its ups come after all changes: data sources in checks, which must see the new objects
}

// Object is one object of a group.
type Object struct {
	Group Vertex
	Key   int32 // the instance key, a number of 0 or more; equal keys of different groups have equal numbers

	Deposed bool
	Current int32 // only for a deposed object: the current object of the instance, or -1

	Existed     bool // the object is in the state, or for a data source: it has a before value; always true for deposed objects
	CreateFirst bool // as stored in the state; used if the object goes down without an up

	Up    bool // bringing it up needs work: a create, update or read, or only a change of the state
	Still bool // this work has no visible effect
	Down  bool // taking it down needs work: a destroy or forget

	// UpHolds and DownHolds are the holds that the object works through: its provider, and the ephemeral resources
	// whose values it receives. They are set even if there is no work, because create-first spreads through them. Lists
	// may share memory.
	UpHolds, DownHolds []int32

	Provisioners *Provisioners
}

// Provisioners are separate steps, in order: After run between the object's up and its dependents, Before run before its
// down. Each step is the list of holds that it works through.
//
// The other lists are the invocations of actions: around the up with its provisioners, and around the down with its
// provisioners.
type Provisioners struct {
	After, Before                            [][]int32
	BeforeUp, AfterUp, BeforeDown, AfterDown [][]int32
}

// Ups returns all steps around the up.
func (p *Provisioners) Ups() [][]int32 { return slices.Concat(p.BeforeUp, p.After, p.AfterUp) }

// Downs returns all steps around the down.
func (p *Provisioners) Downs() [][]int32 { return slices.Concat(p.BeforeDown, p.Before, p.AfterDown) }

// Edge is a reference from one vertex to another.
type Edge struct {
	From, To Vertex
	At       At // which instances of To
}

// At selects the instances of a group that a reference means.
type At int32

// The references to all instances, and to the instance with the same key.
const (
	All  At = 0
	Same At = -1
)

// Only returns the reference to the instance with the key.
func Only(key int32) At { return At(key) + 1 }

// Hold is a provider instance or an ephemeral resource. A step works through it while it is open.
type Hold struct {
	Settings []Ref   // the references in its settings
	Over     []int32 // holds that it works through, or whose values its settings contain

	NoBefore bool // its prior settings are not known, for a reason that is not visible in the input
}

// Ref is a reference in the settings of a hold. A hold has no key, so Same means All here, as in edges from gates.
type Ref struct {
	To Vertex
	At At
}

// facts are the effects of a plan on a value, or on the settings of a hold.
type facts uint8

// problem is an Input with indexes, and with the facts computed so far.
type problem struct {
	*Input
	vertices           int
	declared, recorded walk.Rows[Edge]
	cyclic             [][]Vertex
	members            walk.Rows[int32] // the objects of each group, sorted by key, the current object of each first
	facts              []facts          // by vertex, once known
	held               []facts          // by hold, once known
}

// work records which kinds of steps have work: ups, destroy-first downs and create-first downs.
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

// named returns the objects of a reference to one key.
func (p *problem) named(r Ref) []int32 { return p.at(r.To, int32(r.At)-1) }

// whole reports whether a reference from a vertex without a key means the whole vertex.
func (p *problem) whole(r Ref) bool { return r.At <= All || p.isGate(r.To) }

// adjacent groups edges by their sources.
func adjacent(vertices int, edges []Edge) walk.Rows[Edge] {
	return walk.Sorted(vertices, edges, func(e Edge) int32 { return e.From }, func(e Edge) Edge { return e })
}

// breakCycles removes the edges inside strongly connected components. It returns the remaining edges, and the vertices of
// each component that had such edges.
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

// searchKey returns the index in among of the first object whose key is not below key, or len(among) if all are below.
func searchKey(objects []Object, among []int32, key int32) int {
	return sort.Search(len(among), func(i int) bool { return objects[among[i]].Key >= key })
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}
