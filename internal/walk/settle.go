package walk

import (
	"context"
	"sync"
)

// status is the progress of one node in a run. A lazy node (Options.Lazy) runs only when another node that needs it
// asks for it. If this node needs a lazy node, their edge counts in lazyLeft, unripe and asleep. Every other edge
// counts in wait.
//
//   - A lazy node is ripe when it waits for nothing, or only for ripe lazy nodes. It runs only if it is also asked.
//   - If a node that is not lazy waits only for ripe lazy nodes, it asks them to run. Each lazy node that is asked also
//     asks the lazy nodes that it needs.
//   - A node is dead if it cannot run any more: a node that it needs has not succeeded; or it is lazy, and all nodes
//     that need it are dead or have ended.
//
// A dead node still waits for its predecessors that run or may run. Thus its successors start after its predecessors
// have ended, as the graph requires. A dead node does not wait for lazy nodes that were not asked.
type status struct {
	wait     uint32 // number of predecessors that have not ended, without the lazy nodes that this node needs
	lazyLeft uint32 // number of lazy nodes that this node needs and that have not ended
	unripe   uint32 // number of the nodes in lazyLeft that are not ripe
	asleep   uint32 // number of the nodes in lazyLeft that were not asked
	wanters  uint32 // number of nodes that need this lazy node, have not ended and may still run
	flags    flags
}

type flags uint8

const (
	queued   flags = 1 << iota // the node is in the ready list, or runs
	finished                   // the node has ended
	dead                       // the node will end without running
	ripe                       // a lazy node that waits only for ripe lazy nodes, and runs if asked
	asked                      // a lazy node that runs as soon as its predecessors have ended
	touched                    // a predecessor was visited, directly before this node or before gates (nodes without work) between them
)

// run is one run of a graph. mu guards its fields.
type run struct {
	*frozen
	RunOptions
	ctx     context.Context // when ctx ends, no more nodes start, except closers
	inside  context.Context // context of visits and jobs
	mu      sync.Mutex
	cond    sync.Cond // signals that a node is ready, or that all nodes have ended
	nodes   []status
	rank    []uint32      // by node: its rank, the place in the order of ready nodes (frozen.ranks)
	byRank  []Node        // by rank: the node
	ready   ready         // the nodes that can run now, by rank; a node with jobs stays until all its jobs have started
	fans    map[Node]*Fan // nodes whose visit has set jobs that have not all ended
	todo    []Node        // nodes that settle must consider, because the progress of a predecessor has changed
	result  Result
	left    int            // number of nodes that have not ended
	working int            // workers inside a visit or a job
	idle    int            // number of waiting workers
	hired   int            // number of workers
	others  sync.WaitGroup // the goroutines of the workers, apart from the goroutine that called Run
}

func (r *run) count(n Node, a arc) {
	s, d := &r.nodes[n], &r.nodes[a.node()]
	if !r.onLazy(a) {
		s.wait++
		return
	}
	s.lazyLeft++
	s.unripe++
	s.asleep++
	d.wanters++
}

func (r *run) is(n Node, t traits) bool { return r.traits[n]&t != 0 }

// onLazy reports whether the arc a means that a node needs a lazy node. The arc must be a result of frozen.before,
// which leads to the predecessor, and not of frozen.after.
func (r *run) onLazy(a arc) bool { return a.needs() && r.is(a.node(), lazy) }

// settle processes all consequences of ended nodes. Afterwards the ready list contains all nodes that can run.
func (r *run) settle() {
	for len(r.todo) > 0 {
		n := r.todo[len(r.todo)-1]
		r.todo = r.todo[:len(r.todo)-1]
		r.consider(n)
	}
}

// consider advances n as far as its predecessors allow: it ends a dead node, marks a lazy node as ripe, asks the lazy
// nodes that n needs, or adds n to the ready list.
func (r *run) consider(n Node) {
	s := &r.nodes[n]
	if s.flags&(queued|finished) != 0 || s.wait > 0 {
		return
	}
	if s.flags&dead != 0 {
		if s.lazyLeft == s.asleep { // no lazy node that was asked is still running
			r.end(n, Skipped)
		}
		return
	}
	if s.unripe > 0 {
		return
	}
	if r.is(n, lazy) {
		r.ripen(n)
		if s.flags&asked == 0 {
			return
		}
	}
	if s.asleep > 0 {
		r.askAll(n)
	}
	if s.lazyLeft == 0 {
		r.enqueue(n)
	}
}

