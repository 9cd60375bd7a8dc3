// Package tracedoc writes a recorded run as Chrome trace events, which Perfetto and chrome://tracing show.
package tracedoc

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/lethe-iac/lethe/internal/timing"
)

// document is the whole file, in the object form of the trace event format.
type document struct {
	Unit   string            `json:"displayTimeUnit"`
	Other  map[string]string `json:"otherData"`
	Events []event           `json:"traceEvents"`
}

// event is a trace event. Times are in microseconds.
type event struct {
	Name  string         `json:"name"`
	Kind  string         `json:"cat,omitempty"`
	Phase string         `json:"ph"`
	At    float64        `json:"ts"`
	Took  *float64       `json:"dur,omitempty"`
	PID   int            `json:"pid"`
	TID   int            `json:"tid"`
	ID    int            `json:"id,omitempty"`
	Args  map[string]any `json:"args,omitempty"`
}

// Tracks: the rows into which the viewers put events. firstLane is the first track for objects.
const (
	phases = iota
	starts
	firstLane
)

// writer collects the trace events of a run.
type writer struct {
	events []event
	scrub  func(string) string // masks secrets in names of objects and other texts; never nil
}

// Write writes the trace events of a run. scrub masks secrets in names of objects and other texts; nil: the texts stay
// unchanged. Write returns the error of w.
func Write(w io.Writer, r *timing.Run, product string, scrub func(string) string) error {
	if scrub == nil {
		scrub = func(s string) string { return s }
	}
	t := &writer{scrub: scrub}
	t.track(phases, "run")
	t.track(starts, "provider starts")
	t.slice(phases, timing.Span{Name: r.Command, Ended: r.Took}, "command", nil)
	for _, s := range r.Phases {
		t.slice(phases, s, "phase", nil)
	}
	for _, s := range r.Starts {
		t.slice(starts, s, "start", nil)
	}
	t.rows(r.Rows)
	for i, l := range r.Leases {
		t.add(event{Name: scrub(l.Name), Kind: "lease", Phase: "b", At: micro(l.Began), ID: i + 1})
		for _, at := range l.Renewed {
			t.add(event{Name: "renewed", Kind: "lease", Phase: "n", At: micro(at), ID: i + 1})
		}
		t.add(event{Name: scrub(l.Name), Kind: "lease", Phase: "e", At: micro(l.Ended), ID: i + 1, Args: map[string]any{"closed": !l.Open}})
	}
	for _, l := range r.Running {
		t.add(event{Name: "calls in progress", Phase: "C", At: micro(l.At), Args: map[string]any{"calls": l.N}})
	}
	return json.NewEncoder(w).Encode(document{"ms", map[string]string{
		"program": product, "command": r.Command, "began": r.Began.UTC().Format(time.RFC3339Nano),
		"parallelism": fmt.Sprint(r.Parallelism), "bound": r.Bound.String(), "interrupted": fmt.Sprint(r.Interrupted),
	}, t.events})
}

func micro(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }

func (t *writer) add(e event) {
	e.PID = 1
	t.events = append(t.events, e)
}

func (t *writer) track(id int, name string) {
	t.add(event{Name: "thread_name", Phase: "M", TID: id, Args: map[string]any{"name": name}})
}

func (t *writer) slice(track int, s timing.Span, kind string, args map[string]any) {
	took := micro(s.Took())
	t.add(event{Name: t.scrub(s.Name), Kind: kind, Phase: "X", At: micro(s.Began), Took: &took, TID: track, Args: args})
}

// rows writes each row to the first track whose rows have ended, or to a new track. The rows of a track must not
// overlap. The spans (calls) of a row are nested in its event.
func (t *writer) rows(rows []timing.Row) {
	var free []time.Duration
	for _, r := range rows {
		lane := 0
		for lane < len(free) && free[lane] > r.Began {
			lane++
		}
		if lane == len(free) {
			free = append(free, 0)
			t.track(firstLane+lane, fmt.Sprintf("worker %d", lane+1))
		}
		free[lane] = r.Ended
		args := map[string]any{"ready_after": t.scrub(r.After), "waited_ms": micro(r.Began-r.Ready) / 1000, "critical": r.Critical, "failed": r.Failed}
		t.slice(firstLane+lane, timing.Span{Name: r.Name, Began: r.Began, Ended: r.Ended}, "object", args)
		for _, s := range r.Spans {
			if s.Kind == timing.Wait || s.Kind == timing.Limit {
				s.Name = "waiting for " + s.Name
			}
			t.slice(firstLane+lane, s, s.Kind.String(), nil)
		}
	}
}
