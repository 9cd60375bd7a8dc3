package timing

import "time"

// Run is a recorded command. Began is the time of its start. All other points in time are durations since Began.
type Run struct {
	Command     string
	Began       time.Time
	Took        time.Duration
	Parallelism int
	Interrupted bool

	Phases []Span // parts of the command in sequence, such as a plan or an apply (walks)
	Rows   []Row
	Leases []Window
	Starts []Span // the starts of provider processes
	Chain  []Link // the longest chain of calls of all walks
	// Bound is the duration that the command would have with unlimited parallelism and without waiting for the user:
	// the longest chain of calls of each walk, and the time outside of walks and questions.
	Bound   time.Duration
	Types   []TypeTime // the times of calls by resource type, the longest total first
	Running []Level    // the number of calls in progress
}

// Row is the work on one object in a walk (the graph of a plan or an apply): a visit of a node that called a provider
// or waited.
type Row struct {
	Name     string
	Walk     string
	After    string        // the name of the predecessor that ended last; "" for none
	Ready    time.Duration // when the row could begin; from Ready to Began, it waited for a worker
	Began    time.Duration
	Ended    time.Duration
	Spans    []Span
	Failed   bool
	Critical bool // the row belongs to the longest chain of calls
}

// Kind tells how a run spent the time of a span: it worked, or it waited.
type Kind uint8

// The kinds of spans.
const (
	Phase     Kind = iota
	Call           // a call of a provider, or a provisioner
	Configure      // start and configuration of a provider, within a row
	Limit          // waiting for a call of another row to end, because of -parallelism
	Wait           // waiting for another row, or for the next attempt
	Start          // start of a provider process, in Run.Starts
)

func (k Kind) String() string {
	return [...]string{"phase", "call", "configure", "limit", "wait", "start"}[k]
}

// Span is a part of the time of a row or of a run. Name is the name of the phase, the call, the provider, or the reason
// for waiting.
type Span struct {
	Kind         Kind
	Name         string
	Began, Ended time.Duration
}

// Took returns the duration of a span.
func (s Span) Took() time.Duration { return s.Ended - s.Began }

// Window is the time while an ephemeral resource is open, from Began to Ended. If the resource was not closed, Open is
// true and Ended is the end of the run. Renewed has the times of its renewals.
type Window struct {
	Name         string
	Began, Ended time.Duration
	Renewed      []time.Duration
	Open         bool // the resource was not closed
}

// Link is one row of the longest chain of calls. Took is the time of the row's calls.
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

// Level is the number N of calls in progress from the time At until the time of the next Level.
type Level struct {
	At time.Duration
	N  int
}
