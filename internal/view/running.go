package view

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/event"
)

// running has the operations in progress, when they began, and when the view last reported them. The caller of each
// method except stop must hold the lock of the view.
type running struct {
	ops     map[opKey]*op
	moves   map[string]*move // downloads and other transfers, by name
	leases  map[opKey]bool   // open leases (ephemeral resources), by the operation that opened them
	retries retries
	now     func() time.Time
	tick    func(time.Time) // called from a separate goroutine while operations are in progress
	period  time.Duration   // the time between two calls of tick; 0: one second

	once    sync.Mutex // guards quit and stopped
	quit    chan struct{}
	stopped bool
}

type opKey struct {
	object addr.Object
	op     event.Op
	run    string // the run of a test, because several runs may have an object at the same address; otherwise ""
}

// within returns a text about the run of a test, or "" outside of tests.
func (k opKey) within() string {
	if k.run == "" {
		return ""
	}
	return fmt.Sprintf(", run %q", k.run)
}

// op is an operation in progress.
type op struct {
	opKey
	began time.Time
	heard time.Duration // the duration of the operation when the view last reported it

	provisioning bool // a provisioner of the object runs, as a part of this operation
}

func (o *op) words() words { return vocabulary[o.op] }

// still returns the words for the present activity of an operation, such as creating.
func (o *op) still() string {
	if o.provisioning {
		return vocabulary[event.Provision].still
	}
	return o.words().still
}

// heartbeat is the time between two reports of an operation that takes long.
const heartbeat = 10 * time.Second

// follow records the start and the end of operations, leases and transfers, and counts repeated calls.
func (r *running) follow(e event.Event) {
	run := ""
	if b, is := e.(event.Behind); is {
		run, e = b.Run, b.Event
	}
	switch e := e.(type) {
	case event.Retried:
		r.retries.add(e)
	case event.Started:
		r.begin(opKey{e.Object, e.Op, run}, e.At)
	case event.Done:
		delete(r.ops, opKey{e.Object, e.Op, run})
		switch e.Op {
		case event.Open:
			if r.leases == nil {
				r.leases = map[opKey]bool{}
			}
			r.leases[opKey{e.Object, event.Open, run}] = true
		case event.Close:
			delete(r.leases, opKey{e.Object, event.Open, run})
		}
	case event.Failed:
		delete(r.ops, opKey{e.Object, e.Op, run})
	case event.ProvisionStarted:
		if o := r.of(e.Object, run); o != nil {
			o.provisioning = true
		} else {
			r.begin(opKey{e.Object, event.Provision, run}, time.Time{})
		}
	case event.ProvisionDone:
		if o := r.of(e.Object, run); o != nil {
			o.provisioning = false
		}
		delete(r.ops, opKey{e.Object, event.Provision, run})
	case event.ActionStarted:
		r.begin(invoking(e.Invocation, run), time.Time{})
	case event.ActionDone:
		delete(r.ops, invoking(e.Invocation, run))
	case event.Transfer:
		r.move(e)
	}
	r.arrange()
}

// invoking returns the key of an invocation: the object that invokes the action, or without one the action itself.
func invoking(i event.Invocation, run string) opKey {
	if i.Trigger.Object == (addr.Object{}) {
		return opKey{i.Action.Current(), event.Invoke, run}
	}
	return opKey{i.Trigger.Object, event.Invoke, run}
}

// of returns the operation in progress that creates, updates or deletes an object. It returns nil if no such operation
// is in progress.
func (r *running) of(object addr.Object, run string) *op {
	for _, what := range []event.Op{event.Create, event.Update, event.Delete} {
		if o := r.ops[opKey{object, what, run}]; o != nil {
			return o
		}
	}
	return nil
}

func (r *running) begin(k opKey, at time.Time) {
	if at.IsZero() {
		at = r.now()
	}
	if r.ops == nil {
		r.ops = map[opKey]*op{}
	}
	r.ops[k] = &op{opKey: k, began: at}
	r.arrange()
}

// move is a transfer in progress: a download, or work on many versions or copies of a state.
type move struct {
	name      string
	began     time.Time
	done, all int64  // progress so far and at the end, in unit; all is 0 or less if the end is unknown
	unit      string // the unit of done and all in the plural; "" for bytes
}

// progress returns a text such as "12.3/50.0 MB · 5.1 MB/s · 8s left", without unknown parts, or "3 of 20 versions".
func (m *move) progress(now time.Time) string {
	if m.unit != "" {
		return fmt.Sprintf("%d of %d %s", m.done, m.all, m.unit)
	}
	text := fmt.Sprintf("%.1f MB", megabytes(m.done))
	if m.all > 0 {
		text = fmt.Sprintf("%.1f/%.1f MB", megabytes(m.done), megabytes(m.all))
	}
	took := now.Sub(m.began)
	if took < time.Second || m.done == 0 {
		return text
	}
	rate := float64(m.done) / took.Seconds()
	text += fmt.Sprintf(" · %.1f MB/s", rate/1e6)
	if m.all > 0 {
		text += fmt.Sprintf(" · %s left", seconds(time.Duration(float64(max(m.all-m.done, 0))/rate*float64(time.Second))+time.Second-1))
	}
	return text
}

