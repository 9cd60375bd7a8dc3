package walk

import (
	"context"
	"sync"
)

// status is what a run knows of one node. An edge from a node that needs a late one counts in
// lateLeft, unripe and asleep, any other in wait.
//
// A node is ripe when it waits for nothing but late nodes that are ripe themselves. A ripe node
// that is not late asks for the late ones it needs: they wake, and ask for theirs. A node that
// cannot run any more is dead: something that it needs has not succeeded, or it is late and all
// that need it are dead or over. It still waits for what runs or may run yet, so that "comes after"
// also holds across it; late nodes that were not asked for it does not wait for.
type status struct {
	wait     uint32 // nodes before this one that are not over
	lateLeft uint32 // late ones it needs that are not over
	unripe   uint32 // of these, those that are not ripe
	asleep   uint32 // of these, those that were not asked for
	wanters  uint32 // nodes that need this late one and are neither dead nor over
	flags    flags
}

type flags uint8

const (
	queued  flags = 1 << iota // in the ready list, or running
	over                      // has ended
	dead                      // will end without running
	ripe                      // late, and could run if asked
	asked                     // late, and some node waits for nothing else
	touched                   // something that it comes after was visited
)

// run is one run of a graph. All of it is guarded by mu.
type run struct {
	*frozen
	RunOptions
	ctx     context.Context // its end keeps more from starting
	inside  context.Context // for what runs
	mu      sync.Mutex
	cond    sync.Cond // something is ready, or everything is over
	nodes   []status
	rank    []uint32
	byRank  []Node
	ready   ready
	fans    map[Node]*Fan // nodes whose jobs run
	todo    []Node        // nodes that something has changed for
	result  Result
	left    int            // nodes not over
	working int            // workers inside a visit or a job
	idle    int            // workers that wait
	hired   int            // workers that there are
	others  sync.WaitGroup // the workers beside the one that Run is
}

func (r *run) count(n Node, a arc) {
	s, d := &r.nodes[n], &r.nodes[a.node()]
	if !r.onLate(a) {
		s.wait++
		return
	}
	s.lateLeft++
	s.unripe++
	s.asleep++
	d.wanters++
}

func (r *run) is(n Node, t traits) bool { return r.traits[n]&t != 0 }

// onLate reports whether the arc, seen from a node, is its need of a late one.
func (r *run) onLate(a arc) bool { return a.needs() && r.is(a.node(), late) }

// settle goes on until nothing follows any more from what has ended. What is ready is then in the
// ready list; if that is empty, workers wait.
func (r *run) settle() {
	for len(r.todo) > 0 {
		n := r.todo[len(r.todo)-1]
		r.todo = r.todo[:len(r.todo)-1]
		r.consider(n)
	}
}

// consider does with n what can be done now.
func (r *run) consider(n Node) {
	s := &r.nodes[n]
	if s.flags&(queued|over) != 0 || s.wait > 0 {
		return
	}
	if s.flags&dead != 0 {
		if s.lateLeft == s.asleep { // none that was asked for is still under way
			r.end(n, Skipped)
		}
		return
	}
	if s.unripe > 0 {
		return
	}
	if r.is(n, late) {
		r.ripen(n)
		if s.flags&asked == 0 {
			return
		}
	}
	if s.asleep > 0 {
		r.askAll(n)
	}
	if s.lateLeft == 0 {
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

// ripen tells those that need the late node n that it could run.
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
		if r.onLate(a) {
			r.ask(a.node())
		}
	}
}

// ask wakes the late node n.
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

// end records how n ended and tells everything that comes after it.
func (r *run) end(n Node, how Outcome) {
	s := &r.nodes[n]
	s.flags |= over
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
		r.tell(a, n, how, visited)
	}
}

// tell the node at the end of a that n, which it comes after, is over.
func (r *run) tell(a arc, n Node, how Outcome, visited bool) {
	x := a.node()
	t := &r.nodes[x]
	if visited {
		t.flags |= touched
	}
	if a.needs() && r.is(n, late) {
		t.lateLeft--
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

// kill marks n as one that will not run.
func (r *run) kill(n Node) {
	s := &r.nodes[n]
	if s.flags&(dead|over) != 0 {
		return
	}
	s.flags |= dead
	r.release(n)
	r.todo = append(r.todo, n)
}

// release gives up what n wanted of the late nodes it needs. One that no node wants is dead, unless
// it runs already.
func (r *run) release(n Node) {
	for _, a := range r.before(n) {
		if !r.onLate(a) {
			continue
		}
		d := &r.nodes[a.node()]
		if d.wanters--; d.wanters == 0 {
			r.kill(a.node())
		}
	}
}

// unstick is for when nothing runs and nothing is ready though not all is over. Either late nodes
// sleep that something merely waits for while those that need them come after that: they are
// woken. Or the graph has a cycle: what is left never runs.
func (r *run) unstick() {
	for n := range r.nodes {
		if s := &r.nodes[n]; r.is(Node(n), late) && s.flags&(ripe|asked|dead|over) == ripe {
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
		if s := &r.nodes[n]; s.flags&over == 0 {
			s.flags |= over
			r.left--
			r.result.Stuck = append(r.result.Stuck, Node(n))
			if r.Skipped != nil && !r.is(Node(n), gate) {
				r.Skipped(Node(n))
			}
		}
	}
}
