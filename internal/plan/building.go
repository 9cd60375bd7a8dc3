package plan

import "github.com/lethe-iac/lethe/internal/walk"

// node is a step in the making.
type node struct {
	kind  Kind
	face  Face
	part  uint16
	late  bool
	index int32
}

// id is a node's number and one more, so that zero means none.
type id int32

// edge says that to comes after from.
type edge struct{ from, to arc }

// arc is a node, and whether it is needed.
type arc uint32

func (a arc) node() int32 { return int32(a >> 1) }

func (a arc) needs() bool { return a&1 != 0 }

// role is what a gate of a vertex stands for. Vertices that are gates have one node for upIn and
// upOut, and one for downIn and downOut.
type role uint8

const (
	upIn       role = iota // before its ups
	upOut                  // after its ups
	downIn                 // before its downs
	downOut                // after its downs
	emptied                // after its destroy-first downs; of a gate: after those of what it refers to
	drained                // after the destroy-first downs of all that depends on it in the state
	passed                 // of a value: after the destroy-first downs of what refers to it
	cleared                // before its ups that have work
	used                   // after the ups of what depends on it
	lastIn                 // before its create-first downs
	closedUp               // before its ups: destroy-first downs through before sessions made from it are over
	closedDown             // before its downs: so are all downs through them
	roles
)

// building is the graph of one plan.
type building struct {
	*problem
	firsts
	nodes    []node
	edges    []edge
	soft     []edge // from steps that work through before sessions to what these are made from; they give way
	vertex   [roles][]id
	hold     [2][]id // closedUp and closedDown of holds
	sources  []id    // by hold: after the ups that its settings are made from
	users    []id    // by hold: after the ups through it
	sessions [2][]session
	lasting  []bool // by hold: its before session also serves create-first downs
	objs     []ends
	todo     []work // by group: which of its objects have work
	all      work

	out, in walk.Rows[arc] // once the graph is complete
	order   []int32
}

// ends are the first and the last step up and down of an object; 0 where there is no work.
type ends struct{ up, upLast, down, downLast id }

type session struct{ up, down id }

func (b *building) add(n node) id {
	b.nodes = append(b.nodes, n)
	return id(len(b.nodes))
}

// gate is the gate of a vertex for a role, made when it is first asked for.
func (b *building) gate(r role, v Vertex) id {
	if b.isGate(v) && (r == upOut || r == downOut) {
		r--
	}
	if b.vertex[r] == nil {
		b.vertex[r] = make([]id, b.vertices)
	}
	if b.vertex[r][v] == 0 {
		b.vertex[r][v] = b.add(node{kind: Gate})
	}
	return b.vertex[r][v]
}

// has reports whether the gate was asked for.
func (b *building) has(r role, v Vertex) bool { return b.vertex[r] != nil && b.vertex[r][v] != 0 }

func (b *building) after(n, dep id, needs bool) edge {
	e := edge{arc(dep-1) << 1, arc(n-1) << 1}
	if needs {
		e.from |= 1
	}
	return e
}

// needs makes n come after dep, and only if that succeeded; either may be missing.
func (b *building) needs(n, dep id) {
	if n != 0 && dep != 0 {
		b.edges = append(b.edges, b.after(n, dep, true))
	}
}

// waits makes n come after dep, however that ended.
func (b *building) waits(n, dep id) {
	if n != 0 && dep != 0 {
		b.edges = append(b.edges, b.after(n, dep, false))
	}
}
