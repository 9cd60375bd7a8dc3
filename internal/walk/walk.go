// Package walk runs the nodes of a dependency graph concurrently.
//
// The package is independent of the work of the nodes. A Graph is a list of nodes with their predecessors. Run visits
// each node at most once, on a limited number of workers, and returns the outcome of each: succeeded, failed, or
// skipped (not visited). Gates are nodes without work, which Run does not visit. Nodes on a cycle, and nodes after a
// cycle, are never visited. The implementation is simple on purpose: it has counters per node, one mutex, a ready list
// in a fixed order, and no goroutine per node.
//
// There are two relations between nodes. If node A Needs node B, A runs after B, and only if B succeeded. Otherwise A
// is skipped, and so are the nodes that need A. If A Waits for B, A runs after B has ended, with any outcome. If A is a
// closer (see below), Needs has the meaning of Waits.
//
// Two kinds of nodes serve resources that are open for some time (leases, configured providers):
//
//   - A lazy node L runs only when a node that needs L waits for nothing else, apart from other lazy nodes that could
//     run, too. If every node that needs L was skipped, L is skipped. So nothing is opened before its first user is
//     ready (invariant I7). Exception: if a node that only Waits for L blocks all nodes that need L, L runs as if a
//     node had asked for it.
//   - A closer (Options.Closer) runs even after failures and cancellation (invariant I8), before all other ready nodes.
//     A closer is skipped only if it has predecessors and no predecessor was started: then there is nothing to close.
//
// Ready nodes run in this order: closers first, in the order of their addition; then the other nodes by the longest
// chain of nodes that follow (without gates and lazy nodes), with lazy nodes after others of the same length, and then
// in the order of addition. With one worker a run is deterministic.
//
// The visit of a node may set several jobs (type Fan), which then run concurrently. The node ends when the last job
// ends. The type Tokens limits the number of concurrent calls to providers. The limit may be lower than the number of
// workers. No job waits while it holds a token.
package walk

import (
	"context"
	"slices"
)

// Node is the index of a node in its graph: 0, 1, 2 and so on.
type Node uint32

// Options are the traits of a node. The zero value is an ordinary node.
type Options struct {
	Lazy   bool // the node runs only when another node needs it and waits for nothing else
	Closer bool // the node runs even after failures and cancellation, before all other ready nodes
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

// edge orders two nodes: node n runs after the node in the field after.
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

// Gate adds a node without work. Run does not visit it. The gate succeeds if the nodes that it needs succeed, and is
// skipped otherwise. If n nodes must precede m other nodes, a gate between them needs n+m edges instead of n×m.
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

// Reserve allocates memory for a graph with this number of nodes and edges, including its present nodes and edges.
func (g *Graph) Reserve(nodes, edges int) {
	g.traits = slices.Grow(g.traits, max(0, nodes-len(g.traits)))
	g.edges = slices.Grow(g.edges, max(0, edges-len(g.edges)))
}

// Needs makes n run after dep, and only if dep succeeds. If n is a Closer, n runs after dep in any case, as after a
// call of Waits.
func (g *Graph) Needs(n, dep Node) {
	g.edges = append(g.edges, edge{n, makeArc(dep, g.traits[n]&closer == 0)})
}

// Waits makes n run after dep has ended, with any outcome.
func (g *Graph) Waits(n, dep Node) {
	g.edges = append(g.edges, edge{n, makeArc(dep, false)})
}

// Before returns, by node, the nodes after which the node runs: its dependencies by Needs and by Waits.
func (g *Graph) Before() [][]int32 {
	out := make([][]int32, g.Len())
	for _, e := range g.edges {
		out[e.n] = append(out[e.n], e.after.to())
	}
	return out
}

// IsLazy reports whether n was added with Options.Lazy: it runs only when another node needs it.
func (g *Graph) IsLazy(n Node) bool { return g.traits[n]&lazy != 0 }

// IsGate reports whether n was added by Gate, so that it has no work.
func (g *Graph) IsGate(n Node) bool { return g.traits[n]&gate != 0 }

// Len returns the number of nodes.
func (g *Graph) Len() int { return len(g.traits) }

// RunOptions has the functions that Graph.Run calls, and the number of its workers.
type RunOptions struct {
	Workers int // maximum number of concurrent visits and jobs; less than 1 means GOMAXPROCS

	// Run does the work of a node and reports whether the work succeeded. It may pass jobs to Fan.Jobs, which run after
	// Run has returned. Run must not use the Fan after it has returned.
	Run func(context.Context, Node, *Fan) bool

	// Around, if set, is called for each visit of a node and for each of its jobs. It must call do, which makes the
	// visit or runs the job, and return its result. The argument job is the index of the job, or -1 for the visit.
	Around func(ctx context.Context, n Node, job int, do func(context.Context) bool) bool

	// Inside is the context for visits and jobs. If Inside is nil, visits and jobs get the context that was passed to
	// Graph.Run, without its cancellation, because visits and jobs in progress must be finished.
	Inside context.Context

	// Skipped, if set, is called for every node, except gates, that ends without a visit, or that never runs because it
	// is on a cycle or after one. The call is made before any of the node's successors starts. Calls are sequential and
	// must not block.
	Skipped func(Node)

	// Panicked, if set, is called after a panic in a visit or a job, which counts as a failure. If Panicked is nil, the
	// panic ends the program.
	Panicked func(n Node, value any, stack []byte)
}

// Outcome tells whether a node was visited, and whether its work succeeded.
type Outcome uint8

// The outcomes. A gate succeeds or is skipped.
const (
	Skipped Outcome = iota // the node was not visited
	Failed
	Succeeded
)

func (o Outcome) String() string { return [...]string{"skipped", "failed", "succeeded"}[o] }

// Result tells how the nodes of a graph ended in a run, and which nodes never ran.
type Result struct {
	Outcomes    []Outcome // by node; Skipped for the nodes in Stuck
	Stuck       []Node    // nodes on a cycle or after one, which never ran; nil if the graph has no cycle
	Interrupted bool      // the end of the context prevented a node or a job from running
}

// Of returns the outcome of n.
func (r Result) Of(n Node) Outcome { return r.Outcomes[n] }
