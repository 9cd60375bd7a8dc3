package guard

import (
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/zclconf/go-cty/cty"
)

// Answer is a provider's answer to one call about one object. Other packages cannot read the fields. They pass the
// answer to Guard.Admit, which checks it.
type Answer struct {
	of         *call
	mayDefer   bool   // the request allowed the provider to defer
	sent       []byte // the private data of the request
	state      provider.Dynamic
	private    []byte
	identity   provider.Dynamic
	replace    []cty.Path
	found      []provider.Imported
	name       string // the name of a list result, or the text about the progress of an action
	ended      bool   // whether the action has ended
	renewAt    time.Time
	legacy     bool
	unanswered bool
	deferred   provider.Deferred
	diags      provider.Diags

	wire []byte // the field state as MessagePack; nil until admission.encoded sets wire
}

// Terms describe the permitted contents of an answer. The caller sets only the fields that concern its kind of call.
// Words in parentheses name the kind of call.
type Terms struct {
	// Config is the configuration of the request. The object in the answer may contain the values of the configuration,
	// except the values of write-only arguments.
	Config mark.Value
	// Was is the stored prior object, or nil. The object in the answer may contain the texts of Was at the same paths,
	// even if they are secrets.
	Was *state.Entry
	// Current is true if Was has the current version of the schema and no attributes that the schema lacks (read).
	Current bool
	// Prior is the value of the prior object, or null if the object is to be created (plan).
	Prior cty.Value
	// Want is the proposed object (plan) or the planned object (apply).
	Want cty.Value
	// Sent is the encoded object of the request: the proposed object (plan) or the prior object (read). If the answer
	// has the same bytes, its value is the same, and Admit skips some checks.
	Sent []byte
	// Identity is the planned identity, or NilVal (apply).
	Identity cty.Value
	// From is the address from which the provider moves the object (move).
	From addr.Instance
	// ID is the id of an import. Several is true if the answer may have more than one object.
	ID      string
	Several bool

	// Unanswered is a text that Admit appends to the errors of a call that the provider did not answer (apply,
	// actions). It continues a sentence whose subject is the address of the object.
	Unanswered string
	// Missing destroys a created object that could not be found again, because the guard removed its identifier from
	// the answer. made is the answer that created the object. Missing returns true if the object no longer exists
	// (apply).
	Missing func(made *Answer) (missing bool)
	// Held receives the lease that the provider may now hold open. Admit calls Held before it checks the rest of the
	// answer (open).
	Held func(Lease)
}

// A Lease is the handle of an ephemeral resource that a provider holds open after a call of Open. It is never stored.
type Lease struct {
	Private []byte
	RenewAt time.Time
}

// Admitted has the parts of an answer that conform to the protocol and contain no forbidden secret.
type Admitted struct {
	Object   Presence
	Outcome  plan.Outcome // Known, Failed, or Deferred with the provider's reason
	Value    cty.Value    // the object; NilVal if Object is not Present, and if the check of an upgrade did not decode it
	Wire     []byte       // the object, encoded; nil if a part was removed and no later step needs the encoded object
	Private  []byte
	Identity cty.Value  // the identity of the object; NilVal if the answer has none
	Replace  []cty.Path // attributes whose change needs a replacement
	Legacy   bool       // the provider uses an SDK that cannot keep all rules of the protocol (legacy type system)

	Succeeded  bool // the provider reported no error
	Unanswered bool // the call was made and not answered, so its effect is unknown
	Same       bool // the answer has the object, the private data and the identity of the stored entry, so the caller keeps this entry (read)
	Missing    bool // Terms.Missing destroyed the object (apply)

	Name  string // name of a list result, or progress message of an action
	Ended bool   // the action has ended, or no further answer will report its end

	Removed []Removal // the parts that were removed because they contained a secret

	look *look
}

// Presence describes whether an answer has an object that may be used.
type Presence int

const (
	// Missing means that the answer has no object: the call failed, the provider deferred its answer, or the answer is
	// empty.
	Missing Presence = iota
	// Null means that the object does not exist.
	Null
	// Refused means that no part of the object may be used, because it does not match the schema or breaks the
	// protocol.
	Refused
	// Present means that the object may be used, even if Admit returned false. In this case the parts that contain
	// secrets were removed from the object.
	Present
)

// A call is a kind of call of the provider protocol, with the function that checks the answers to such calls.
type call struct {
	title string // the title of errors about the answer
	when  string // the phase in errors about write-only attributes and unknown values, such as "after apply"
	admit func(*admission) bool
}

// An admission is the check of one answer. Its methods return false if they reported an error.
type admission struct {
	look
	answer *Answer
	terms  Terms
	out    Admitted
}

// refuse records that no part of the object may be used. It returns false.
func (a *admission) refuse() bool {
	a.out.Object = Refused
	return false
}

// present records that the object may be used. It returns ok.
func (a *admission) present(ok bool) bool {
	a.out.Object = Present
	return ok
}
