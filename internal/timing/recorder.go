package timing

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/event"
)

// minWait is the shortest waiting time that is recorded. Shorter times are not waiting: even a call that need not wait
// takes some microseconds to obtain permission.
const minWait = time.Millisecond

// Recorder records the times of a command from events. Its methods may be called concurrently. Phase and Question may
// be called on a nil Recorder, and then record nothing.
type Recorder struct {
	began time.Time

	mu     sync.Mutex
	phases []Span
	fixed  []Span // the times of questions, which Run.Bound does not contain
	starts []Span
	walks  []*event.Walk
	walked map[*event.Walk]visits // the visits of nodes in each walk (plan or apply), also of walks in progress
	types  map[string]*TypeTime   // the times of calls, by resource type
	calls  []Span
	open   map[addr.Object]int // the index in leases of each open lease
	leases []Window
	loose  *event.Walk // the key in walked for calls outside a walk
}

// New returns a Recorder of a command that began at this time.
func New(began time.Time) *Recorder {
	return &Recorder{began: began, walked: map[*event.Walk]visits{}, types: map[string]*TypeTime{}, open: map[addr.Object]int{}, loose: &event.Walk{}}
}

// Phase records the time of a part of the command, from now until the caller calls the returned function.
func (r *Recorder) Phase(name string) (end func()) { return r.phase(name, true) }

// Question records the time of a question to the user, from now until the caller calls the returned function. Run.Bound
// does not contain this time, because the time depends on the user.
func (r *Recorder) Question(name string) (end func()) { return r.phase(name, false) }

func (r *Recorder) phase(name string, counts bool) func() {
	if r == nil {
		return func() {}
	}
	began := time.Now()
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		s := r.span(Phase, name, began, time.Now())
		r.phases = append(r.phases, s)
		if !counts {
			r.fixed = append(r.fixed, s)
		}
	}
}

// Started records the start of a provider process. The caller calls Started when the process has answered. took is the
// duration of the start.
func (r *Recorder) Started(provider string, took time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	r.starts = append(r.starts, r.span(Start, provider, now.Add(-took), now))
}

func (r *Recorder) span(k Kind, name string, began, ended time.Time) Span {
	return Span{k, name, max(0, began.Sub(r.began)), max(0, ended.Sub(r.began))}
}

// Send records the event e if it concerns times or leases, and ignores other events. It implements event.Sink.
func (r *Recorder) Send(e event.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch e := e.(type) {
	case event.Behind:
		r.object(e.Event)
	case event.Visited:
		v := r.visit(e.Visit)
		v.Visited = e
	case event.Walked:
		r.walks = append(r.walks, e.Walk)
	case event.Called:
		r.called(e)
	case event.Configured:
		v := r.visit(e.Visit)
		v.spans = append(v.spans, r.span(Configure, e.Provider.String(), e.Began, e.Ended))
	case event.Waited:
		if e.Ended.Sub(e.Began) >= minWait {
			v := r.visit(e.Visit)
			v.spans = append(v.spans, r.span(Wait, e.For, e.Began, e.Ended))
		}
	default:
		r.object(e)
	}
}

func (r *Recorder) called(e event.Called) {
	v := r.visit(e.Visit)
	call := r.span(Call, string(e.Call), e.Began, e.Ended)
	if e.Call == event.CallOpen {
		call.Name += " " + e.Object.String()
	}
	waited := e.Began.Sub(e.Wanted)
	if waited >= minWait {
		v.spans = append(v.spans, r.span(Limit, "-parallelism", e.Wanted, e.Began))
	}
	v.spans = append(v.spans, call)
	if lease := e.Object.Mode == addr.Ephemeral; v.name == "" || v.lease && !lease { // the visit of an object may open leases first: prefer the name of the object
		v.name, v.lease = e.Object.String(), lease
	}
	r.calls = append(r.calls, call)
	count(r.types, e.Object.Type, call.Took(), waited)
}

// object records the successful openings, renewals and closings of leases. It ignores other events.
func (r *Recorder) object(e event.Event) {
	now := time.Since(r.began)
	if e, done := e.(event.Done); done {
		switch i, is := r.open[e.Object]; {
		case e.Op == event.Open:
			r.open[e.Object] = len(r.leases)
			r.leases = append(r.leases, Window{Name: e.Object.String(), Began: now, Open: true})
		case e.Op == event.Renew && is:
			r.leases[i].Renewed = append(r.leases[i].Renewed, now)
		case e.Op == event.Close && is:
			r.leases[i].Ended, r.leases[i].Open = now, false
			delete(r.open, e.Object)
		}
	}
}

func (r *Recorder) visit(of event.Visit) *visit {
	w := cmp.Or(of.Walk, r.loose)
	if r.walked[w] == nil {
		r.walked[w] = visits{}
	}
	if r.walked[w][of.Node] == nil {
		r.walked[w][of.Node] = map[int]*visit{}
	}
	v := r.walked[w][of.Node][of.Job]
	if v == nil {
		v = &visit{}
		r.walked[w][of.Node][of.Job] = v
	}
	return v
}

