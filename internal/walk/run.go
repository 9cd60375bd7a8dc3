package walk

import (
	"context"
	"runtime"
	"runtime/debug"
	"sync"
)

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
	left    int // nodes not over
	working int // workers inside a visit or a job
	idle    int // workers that wait
}

// Run visits the nodes and returns when all of them are over. When ctx ends, nodes and jobs that
// have not started are skipped, those that run are waited for, and closers run.
func (g *Graph) Run(ctx context.Context, o RunOptions) Result {
	r := g.start(ctx, o)
	var wg sync.WaitGroup
	for range r.Workers {
		wg.Go(r.work)
	}
	wg.Wait()
	return r.result
}

func (g *Graph) start(ctx context.Context, o RunOptions) *run {
	n := g.Len()
	r := &run{frozen: g.freeze(), RunOptions: o, ctx: ctx, inside: o.Inside, nodes: make([]status, n), ready: newReady(n),
		fans: map[Node]*Fan{}, todo: make([]Node, n), left: n}
	r.cond.L = &r.mu
	if r.inside == nil {
		r.inside = context.WithoutCancel(ctx)
	}
	r.rank, r.byRank = r.ranks()
	r.result.Outcomes = make([]Outcome, n)
	if r.Workers < 1 {
		r.Workers = runtime.GOMAXPROCS(0)
	}
	for i := range r.nodes {
		r.todo[i] = Node(n - 1 - i)
		for _, a := range r.before(Node(i)) {
			r.count(Node(i), a)
		}
	}
	for i := range r.nodes {
		if r.is(Node(i), late) && r.nodes[i].wanters == 0 {
			r.kill(Node(i))
		}
	}
	r.settle()
	return r
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

// work is one worker.
func (r *run) work() {
	var fan Fan
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.left > 0 {
		switch {
		case r.ready.count > 0:
			n := r.byRank[r.ready.first()]
			if f := r.fans[n]; f != nil {
				r.runJob(n, f)
			} else {
				r.runNode(n, &fan)
			}
			r.settle()
		case r.working == 0:
			r.unstick()
		default:
			r.idle++
			r.cond.Wait()
			r.idle--
		}
	}
	r.cond.Broadcast()
}

// runNode takes n, which is first in the ready list, off it and visits it.
func (r *run) runNode(n Node, fan *Fan) {
	r.ready.remove(r.rank[n])
	if r.nodes[n].flags&dead != 0 || r.cancelled(n) {
		r.end(n, Skipped)
		return
	}
	*fan = Fan{}
	ok := r.outside(func() bool { return r.Visit(r.inside, n, fan) }, n)
	switch {
	case !ok:
		r.end(n, Failed)
	case fan.rest != nil:
		r.leave(n, fan.rest)
	case fan.job == nil:
		r.end(n, Succeeded)
	default:
		f := *fan
		r.fans[n] = &f
		if f.over() {
			r.endFan(n, &f)
		} else {
			r.ready.add(r.rank[n])
		}
	}
}

// runJob starts the next job of n, which is first in the ready list.
func (r *run) runJob(n Node, f *Fan) {
	if r.cancelled(n) {
		f.next, f.failed = f.jobs, true
	}
	i := f.next
	f.next++
	if f.next >= f.jobs {
		r.ready.remove(r.rank[n])
	}
	if i < f.jobs {
		f.running++
		ok := r.outside(func() bool { return f.job(r.inside, i) }, n)
		f.running--
		f.failed = f.failed || !ok
	}
	if f.over() {
		r.endFan(n, f)
	}
}

func (r *run) endFan(n Node, f *Fan) {
	delete(r.fans, n)
	if f.failed {
		r.end(n, Failed)
	} else {
		r.end(n, Succeeded)
	}
}

// leave has n be over when rest says so.
func (r *run) leave(n Node, rest func(func(bool))) {
	r.working++ // so that no worker takes the run for stuck
	r.mu.Unlock()
	defer r.mu.Lock()
	rest(func(ok bool) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.working--
		if ok {
			r.end(n, Succeeded)
		} else {
			r.end(n, Failed)
		}
		r.settle()
		if r.idle > 0 && (r.ready.count > 0 || r.working == 0) {
			r.cond.Signal()
		}
	})
}

// outside calls f without the lock, having woken a colleague if there is work for one.
func (r *run) outside(f func() bool, n Node) (ok bool) {
	r.working++
	if r.ready.count > 0 && r.idle > 0 {
		r.cond.Signal()
	}
	r.mu.Unlock()
	defer func() {
		if r.Panicked != nil {
			if v := recover(); v != nil {
				ok = false
				r.Panicked(n, v, debug.Stack())
			}
		}
		r.mu.Lock()
		r.working--
	}()
	return f()
}

// cancelled reports whether n, or a job of it, is kept from running by the end of the context.
func (r *run) cancelled(n Node) bool {
	is := !r.is(n, closer) && r.ctx.Err() != nil
	r.result.Cut = r.result.Cut || is
	return is
}
