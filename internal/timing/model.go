package timing

import "time"

// Run is a recorded command. All times in it are durations since Began.
type Run struct {
	Command     string
	Began       time.Time
	Took        time.Duration
	Parallelism int
	Interrupted bool

	Phases  []Span // parts of the command in sequence, and walks
	Rows    []Row
	Leases  []Window
	Starts  []Span        // the starts of provider processes
	Chain   []Link        // the longest chain of calls of all walks
	Bound   time.Duration // the time without any wait for other calls or for the user: the longest chains of calls, and the phases outside of walks
	Types   []TypeTime    // the longest total first
	Running []Level       // the number of calls in progress
}

// Row is one object in a walk: a visit with calls or waiting.
type Row struct {
	Name     string
	Walk     string
	After    string        // the predecessor that ended last
	Ready    time.Duration // when the row could begin; until Began, it waited for a worker
	Began    time.Duration
	Ended    time.Duration
	Spans    []Span
	Failed   bool
	Critical bool // in the longest chain
}

// Kind is the kind of a span.
type Kind uint8

// The kinds of spans.
const (
	Phase     Kind = iota
	Call           // a call of a provider, or a provisioner
	Configure      // start and configuration of a provider
	Limit          // waiting because of -parallelism
	Wait           // waiting for another row, or for the next attempt
	Start          // start of a provider process
)

func (k Kind) String() string {
	return [...]string{"phase", "call", "configure", "limit", "wait", "start"}[k]
}

// Span is a part of the time of a row or a run. Name is the call, the provider or the reason for waiting.
type Span struct {
	Kind         Kind
	Name         string
	Began, Ended time.Duration
}

// Took returns the duration of a span.
func (s Span) Took() time.Duration { return s.Ended - s.Began }

// Window is the time while a lease is open. Ended is the end of the run if the lease was not closed.
type Window struct {
	Name         string
	Began, Ended time.Duration
	Renewed      []time.Duration
	Open         bool // not closed
}

// Link is one row of the longest chain. Took is the time of its calls.
type Link struct {
	Name, Walk string
	Took       time.Duration
}

// TypeTime is the time of all calls for one resource type. Waited is the time that the calls waited because of
// -parallelism; Total does not contain it.
type TypeTime struct {
	Type                   string
	Calls                  int
	Total, Longest, Waited time.Duration
}

// Level is the number of calls in progress from a time on.
type Level struct {
	At time.Duration
	N  int
}
