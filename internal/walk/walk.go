// Package walk runs the nodes of a dependency graph, as many at once as allowed.
//
// It knows nothing of what the nodes do. A Graph is a list of nodes and, for each, what it comes
// after; Run visits every node once, on a fixed number of workers, and says how each ended. The
// walker is dull on purpose: counters per node, one mutex, a ready list in a fixed order, and no
// goroutine per node.
//
// What a node comes after is said in two ways. It Needs another: it runs after that one, and only
// if that one succeeded; otherwise it is skipped, and so is what needs it. Or it Waits for another:
// it runs once that one is over, however it ended.
//
// Two kinds of nodes serve what is held open for a while (leases, configured providers):
//
//   - a Late node runs only when some node that needs it waits for nothing else, late nodes in
//     the same position apart; and not at all when no such node is left. So nothing is opened
//     before its first user is ready for it (invariant I7).
//   - a Closer runs also after failures and cancellation (I8), before anything else that is
//     ready. It is skipped only when nothing that it comes after was ever started: then there is
//     nothing to close.
//
// Ready nodes run in this order: closers first, then by the longest chain of nodes that still has
// to follow, late ones after others of the same length, then as they were added. With one worker a
// run is deterministic.
//
// A node may stand for many: its visit hands the walker jobs (see Fan), and the node is over when
// the last of them is. Tokens limit something finer than workers; no job waits while holding one.
package walk

import (
	"context"
	"slices"
)

// Node is an index into the graph it was added to: 0, 1, 2 and so on.
type Node uint32

// Options are the traits of a node.
type Options struct {
	Late   bool // runs only when a node that needs it waits for nothing else
	Closer bool // runs also after failures, before everything else that is ready
}

// Graph is a set of nodes and the order they must run in. The zero value is empty. It may be run
// more than once; it must not be changed meanwhile.
type Graph struct {
	traits []traits
	edges  []edge
}

type traits uint8

const (
	late traits = 1 << iota
	closer
	gate
)

// edge says that n comes after dep.
type edge struct {
	n     Node
	after arc
}

// arc is the other end of an edge, and whether it is a need.
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

// Add makes a node.
func (g *Graph) Add(o Options) Node { return g.add(o, 0) }

// Gate makes a node without work: it is not visited, and it succeeds if what it needs did. It makes
// n×m edges n+m.
func (g *Graph) Gate(o Options) Node { return g.add(o, gate) }

func (g *Graph) add(o Options, t traits) Node {
	if o.Late {
		t |= late
	}
	if o.Closer {
		t |= closer
	}
	g.traits = append(g.traits, t)
	return Node(len(g.traits) - 1)
}

// Reserve makes room for that many nodes and edges in all.
func (g *Graph) Reserve(nodes, edges int) {
	g.traits = slices.Grow(g.traits, max(0, nodes-len(g.traits)))
	g.edges = slices.Grow(g.edges, max(0, edges-len(g.edges)))
}

// Needs makes n run after dep, and only if dep succeeded. For a Closer it is the same as Waits.
func (g *Graph) Needs(n, dep Node) {
	g.edges = append(g.edges, edge{n, makeArc(dep, g.traits[n]&closer == 0)})
}

// Waits makes n run after dep is over, however it ended.
func (g *Graph) Waits(n, dep Node) {
	g.edges = append(g.edges, edge{n, makeArc(dep, false)})
}

// Len is the number of nodes.
func (g *Graph) Len() int { return len(g.traits) }

// RunOptions say how a graph is run.
type RunOptions struct {
	Workers int // visits and jobs at once; less than one means GOMAXPROCS

	// Visit does what a node stands for and reports whether it succeeded. It may hand out jobs.
	// The Fan must not be used after the visit has returned.
	Visit func(context.Context, Node, *Fan) bool

	// Inside is the context of visits and jobs; nil: that of the run without its end, since what runs
	// is finished.
	Inside context.Context

	// Skipped, if set, is called for every node that is over without a visit, before anything that
	// comes after it starts. Calls come one at a time and must not wait for anything.
	Skipped func(Node)

	// Panicked, if set, is called for a panic in a visit or a job, which then counts as a failure.
	// Without it a panic ends the program, as anywhere.
	Panicked func(n Node, value any, stack []byte)
}

// Outcome is how a node ended.
type Outcome uint8

// The outcomes. A gate succeeds or is skipped.
const (
	Skipped Outcome = iota // not visited
	Failed
	Succeeded
)

func (o Outcome) String() string { return [...]string{"skipped", "failed", "succeeded"}[o] }

// Result is how a run ended.
type Result struct {
	Outcomes []Outcome // by node
	Stuck    []Node    // nodes that came after themselves and so never ran; nil for a graph without a cycle
	Cut      bool      // the end of the context kept a node or a job from running
}

// Of is how n ended.
func (r Result) Of(n Node) Outcome { return r.Outcomes[n] }
