package plan

import "github.com/lethe-iac/lethe/internal/walk"

// node is a step or a gate (a node without work) while the graph is built. emit makes a Step of it.
type node struct {
	kind  Kind
	face  Face
	part  uint16
	lazy  bool
	index int32
}

// id is the number of a node plus one. Zero means that the node does not exist.
type id int32

// edge orders two nodes: the node in the field to comes after the node in the field from.
type edge struct{ from, to arc }

// arc is one end of an edge. The lowest bit is set if the edge is a need; the other bits are the node's number.
type arc uint32

func (a arc) node() int32 { return int32(a >> 1) }

func (a arc) needs() bool { return a&1 != 0 }

// role is the purpose of a gate (a node without work, which saves edges) that belongs to a vertex. A vertex is a group
// (a resource in one module instance), or itself a gate: a local, a variable or an output, or a resource in all its
// module instances. A down is destroy-first (before the ups) or create-first (after them). An up creates, updates or
// reads an object, and a down destroys or forgets it (see order.go). A vertex that is itself a gate has one node for
// upIn and upOut, and one node for downIn and downOut.
type role uint8

const (
	upIn       role = iota // before the ups of the vertex
	upOut                  // after the ups of the vertex
	downIn                 // before the downs of the vertex
	downOut                // after the downs of the vertex
	emptied                // after the destroy-first downs of the vertex; for a gate: of the vertices to which it refers
	drained                // after the destroy-first downs of all dependents in the state
	passed                 // only for a local, variable or output: after the destroy-first downs of the vertices that refer to it
	cleared                // before the ups of the vertex that have work
	used                   // after the ups of the vertices that depend on the vertex
	lastIn                 // before the create-first downs of the vertex
	closedUp               // before the ups of the vertex, after the destroy-first downs that use a hold with prior settings from its values
	closedDown             // before the downs of the vertex, after all downs that use a hold with prior settings from its values
	roles
)

// graph holds the steps of a plan and the edges between them. The functions in rules.go and sessions.go add nodes and
// edges, and the functions in emit.go sort them.
type graph struct {
	nodes []node
	edges []edge
	soft  []edge // edges that are dropped if they are on a cycle: from steps that use a hold with its prior settings to the objects of these settings

	out, in walk.Rows[arc] // successors and predecessors by node; set by link
	order   []int32        // nodes in topological order; set by sort, without nodes on or after cycles
}

// building applies the rules to the groups, objects and holds (provider instances and ephemeral resources) of one plan,
// and adds their nodes and edges to the graph. It records which gates and steps belong to which vertex, object and
// hold.
type building struct {
	*problem
	firsts
	graph    graph
	vertex   [roles][]id  // by role and vertex: the gate
	hold     [2][]id      // by role (closedUp, closedDown) and hold: the gate of the method closed
	sources  []id         // by hold: the gate after the ups of the objects to which its settings refer
	users    []id         // by hold: the gate after the ups that use the hold
	sessions [2][]session // sessions (opened holds), by face (prior or planned settings) and hold
	lasting  []bool       // by hold: a create-first down uses the session with the prior settings, so this session stays open during the ups
	objs     []ends       // the first and last nodes of an object, by object
	todo     []work       // by group: the kinds of work of the objects in the group; all is the union of these kinds
	all      work
}

// ends are the first and the last step of an object's up and of its down. An id is 0 if there is no work.
type ends struct{ up, upLast, down, downLast id }

// session has two nodes: the start (up) and the end (down) of a session of a hold, during which a provider is
// configured or an ephemeral resource is open. The ids are 0 until the nodes are created.
type session struct{ up, down id }

func (g *graph) add(n node) id {
	g.nodes = append(g.nodes, n)
	return id(len(g.nodes))
}

// gate returns the gate of the vertex v for the role r. The first call creates the gate.
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

// has reports whether gate has created the gate of v for the role r.
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