// activity returns the word for the kind of transfer.
func (m *move) activity() string {
	if m.unit != "" {
		return "reading"
	}
	return "downloading"
}

func megabytes(n int64) float64 { return float64(n) / 1e6 }

// together returns the sum of one or more downloads. If the size of one is unknown, the size of the sum is unknown.
func together(all []*move) *move {
	sum := &move{began: all[0].began}
	known := true
	for _, m := range all {
		sum.done, sum.all, known = sum.done+m.done, sum.all+m.all, known && m.all > 0
	}
	if !known {
		sum.all = 0
	}
	return sum
}

// move records the progress or the end of a transfer.
func (r *running) move(e event.Transfer) {
	if e.Ended {
		delete(r.moves, e.Name)
		return
	}
	if r.moves == nil {
		r.moves = map[string]*move{}
	}
	m := r.moves[e.Name]
	if m == nil {
		m = &move{name: e.Name, began: r.now()}
		r.moves[e.Name] = m
	}
	m.done, m.all, m.unit = e.Done, e.All, e.Unit
}

// transfers returns the transfers in progress, the oldest first.
func (r *running) transfers() []*move {
	out := slices.Collect(maps.Values(r.moves))
	slices.SortFunc(out, func(a, b *move) int { return cmp.Or(a.began.Compare(b.began), cmp.Compare(a.name, b.name)) })
	return out
}

// busy reports whether an operation or a transfer is in progress.
func (r *running) busy() bool { return len(r.ops)+len(r.moves) > 0 }

// list returns the operations in progress, the oldest first.
func (r *running) list() []*op {
	out := slices.Collect(maps.Values(r.ops))
	slices.SortFunc(out, func(a, b *op) int {
		return cmp.Or(a.began.Compare(b.began), a.object.Compare(b.object), cmp.Compare(a.op, b.op), cmp.Compare(a.run, b.run))
	})
	return out
}

// due returns the operations that were not reported for a heartbeat, and marks them as reported. It omits refreshing
// and imports. It also omits provisioners and actions, which print output during their work.
func (r *running) due(now time.Time) []*op {
	var out []*op
	for _, o := range r.list() {
		for took := now.Sub(o.began); took >= o.heard+heartbeat; {
			o.heard = took.Truncate(heartbeat)
			if o.op != event.Refresh && o.op != event.Provision && o.op != event.Import && o.op != event.Invoke {
				out = append(out, o)
			}
		}
	}
	return out
}

// arrange starts the clock (a goroutine with regular ticks) if an operation is in progress, and stops it otherwise.
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

// clock calls tick until quit is closed. The ticks only print progress. Without recover, a panic in a tick would end
// the process and leave every lease open. After a panic, the clock stops.
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

// stop ends the clock. Later operations do not start it again.
func (r *running) stop() {
	r.once.Lock()
	defer r.once.Unlock()
	r.stopped = true
	if r.quit != nil {
		close(r.quit)
		r.quit = nil
	}
}

// interruptText explains the effect of an interrupt, lists the operations that the program waits for, and explains the
// effect of another interrupt. Tools look for the first sentences.
func interruptText(times int, product string, ops *running) string {
	switch times {
	case 1:
		return fmt.Sprintf("Interrupt received.\nPlease wait for %s to exit or data loss may occur.\nGracefully shutting down...\n%sA second interrupt abandons operations in progress and ends within 3 seconds. A third ends at once.\n", product, ops.pending())
	case 2:
		return fmt.Sprintf("Two interrupts received. Exiting immediately. Note that data loss may have occurred.\n%sCalls are abandoned after a second, then leases are closed. %s ends within 3 seconds. A third interrupt ends at once.\n", ops.pending(), product)
	}
	return "Exiting now.\n"
}

// pending lists the operations and transfers in progress and the open leases, or states that nothing is in progress.
func (r *running) pending() string {
	var b strings.Builder
	closing := map[opKey]bool{}
	for _, o := range r.list() {
		if o.op == event.Close {
			closing[opKey{o.object, event.Open, o.run}] = true
		}
		fmt.Fprintf(&b, "  - %s (%s, %s%s)\n", EscapeLine(o.object.String()), o.still(), seconds(max(r.now().Sub(o.began), 0)), o.within())
	}
	for _, m := range r.transfers() {
		fmt.Fprintf(&b, "  - %s (%s, %s)\n", EscapeLine(m.name), m.activity(), m.progress(r.now()))
	}
	var open []string
	for k := range r.leases {
		if !closing[k] {
			open = append(open, "  - "+EscapeLine(k.object.String())+" (open"+k.within()+")\n")
		}
	}
	slices.Sort(open)
	b.WriteString(strings.Join(open, ""))
	if b.Len() == 0 {
		return "No operation is in progress.\n"
	}
	return "Under way:\n" + b.String()
}
