// Package walk runs the nodes of a dependency graph concurrently.
//
// The package is independent of the work of the nodes. A Graph is a list of nodes with their predecessors. Run visits
// every node once, on a fixed number of workers, and returns the outcome of each. The implementation is simple on
// purpose: it has counters per node, one mutex, a ready list in a fixed order, and no goroutine per node.
//
// There are two relations between nodes. If a node Needs another, it runs after the other, and only if the other
// succeeded; otherwise it is skipped, and so are the nodes that need it. If a node Waits for another, it runs after the
// other has ended, with any outcome.
//
// Two kinds of nodes serve resources that are open for some time (leases, configured providers):
//
//   - A lazy node runs only when a node that needs it waits for nothing else, apart from lazy nodes in the same
//     position. It does not run if no such node remains. So nothing is opened before its first user is ready (invariant
//     I7).
//   - A Closer runs even after failures and cancellation (I8), before all other ready nodes. It is skipped only if it
//     has predecessors and none of them was started: then there is nothing to close.
//
// Ready nodes run in this order: closers first, in the order of their addition; then the other nodes by the longest
// chain of nodes that follow (without gates and lazy nodes), with lazy nodes after others of the same length, and then
// in the order of addition. With one worker a run is deterministic.
//
// A visit may run several jobs (see Fan). The node ends when the last job ends. Tokens limit the number of calls, which
// may be lower than the number of workers; no job waits while it holds a token.
package walk

import (
	"context"
	"slices"
)

// Node is the index of a node in its graph: 0, 1, 2 and so on.
type Node uint32

// Options are the traits of a node.
type Options struct {
	Lazy   bool // runs only when a node that needs it waits for nothing else
	Closer bool // runs even after failures, before all other ready nodes
}

// Graph is a set of nodes with their order. The zero value is empty. A graph may be run more than once. It must not be
// changed during a run.
type Graph struct {
	traits []traits
	edges  []edge
}

type traits uint8

const (
	lazy traits = 1 << iota
	closer
	gate
)

// edge orders two nodes: n runs after the node of the arc after.
type edge struct {
	n     Node
	after arc
}

// arc is a node at one end of an edge. The lowest bit is set if the edge was made by Needs. The other bits are the
// index of the node.
type arc uint32

func makeArc(n Node, needs bool) arc {
	if needs {
		return arc(n)<<1 | 1
	}
	return arc(n) << 1
}

func (a arc) node() Node  { return Node(a >> 1) }
func (a arc) to() int32   { return int32(a >> 1) }
func (a arc) needs() bool { return a&1 != 0 }

// Add adds a node.
func (g *Graph) Add(o Options) Node { return g.add(o, 0) }

// Gate adds a node without work. It is not visited, and it succeeds if the nodes that it needs succeed. If n nodes must
// precede m other nodes, a gate between them needs n+m edges instead of n×m.
func (g *Graph) Gate(o Options) Node { return g.add(o, gate) }

func (g *Graph) add(o Options, t traits) Node {
	if o.Lazy {
		t |= lazy
	}
	if o.Closer {
		t |= closer
	}
	g.traits = append(g.traits, t)
	return Node(len(g.traits) - 1)
}

// Reserve allocates memory for this number of nodes and edges in total.
func (g *Graph) Reserve(nodes, edges int) {
	g.traits = slices.Grow(g.traits, max(0, nodes-len(g.traits)))
	g.edges = slices.Grow(g.edges, max(0, edges-len(g.edges)))
}

// Needs makes n run after dep, and only if dep succeeds. For a Closer it is the same as Waits.
func (g *Graph) Needs(n, dep Node) {
	g.edges = append(g.edges, edge{n, makeArc(dep, g.traits[n]&closer == 0)})
}

// Waits makes n run after dep has ended, with any outcome.
func (g *Graph) Waits(n, dep Node) {
	g.edges = append(g.edges, edge{n, makeArc(dep, false)})
}

// Before returns for each node the nodes after which it runs.
func (g *Graph) Before() [][]int32 {
	out := make([][]int32, g.Len())
	for _, e := range g.edges {
		out[e.n] = append(out[e.n], e.after.to())
	}
	return out
}

// IsLazy reports whether a node runs only when another node needs it.
func (g *Graph) IsLazy(n Node) bool { return g.traits[n]&lazy != 0 }

// IsGate reports whether a node is without work.
func (g *Graph) IsGate(n Node) bool { return g.traits[n]&gate != 0 }

// Len returns the number of nodes.
func (g *Graph) Len() int { return len(g.traits) }

// RunOptions are the options of a run.
type RunOptions struct {
	Workers int // maximum number of concurrent visits and jobs; less than 1 means GOMAXPROCS

	// Run does the work of a node and reports whether it succeeded. It may set jobs. It must not use the Fan after it
	// has returned.
	Run func(context.Context, Node, *Fan) bool

	// Around, if set, is called for each visit of a node and for each of its jobs. It must call do, which makes the
	// visit or runs the job, and return its result. job is the index of the job, or -1 for the visit.
	Around func(ctx context.Context, n Node, job int, do func(context.Context) bool) bool

	// Inside is the context for visits and jobs. If it is nil, they get the context of the run without its
	// cancellation, because visits and jobs in progress must be finished.
	Inside context.Context

	// Skipped, if set, is called for every node, except gates, that ends without a visit or is stuck on or behind a
	// cycle. The call is made before any of the node's successors starts. Calls are sequential and must not block.
	Skipped func(Node)

	// Panicked, if set, is called after a panic in a visit or a job, which counts as a failure. If Panicked is nil, the
	// panic ends the program.
	Panicked func(n Node, value any, stack []byte)
}

// Outcome is the outcome of a node.
type Outcome uint8

// The outcomes. A gate succeeds or is skipped.
const (
	Skipped Outcome = iota // not visited
	Failed
	Succeeded
)

func (o Outcome) String() string { return [...]string{"skipped", "failed", "succeeded"}[o] }

// Result is the result of a run.
type Result struct {
	Outcomes    []Outcome // by node; Skipped for the nodes in Stuck
	Stuck       []Node    // nodes on or behind a cycle, which never ran; nil if the graph has no cycle
	Interrupted bool      // the end of the context prevented a node or a job from running
}

// Of returns the outcome of n.
func (r Result) Of(n Node) Outcome { return r.Outcomes[n] }
