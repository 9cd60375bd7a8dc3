// Package event defines the events that the engine reports.
//
// The engine reports all steps as events to one Sink. Text output, the JSON stream, the live status and tests are
// computed from the events (invariant I13). The set of event types is closed, so that views can switch on the type.
// Events contain addresses and plain facts, and never a value that could be secret. Views create heartbeats themselves,
// because they know when a step began.
package event

import (
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
)

// Event is an event. Only the types of this package implement it.
type Event interface{ event() }

// Sink receives events. Send may be called from many goroutines.
type Sink interface{ Send(Event) }

// Op is an operation on an object.
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
	// Started reports the start of a call for an object. IDKey and ID are the name ("id" or "name") and the value of
	// the attribute that identifies the object. They are empty if the attribute is unknown, sensitive or absent.
	Started struct {
		Object     addr.Object
		Op         Op
		IDKey, ID  string
		Refreshing bool // in the refresh phase (the JSON stream distinguishes reads of data sources)
		At         time.Time
	}
	// Done reports the successful end of a call.
	Done struct {
		Object     addr.Object
		Op         Op
		IDKey, ID  string
		Refreshing bool
		Took       time.Duration
	}
	// Failed reports the failure of a call. Its diagnostics are reported separately.
	Failed struct {
		Object addr.Object
		Op     Op
		Took   time.Duration
		Eased  bool   // the error is a warning, because the object is in a check block
		Reason string // one line, if the failure is reported before its diagnostics: a lease that could not be renewed
	}
	// Pending reports that the apply will read a data source or open an ephemeral resource (plan.Pending).
	Pending struct {
		Object addr.Object
		Reason string // such as "Configuration unknown"
	}
	// Stored reports that a stored result was used instead of reading a data source.
	Stored struct{ Object addr.Object }
	// Imported reports that the plan contains the import of an object.
	Imported struct {
		Object addr.Object
		ID     string
	}
	// ProvisionStarted reports the start of a provisioner.
	ProvisionStarted struct {
		Object addr.Object
		Type   string
	}
	// ProvisionOutput is a line of a provisioner's output.
	ProvisionOutput struct {
		Object addr.Object
		Type   string
		Line   string
	}
	// ProvisionDone reports the end of a provisioner.
	ProvisionDone struct {
		Object addr.Object
		Type   string
		Failed bool
	}
	// Transfer reports the progress of a download, or of reading many texts: at its start, a few times per second, and at
	// its end, also after an error.
	Transfer struct {
		Name  string // of the downloaded package
		Done  int64  // bytes
		All   int64  // bytes; 0 or less if unknown
		Unit  string // the unit of Done and All in the plural, such as "versions"; "" for bytes
		Ended bool
	}
	// Summary reports the end of an apply.
	Summary struct {
		Operation                                      string // "apply" or "destroy"
		Added, Changed, Destroyed, Imported, Forgotten int
		Failed                                         bool          // errors or an interrupt prevented its completion
		NotStarted                                     []addr.Object // objects whose operation was not started then, in the order of their addresses
	}
	// Leases reports the end of a walk in which leases were opened.
	Leases struct {
		Opened, Renewed, Closed, Left int
		Longest                       time.Duration
	}
	// Diagnosed reports a diagnostic that views show at once.
	Diagnosed struct{ Diagnostic diag.Diagnostic }
	// Behind wraps an event in the run of a test. Views use it to track operations in progress, and print no line for
	// it.
	Behind struct {
		Run   string
		Event Event
	}
	// Interrupted reports the n-th interrupt of the user.
	Interrupted struct{ Times int }
	// Note is a line of progress without further structure ("Acquiring state lock...").
	Note struct {
		Text   string
		Kind   string // the type of the line in JSON; "" for a line of the log or of init
		Code   string // the code of the message in init's JSON; "" for a line of the log
		Record string // the text in JSON if it differs; "" means Text
	}
)

func (Started) event()          {}
func (Done) event()             {}
func (Failed) event()           {}
func (Pending) event()          {}
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

// Discard is a sink that ignores events.
var Discard Sink = discard{}

type discard struct{}

func (discard) Send(Event) {}
