// Package event defines the events that the engine reports.
//
// The engine reports all steps as events to one Sink. Views compute text output, the JSON stream and the live status
// from the events (invariant I13). Only this package defines event types, so that views can switch on the type. Events
// contain addresses and plain facts, and never a value that could be secret. For example, results of searches lack
// their sensitive values. No event is a heartbeat ("Still creating..."): views make these lines themselves, because
// they know when a step began.
package event

import (
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/plan"
)

// Event is a fact about the progress of a run. Only the types of this package implement it.
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
	Invoke
)

func (o Op) String() string {
	return [...]string{"", "refresh", "import", "read", "create", "update", "delete", "forget", "open", "renew", "close", "provision", "invoke"}[o]
}

// Call is a kind of call to a provider. Views print the text of the constant. Call.Repeats reports whether a failed
// call may be repeated.
type Call string

// The kinds of calls.
const (
	CallRead     Call = "read"
	CallPlan     Call = "plan"
	CallReadData Call = "data source"
	CallImport   Call = "import"
	CallOpen     Call = "open"
	CallCreate   Call = "create"
	CallUpdate   Call = "update"
	CallDelete   Call = "delete"
)

// Repeats reports whether a failed call of this kind may be repeated. A creation is never repeated, because it may have
// made an object. An update or a deletion is repeated only if idempotent is true: the user declared the calls of the
// resource type idempotent.
func (c Call) Repeats(idempotent bool) bool {
	return c != CallCreate && (idempotent || c != CallUpdate && c != CallDelete)
}

