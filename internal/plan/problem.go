package plan

import (
	"cmp"
	"slices"
	"sort"

	"github.com/lethe-iac/lethe/internal/walk"
)

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
	Reads       bool // its ups change nothing outside: it is of data
	Last        bool // its ups come after all that change something: data of a check, which are to see what was done
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

// facts are what a plan does to a value, or to the settings of a hold.
type facts uint8

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

// adjacent are edges by where they come from.
func adjacent(vertices int, edges []Edge) walk.Rows[Edge] {
	return walk.Sorted(vertices, edges, func(e Edge) int32 { return e.From }, func(e Edge) Edge { return e })
}

// breakCycles removes the edges inside strongly connected components and gives the components that
// had any.
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

// sortMembers groups the objects.
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

// searchKey finds the first of the objects whose key is not below.
func searchKey(objects []Object, among []int32, key int32) int {
	return sort.Search(len(among), func(i int) bool { return objects[among[i]].Key >= key })
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}