func (r *run) enqueue(n Node) {
	switch {
	case r.is(n, gate):
		r.end(n, Succeeded)
	case r.is(n, closer) && r.nodes[n].flags&touched == 0 && len(r.before(n)) > 0:
		r.end(n, Skipped)
	default:
		r.nodes[n].flags |= queued
		r.ready.add(r.rank[n])
	}
}

// ripen records that the lazy node n can run, and informs the nodes that need it.
func (r *run) ripen(n Node) {
	s := &r.nodes[n]
	if s.flags&ripe != 0 {
		return
	}
	s.flags |= ripe
	for _, a := range r.after(n) {
		if a.needs() {
			r.nodes[a.node()].unripe--
			r.todo = append(r.todo, a.node())
		}
	}
}

func (r *run) askAll(n Node) {
	for _, a := range r.before(n) {
		if r.onLazy(a) {
			r.ask(a.node())
		}
	}
}

// ask marks the lazy node n as asked, so that it runs as soon as its predecessors have ended.
func (r *run) ask(n Node) {
	s := &r.nodes[n]
	if s.flags&asked != 0 {
		return
	}
	s.flags |= asked
	for _, a := range r.after(n) {
		if a.needs() {
			r.nodes[a.node()].asleep--
		}
	}
	r.todo = append(r.todo, n)
}

// end records the outcome of n, passes a skipped node to RunOptions.Skipped unless the node is a gate (a node without
// work), and informs the successors of n.
func (r *run) end(n Node, how Outcome) {
	s := &r.nodes[n]
	s.flags |= finished
	r.result.Outcomes[n] = how
	r.left--
	visited := how != Skipped
	if r.is(n, gate) {
		visited = s.flags&touched != 0
	} else if how == Skipped && r.Skipped != nil {
		r.Skipped(n)
	}
	if s.flags&dead == 0 {
		r.release(n)
	}
	for _, a := range r.after(n) {
		r.notify(a, n, how, visited)
	}
}

// notify informs the target of the arc a that its predecessor n has ended. visited is true if n was visited; the target
// is then marked as touched.
func (r *run) notify(a arc, n Node, how Outcome, visited bool) {
	x := a.node()
	t := &r.nodes[x]
	if visited {
		t.flags |= touched
	}
	if a.needs() && r.is(n, lazy) {
		t.lazyLeft--
		if r.nodes[n].flags&asked == 0 {
			t.asleep--
		}
	} else {
		t.wait--
	}
	if a.needs() && how != Succeeded {
		r.kill(x)
	}
	r.todo = append(r.todo, x)
}

// kill marks n as dead.
func (r *run) kill(n Node) {
	s := &r.nodes[n]
	if s.flags&(dead|finished) != 0 {
		return
	}
	s.flags |= dead
	r.release(n)
	r.todo = append(r.todo, n)
}

// release records that n no longer needs its lazy nodes. A lazy node that no other node needs, and that has not ended,
// becomes dead. A lazy node that is running still finishes.
func (r *run) release(n Node) {
	for _, a := range r.before(n) {
		if !r.onLazy(a) {
			continue
		}
		d := &r.nodes[a.node()]
		if d.wanters--; d.wanters == 0 {
			r.kill(a.node())
		}
	}
}

// unstick is called when no node runs or is ready, although some nodes have not ended. There are two possible reasons:
//
//   - A node waits for a lazy node that it does not need, and blocks the nodes that need the lazy node, so that no node
//     asks the lazy node. unstick asks all ripe lazy nodes.
//   - Otherwise the graph has a cycle, and the remaining nodes never run.
func (r *run) unstick() {
	for n := range r.nodes {
		if s := &r.nodes[n]; r.is(Node(n), lazy) && s.flags&(ripe|asked|dead|finished) == ripe {
			r.ask(Node(n))
		}
	}
	if len(r.todo) == 0 {
		r.giveUp()
	}
	r.settle()
}

func (r *run) giveUp() {
	for n := range r.nodes {
		if s := &r.nodes[n]; s.flags&finished == 0 {
			s.flags |= finished
			r.left--
			r.result.Stuck = append(r.result.Stuck, Node(n))
			if r.Skipped != nil && !r.is(Node(n), gate) {
				r.Skipped(Node(n))
			}
		}
	}
}
