// Package event is what happened, as data.
//
// The engine tells everything it does as events to one Sink; human lines, the JSON stream, the
// live status and tests are folds over them (invariant I13). The set is closed: views switch on
// it. Events carry addresses and plain facts, never a value that could be secret; heartbeats are
// the view's business, which knows when something began.
package event

import (
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
)

// Event is one thing that happened. The types of this package are all there are.
type Event interface{ event() }

// Sink takes events: Tell is called from many goroutines.
type Sink interface{ Tell(Event) }

// Op is what is done to an object.
type Op uint8

// The operations.
const (
	Refresh Op = iota + 1
	Import
	ReadData
	Create
	Update
	Delete
	Forget
	Open
	Renew
	Close
	Provision
)

func (o Op) String() string {
	return [...]string{"", "refresh", "import", "read", "create", "update", "delete", "forget", "open", "renew", "close", "provision"}[o]
}

type (
	// Started says that a call for an object began. ID is what identifies it where known: the
	// attribute IDKey ("id" or "name") and its value, empty if unknown, sensitive or absent.
	Started struct {
		Object     addr.Object
		Op         Op
		IDKey, ID  string
		Refreshing bool // in the refresh phase (JSON stream tells reads of data apart)
		At         time.Time
	}
	// Done says that it ended well.
	Done struct {
		Object     addr.Object
		Op         Op
		IDKey, ID  string
		Refreshing bool
		Took       time.Duration
	}
	// Failed says that it did not; the diagnostics come separately.
	Failed struct {
		Object addr.Object
		Op     Op
		Took   time.Duration
		Eased  bool   // the error is a warning: the object stands in a check block
		Reason string // of what is reported before the diagnostics are: a lease that could not be renewed; one line
	}
	// Deferred says that a data source or an ephemeral resource is left for apply.
	Deferred struct {
		Object addr.Object
		Reason string // "Configuration unknown", or such
	}
	// Stored says that a stored data result was used instead of reading.
	Stored struct{ Object addr.Object }
	// Moved, imported etc. notes of the planning phase.
	Imported struct {
		Object addr.Object
		ID     string
	}
	// ProvisionStarted says that a provisioner of an object begins.
	ProvisionStarted struct {
		Object addr.Object
		Type   string
	}
	// ProvisionOutput is one line of what a provisioner prints.
	ProvisionOutput struct {
		Object addr.Object
		Type   string
		Line   string
	}
	// ProvisionDone says that a provisioner has ended.
	ProvisionDone struct {
		Object addr.Object
		Type   string
		Failed bool
	}
	// Transfer says how much of a package is here. It is told when a download begins, some times a second, and when it
	// has ended, well or not.
	Transfer struct {
		Name  string // of what is downloaded
		Done  int64  // bytes
		All   int64  // bytes; not above 0: not known
		Ended bool
	}
	// Summary ends an apply.
	Summary struct {
		Operation                                      string // "apply" or "destroy"
		Added, Changed, Destroyed, Imported, Forgotten int
		Failed                                         bool          // errors or an interrupt kept it from its end
		NotBegun                                       []addr.Object // and from these, in the order of their addresses
	}
	// Leases ends a walk in which leases were opened.
	Leases struct {
		Opened, Renewed, Closed, Left int
		Longest                       time.Duration
	}
	// Diagnosed passes a diagnostic on as soon as it is known.
	Diagnosed struct{ Diagnostic diag.Diagnostic }
	// Behind wraps what happens in the run of a test: views count it as under way, and print no line about it.
	Behind struct {
		Run   string
		Event Event
	}
	// Interrupted says that the user asked to stop, for the n-th time.
	Interrupted struct{ Times int }
	// Note is a line of progress without further structure ("Acquiring state lock...").
	Note struct {
		Text   string
		Kind   string // the type of the line for programs, "" for a line of the log or of init
		Code   string // what it is to programs that follow init; "" for a line of the log
		Record string // what programs read in its place; "" for the text
	}
)

func (Started) event()          {}
func (Done) event()             {}
func (Failed) event()           {}
func (Deferred) event()         {}
func (Stored) event()           {}
func (Imported) event()         {}
func (ProvisionStarted) event() {}
func (ProvisionOutput) event()  {}
func (ProvisionDone) event()    {}
func (Transfer) event()         {}
func (Summary) event()          {}
func (Leases) event()           {}
func (Diagnosed) event()        {}
func (Behind) event()           {}
func (Interrupted) event()      {}
func (Note) event()             {}

// Discard is a sink that forgets.
var Discard Sink = discard{}

type discard struct{}

func (discard) Tell(Event) {}