// Finish returns the recorded run, which ends now. command is the name of the command, and parallelism the limit of
// concurrent calls. interrupted is true if an interrupt ended the run. The result lacks walks that have not ended.
func (r *Recorder) Finish(command string, parallelism int, interrupted bool) *Run {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := &Run{
		Command: command, Began: r.began, Took: time.Since(r.began), Parallelism: parallelism, Interrupted: interrupted,
		Phases: r.phases, Starts: r.starts, Leases: r.leases, Types: sorted(r.types), Running: levels(r.calls),
	}
	for i := range out.Leases {
		if out.Leases[i].Open {
			out.Leases[i].Ended = out.Took
		}
	}
	aside := slices.Clone(r.fixed)
	for _, w := range r.walks {
		whole := r.span(Phase, w.Title, w.Began, w.Ended)
		out.Phases = append(out.Phases, whole)
		aside = append(aside, whole)
		out.Bound += r.walk(out, w)
	}
	out.Bound = min(out.Took, out.Bound+out.Took-union(aside))
	slices.SortStableFunc(out.Phases, func(a, b Span) int { return cmp.Compare(a.Began, b.Began) })
	slices.SortStableFunc(out.Rows, func(a, b Row) int { return cmp.Compare(a.Began, b.Began) })
	return out
}

// walk adds the rows of the walk w to out, and the longest chain of calls in w. It returns the duration of the chain.
func (r *Recorder) walk(out *Run, w *event.Walk) time.Duration {
	of := r.walked[w]
	nodes, jobs, length := chain(w, of)
	critical := map[int]int{}
	for i, n := range nodes {
		critical[n] = jobs[i]
	}
	ends := r.ends(w, of)
	for _, n := range slices.Sorted(maps.Keys(of)) {
		after, ready := last(w, ends, n)
		for _, j := range slices.Sorted(maps.Keys(of[n])) {
			v := of[n][j]
			job, in := critical[n]
			in = in && (j == job || j < 0) && v.busy() > 0
			row := Row{Name: cmp.Or(v.name, name(w, n)), Walk: w.Title, After: after, Critical: in}
			if row.Name == "" || len(v.spans) == 0 {
				continue
			}
			whole := r.span(Phase, "", v.Began, v.Ended)
			row.Began, row.Ended, row.Spans = whole.Began, whole.Ended, v.spans
			row.Failed = v.Failed
			if row.Ready = row.Began; !w.Lazy[n] {
				row.Ready = min(max(ready, r.span(Phase, "", w.Began, w.Began).Began), row.Began)
			}
			slices.SortFunc(row.Spans, func(a, b Span) int { return cmp.Compare(a.Began, b.Began) })
			out.Rows = append(out.Rows, row)
		}
	}
	for i, n := range nodes {
		l := Link{Name: name(w, n), Walk: w.Title}
		for _, j := range []int{-1, jobs[i]} {
			if v := of[n][j]; v != nil {
				l.Name, l.Took = cmp.Or(v.name, l.Name), l.Took+v.busy()
			}
			if jobs[i] < 0 {
				break
			}
		}
		if l.Took > length/1000 {
			out.Chain = append(out.Chain, l)
		}
	}
	return length
}

func name(w *event.Walk, n int) string {
	if n < len(w.Names) {
		return w.Names[n]
	}
	return ""
}

// ends returns the end of each node of w, by the index of the node. The parameter of has the visits. If a node has no
// visit, its end is the end of its last predecessor.
func (r *Recorder) ends(w *event.Walk, of visits) []ended {
	out := make([]ended, len(w.Names))
	for _, n := range order(w.After) {
		out[n] = latest(w, out, n)
		for _, v := range of[n] {
			if at := v.Ended.Sub(r.began); at > out[n].at || out[n].node != n {
				out[n] = ended{at: max(at, 0), node: n}
			}
		}
	}
	return out
}

// ended is the end of a node. node is the index of the node whose visit ended at this time: the node itself, or a
// predecessor if the node has no visit. node is -1 if there is neither.
type ended struct {
	at   time.Duration
	node int
}

// latest returns the end of the predecessor of n that ended last. Its node is -1 if n has no predecessor with a visit.
func latest(w *event.Walk, ends []ended, n int) ended {
	out := ended{node: -1}
	for _, d := range w.After[n] {
		if e := ends[d]; e.node >= 0 && e.at > out.at {
			out = e
		}
	}
	return out
}

// last returns the name and the end of the predecessor of n that ended last. It returns "" and 0 if n has no
// predecessor with a visit.
func last(w *event.Walk, ends []ended, n int) (string, time.Duration) {
	out := latest(w, ends, n)
	if out.node < 0 {
		return "", 0
	}
	return w.Names[out.node], out.at
}

// Text formats a duration for people, such as 4.2 ms, 420 ms, 4.2 s or 2m5s.
func Text(d time.Duration) string {
	switch {
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1f ms", float64(d)/1e6)
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 100*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return d.Round(time.Second).String()
}
