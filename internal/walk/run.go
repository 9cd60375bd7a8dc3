package walk

import (
	"context"
	"runtime"
	"runtime/debug"
)

// Run visits the nodes of the graph and returns when all nodes have ended. If ctx ends, Run starts no more nodes and
// jobs, except for closers (nodes with Options.Closer). Running nodes and jobs are finished. Nodes on a cycle, or after
// one, are not visited, and Result.Stuck lists them.
func (g *Graph) Run(ctx context.Context, o RunOptions) Result {
	r := g.start(ctx, o)
	r.hired = 1
	r.work()
	r.others.Wait()
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
		if r.is(Node(i), lazy) && r.nodes[i].wanters == 0 {
			r.kill(Node(i))
		}
	}
	r.settle()
	return r
}

// work is the loop of one worker.
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

// runNode takes n, the first node of the ready list, out of the list and visits it. If n is dead (a node that it needs
// has not succeeded, or no node needs the lazy node n any more), n is skipped. If the context has ended and n is not a
// closer, n is skipped, too. If the visit sets jobs, n returns to the list until all jobs have started. fan is memory
// that the worker uses again for each of its nodes.
func (r *run) runNode(n Node, fan *Fan) {
	r.ready.remove(r.rank[n])
	if r.nodes[n].flags&dead != 0 || r.cancelled(n) {
		r.end(n, Skipped)
		return
	}
	*fan = Fan{}
	ok := r.outside(func() bool {
		if r.Around == nil { // a closure would cost an allocation
			return r.Run(r.inside, n, fan)
		}
		return r.Around(r.inside, n, -1, func(ctx context.Context) bool { return r.Run(ctx, n, fan) })
	}, n)
	switch {
	case !ok:
		r.end(n, Failed)
	case fan.job == nil:
		r.end(n, Succeeded)
	default:
		f := *fan
		r.fans[n] = &f
		if f.done() {
			r.endFan(n, &f)
		} else {
			r.ready.add(r.rank[n])
		}
	}
}

// runJob runs the next job of n, the first node of the ready list. If the context has ended and n is not a closer, it
// skips all jobs that have not started, and n fails.
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
		ok := r.outside(func() bool {
			if r.Around == nil {
				return f.job(r.inside, i)
			}
			return r.Around(r.inside, n, i, func(ctx context.Context) bool { return f.job(ctx, i) })
		}, n)
		f.running--
		f.failed = f.failed || !ok
	}
	if f.done() {
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

// call wakes an idle worker, or starts a new worker, if the ready list is not empty. Workers start only when they are
// needed, because many runs are a short chain of nodes, for which one worker is enough.
func (r *run) call() {
	switch {
	case r.ready.count == 0:
	case r.idle > 0:
		r.cond.Signal()
	case r.hired < r.Workers:
		r.hired++
		r.others.Go(r.work)
	}
}

// outside calls f without the lock of the run, and returns the result. Before the call, it wakes or starts another
// worker if other nodes are ready. If f panics and Panicked is set, outside reports the panic and returns false.
func (r *run) outside(f func() bool, n Node) (ok bool) {
	r.working++
	r.call()
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

// cancelled reports whether n or its next job must not run because the context has ended, and then marks the result as
// interrupted. It returns false for closers, which run nevertheless.
func (r *run) cancelled(n Node) bool {
	is := !r.is(n, closer) && r.ctx.Err() != nil
	r.result.Interrupted = r.result.Interrupted || is
	return is
}
