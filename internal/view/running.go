package view

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/event"
)

// running knows which operations run, since when, and when they were last heard of. A view holds
// its own lock around everything but stop.
type running struct {
	ops    map[opKey]*op
	moves  map[string]*move     // downloads, by name
	leases map[addr.Object]bool // that are open
	now    func() time.Time
	tick   func(time.Time) // called from a goroutine of its own while something runs
	period time.Duration   // how often; 0: once a second

	once    sync.Mutex // guards quit
	quit    chan struct{}
	stopped bool
}

type opKey struct {
	object addr.Object
	op     event.Op
}

// op is one operation that runs.
type op struct {
	opKey
	began time.Time
	heard time.Duration // how long it ran when it was last reported
}

func (o *op) words() words { return vocabulary[o.op] }

// heartbeat is how often an operation that takes long is reported.
const heartbeat = 10 * time.Second

// follow notes what begins and ends.
func (r *running) follow(e event.Event) {
	switch e := e.(type) {
	case event.Started:
		r.begin(e.Object, e.Op, e.At)
	case event.Done:
		delete(r.ops, opKey{e.Object, e.Op})
		switch e.Op {
		case event.Open:
			if r.leases == nil {
				r.leases = map[addr.Object]bool{}
			}
			r.leases[e.Object] = true
		case event.Close:
			delete(r.leases, e.Object)
		}
	case event.Failed:
		delete(r.ops, opKey{e.Object, e.Op})
	case event.ProvisionStarted:
		r.begin(e.Object, event.Provision, time.Time{})
	case event.ProvisionDone:
		delete(r.ops, opKey{e.Object, event.Provision})
	case event.Transfer:
		r.move(e)
	}
	r.arrange()
}

func (r *running) begin(o addr.Object, what event.Op, at time.Time) {
	if at.IsZero() {
		at = r.now()
	}
	if r.ops == nil {
		r.ops = map[opKey]*op{}
	}
	k := opKey{o, what}
	r.ops[k] = &op{opKey: k, began: at}
	r.arrange()
}

// list gives what runs, the oldest first.
func (r *running) list() []*op {
	out := slices.Collect(maps.Values(r.ops))
	slices.SortFunc(out, func(a, b *op) int {
		return cmp.Or(a.began.Compare(b.began), a.object.Compare(b.object), cmp.Compare(a.op, b.op))
	})
	return out
}

// due gives the operations that were not reported for a heartbeat, and notes that they are now.
// Refreshing is not reported, and provisioners print by themselves.
func (r *running) due(now time.Time) []*op {
	var out []*op
	for _, o := range r.list() {
		for took := now.Sub(o.began); took >= o.heard+heartbeat; {
			o.heard = took.Truncate(heartbeat)
			if o.op != event.Refresh && o.op != event.Provision && o.op != event.Import {
				out = append(out, o)
			}
		}
	}
	return out
}

// arrange runs the clock while something runs.
func (r *running) arrange() {
	r.once.Lock()
	defer r.once.Unlock()
	switch {
	case r.busy() && r.quit == nil && !r.stopped:
		r.quit = make(chan struct{})
		go r.clock(r.quit)
	case !r.busy() && r.quit != nil:
		close(r.quit)
		r.quit = nil
	}
}

// clock ticks until quit is closed. What it prints is news of progress only: if that panics, which
// would end the process with every lease open, the clock stops.
func (r *running) clock(quit chan struct{}) {
	defer func() { _ = recover() }()
	period := r.period
	if period == 0 {
		period = time.Second
	}
	t := time.NewTicker(period)
	defer t.Stop()
	for {
		select {
		case <-quit:
			return
		case <-t.C:
			r.tick(r.now())
		}
	}
}

// stop ends the clock for good.
func (r *running) stop() {
	r.once.Lock()
	defer r.once.Unlock()
	r.stopped = true
	if r.quit != nil {
		close(r.quit)
		r.quit = nil
	}
}