// Invocation is an invocation of an action, with the change that invokes it.
type Invocation struct {
	Action  addr.Instance
	Trigger plan.Trigger
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
	// Done reports the successful end of a call for an object. IDKey, ID and Refreshing have the meaning of the fields
	// of Started.
	Done struct {
		Object     addr.Object
		Op         Op
		IDKey, ID  string
		Refreshing bool
		Took       time.Duration
	}
	// Failed reports the failure of a call for an object. The diagnostics of the call are reported separately.
	Failed struct {
		Object addr.Object
		Op     Op
		Took   time.Duration
		Eased  bool   // views show the error as a warning, because the object is in a check block
		Reason string // the reason in one line; only for an unrenewed lease, whose diagnostics follow later
	}
	// Retried reports that a call failed and will be repeated.
	Retried struct {
		Object            addr.Object
		Call              Call
		Match             string        // the text of the user's policy that the error contains
		Attempt, Attempts int           // the number of the next attempt, from 2, and the maximum number of attempts
		Pause             time.Duration // the time until the next attempt
	}
	// Pending reports that the apply will read a data source or open an ephemeral resource (plan.Pending).
	Pending struct {
		Object addr.Object
		Reason string // the reason for the deferral, such as "Configuration unknown"
	}
	// Stored reports that Lethe used a stored result of a data source instead of reading the data source.
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
	// ActionStarted reports the start of an invocation of an action.
	ActionStarted struct{ Invocation }
	// ActionProgress is a message of an action about its progress. Secrets and control characters were removed from it.
	ActionProgress struct {
		Invocation
		Message string
	}
	// ActionDone reports the end of an invocation of an action. Error is the summary of the provider's error, or "" if
	// the action succeeded.
	ActionDone struct {
		Invocation
		Failed bool
		Error  string
	}
	// Transfer reports the progress of a download, or of work on many versions or copies of a state. A download sends it
	// at the start, at most ten times per second, and at the end. Other work sends it before each version or copy, and at
	// the end. The event for the end is sent also after an error or an interrupt.
	Transfer struct {
		Name  string // the downloaded package, or a description of the work
		Done  int64  // the amount done, in Unit
		All   int64  // the whole amount, in Unit; 0 or less if unknown
		Unit  string // the unit of Done and All in the plural, such as "versions"; "" means bytes
		Ended bool
	}
	// Summary reports the end of an apply.
	Summary struct {
		Operation                                               string // the name of the operation: "apply" or "destroy"
		Added, Changed, Destroyed, Imported, Forgotten, Invoked int
		Failed                                                  bool          // errors or an interrupt prevented completion
		NotStarted                                              []addr.Object // if Failed is true: the objects whose operation was not started, sorted by address
		Secrets                                                 *Secrets      // the numbers of secrets in the state; nil: not counted
	}
	// Secrets are the numbers of secrets that the state stores in clear before and after the apply.
	Secrets struct{ Before, After int }
	// Leases reports the end of a plan or an apply in which leases (ephemeral resources) were opened or closed, with
	// the numbers of leases. Kept leases stay open for the next plan or apply of the command. Left leases stay open
	// because they could not be closed. Longest is the longest time for which a lease was open.
	Leases struct {
		Opened, Renewed, Closed, Kept, Left int
		Longest                             time.Duration
	}
	// Round reports the start of a round of an apply, after the plan of the round, or the end of the round (ADR 52). A
	// round is one plan and its apply. Number counts the rounds of the command from 1. Left is the number of changes that
	// are left to later rounds. Added, Changed and Destroyed count the objects that the round changed; they are set if
	// Ended is true.
	Round struct {
		Number, Left              int
		Ended                     bool
		Added, Changed, Destroyed int
	}
	// Diagnosed reports an error or a warning that views show at once.
	Diagnosed struct{ Diagnostic diag.Diagnostic }
	// Behind wraps an event of a run block in a test file. Views use Event only to track the operations in progress,
	// and print no line for it. Run is the name of the run block.
	Behind struct {
		Run   string
		Event Event
	}
	// ListStarted reports the start of a search for objects. Config has the arguments as JSON, without unknown,
	// sensitive and ephemeral values. Config is nil if the list block has no arguments.
	ListStarted struct {
		List   addr.Instance
		Config []byte
	}
	// ListFound reports a result of a search. Identity is the resource identity as JSON. Object is the found object as
	// JSON. Both lack sensitive values, and may be nil.
	ListFound struct {
		List             addr.Instance
		Name             string // the name of the object, for people
		Identity, Object []byte
		IdentityVersion  int64
		Config, Import   string // generated blocks; "" unless the command generates configuration
		Managed          string // "unmanaged": no state contains the object; "unknown": this cannot be determined; "": the command does not compare results with states
	}
	// ListDone reports the end of a search without errors. Managed counts results that were not reported because a
	// state contains them, and Ignored counts other results that were not reported. Unsure counts reported results for
	// which the command cannot determine whether a state contains them. Managed and Unsure are zero if the command does
	// not compare the results with states.
	ListDone struct {
		List                     addr.Instance
		Total                    int // number of results that were reported
		Managed, Unsure, Ignored int
	}
	// Interrupted reports an interrupt by the user. Times counts the interrupts of the command, from 1.
	Interrupted struct{ Times int }
	// Note is a line of text about progress, such as "Acquiring state lock...".
	Note struct {
		Text   string
		Kind   string // the type of the line in JSON; "" for a line of the log or of init
		Code   string // the code of the message in init's JSON; "" for a line of the log
		Record string // the text for JSON output; "" means that it is Text
	}
)

func (Started) event()          {}
func (Done) event()             {}
func (Failed) event()           {}
func (Retried) event()          {}
func (Pending) event()          {}
func (Stored) event()           {}
func (Imported) event()         {}
func (ProvisionStarted) event() {}
func (ActionStarted) event()    {}
func (ActionProgress) event()   {}
func (ActionDone) event()       {}
func (ProvisionOutput) event()  {}
func (ProvisionDone) event()    {}
func (Transfer) event()         {}
func (Summary) event()          {}
func (Leases) event()           {}
func (Round) event()            {}
func (ListStarted) event()      {}
func (ListFound) event()        {}
func (ListDone) event()         {}
func (Diagnosed) event()        {}
func (Behind) event()           {}
func (Interrupted) event()      {}
func (Note) event()             {}

// Discard is a sink that ignores events.
var Discard Sink = discard{}

type discard struct{}

func (discard) Send(Event) {}
