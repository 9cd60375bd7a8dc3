package plan

import "github.com/lethe-iac/lethe/internal/walk"

// node is a step or a gate while the graph is built.
type node struct {
	kind  Kind
	face  Face
	part  uint16
	lazy  bool
	index int32
}

// id is the number of a node plus one. Zero means that the node does not exist.
type id int32

// edge orders two nodes: to comes after from.
type edge struct{ from, to arc }

// arc is one end of an edge. The lowest bit is set if the edge is a need; the other bits are the node's number.
type arc uint32

func (a arc) node() int32 { return int32(a >> 1) }

func (a arc) needs() bool { return a&1 != 0 }

// role is the purpose of a gate (a node without work, which saves edges) that belongs to a vertex. A vertex is a
// resource in one module instance, or a value. An up creates, updates or reads an object, and a down destroys or
// forgets it (see order.go). A vertex that is itself a gate has one node for upIn and upOut, and one node for downIn
// and downOut.
type role uint8

const (
	upIn       role = iota // before its ups
	upOut                  // after its ups
	downIn                 // before its downs
	downOut                // after its downs
	emptied                // after its destroy-first downs; of a gate: after the destroy-first downs of the vertices that it refers to
	drained                // after the destroy-first downs of all dependents in the state
	passed                 // only for a value: after the destroy-first downs of the vertices that refer to it
	cleared                // before its ups that have work
	used                   // after the ups of its dependents
	lastIn                 // before its create-first downs
	closedUp               // before its ups: after the destroy-first downs through the before sessions that its values configure
	closedDown             // before its downs: after all downs through these sessions
	roles
)

// graph holds the steps of a plan and the edges between them. The rules add nodes and edges; emit.go sorts them.
type graph struct {
	nodes []node
	edges []edge
	soft  []edge // from steps that use before sessions to the sources of their settings; dropped on cycles

	out, in walk.Rows[arc] // by node, after link
	order   []int32        // topological, after sort; nodes on cycles are missing
}

// building applies the rules to the groups, objects and holds (provider instances and ephemeral resources) of one plan,
// and adds their nodes and edges to the graph. It records which gates and steps belong to which vertex, object and
// hold.
type building struct {
	*problem
	firsts
	graph    graph
	vertex   [roles][]id  // by role and vertex: the gate
	hold     [2][]id      // closedUp and closedDown of holds
	sources  []id         // by hold: after the ups of the objects that its settings refer to
	users    []id         // by hold: after the ups through it
	sessions [2][]session // by face and hold
	lasting  []bool       // by hold: its before session also serves create-first downs
	objs     []ends       // by object
	todo     []work       // by group: the kinds of work that its objects have; all is their union
	all      work
}

// ends are the first and the last step of an object's up and of its down. An id is 0 if there is no work.
type ends struct{ up, upLast, down, downLast id }

// session has the begin and the end of a session of a hold. The ids are 0 until the session is created.
type session struct{ up, down id }

func (g *graph) add(n node) id {
	g.nodes = append(g.nodes, n)
	return id(len(g.nodes))
}

// gate returns the gate of a vertex for a role. The first call creates it.
func (b *building) gate(r role, v Vertex) id {
	if b.isGate(v) && (r == upOut || r == downOut) {
		r--
	}
	if b.vertex[r] == nil {
		b.vertex[r] = make([]id, b.vertices)
	}
	if b.vertex[r][v] == 0 {
		b.vertex[r][v] = b.graph.add(node{kind: Gate})
	}
	return b.vertex[r][v]
}

// has reports whether the gate exists.
func (b *building) has(r role, v Vertex) bool { return b.vertex[r] != nil && b.vertex[r][v] != 0 }

func (g *graph) after(n, dep id, needs bool) edge {
	e := edge{arc(dep-1) << 1, arc(n-1) << 1}
	if needs {
		e.from |= 1
	}
	return e
}

// needs makes n run after dep, and only if dep succeeded. It does nothing if n or dep is 0.
func (g *graph) needs(n, dep id) {
	if n != 0 && dep != 0 {
		g.edges = append(g.edges, g.after(n, dep, true))
	}
}

// waits makes n run after dep, whether or not dep succeeded. It does nothing if n or dep is 0.
func (g *graph) waits(n, dep id) {
	if n != 0 && dep != 0 {
		g.edges = append(g.edges, g.after(n, dep, false))
	}
}
