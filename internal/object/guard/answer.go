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

// Answer is a provider's answer to one call about one object. No other package can read it. Admit checks it.
type Answer struct {
	of         *call
	mayDefer   bool   // the request allowed the provider to defer
	sent       []byte // the private data of the request
	state      provider.Dynamic
	private    []byte
	identity   provider.Dynamic
	replace    []cty.Path
	found      []provider.Imported
	name       string // of a list result; the progress of an action
	ended      bool   // the action has ended
	renewAt    time.Time
	legacy     bool
	unanswered bool
	deferred   provider.Deferred
	diags      provider.Diags

	wire []byte // state as MessagePack, once it is encoded
}

// Terms describe the permitted contents of an answer. Each kind of call sets only the fields that it needs.
type Terms struct {
	// Config is the configuration of the request. The object in the answer may contain the values of the configuration,
	// except the values of write-only arguments.
	Config mark.Value
	// Was is the stored prior object, or nil. The object in the answer may contain the same values at the same paths.
	Was *state.Entry
	// Current is true if Was stores the object in the form of the current schema (read).
	Current bool
	// Prior is the value of the prior object, or null if the object is to be created (plan).
	Prior cty.Value
	// Want is the proposed object (plan) or the planned object (apply).
	Want cty.Value
	// Sent is the encoded object of the request: the proposed object (plan) or the prior object (read). If the answer
	// has the same bytes, its value is the same, and some checks are not needed.
	Sent []byte
	// Identity is the planned identity, or NilVal (apply).
	Identity cty.Value
	// From is the address whose object the provider moves (move).
	From addr.Instance
	// ID and Several are the id of an import, and whether its answer may have more than one object.
	ID      string
	Several bool

	// Unanswered ends the errors about a call that was made and not answered (apply, actions). It continues a sentence
	// whose subject is the address of the object.
	Unanswered string
	// Missing destroys a created object that cannot be found again, because its identifier was removed from the answer.
	// made is the answer about it. The result missing reports whether the object no longer exists. (apply)
	Missing func(made *Answer) (missing bool)
	// Held receives the lease that the provider holds open from now on, before the rest of the answer is checked
	// (open).
	Held func(Lease)
}

// A Lease is a resource that a provider may hold open after a call of Open. It is never stored.
type Lease struct {
	Private []byte
	RenewAt time.Time
}

// Admitted has the parts of an answer that conform to the protocol and that its object may contain.
type Admitted struct {
	Object   Presence
	Outcome  plan.Outcome // Known, Failed, or Deferred with the provider's reason
	Value    cty.Value    // the object; NilVal if Object is not Present, and after an upgrade
	Wire     []byte       // the object, encoded; nil if a part was removed and no later step needs the encoded object
	Private  []byte
	Identity cty.Value  // NilVal if the answer has none
	Replace  []cty.Path // attributes whose change needs a replacement
	Legacy   bool       // the provider's SDK cannot keep all rules of the protocol

	Succeeded  bool // the provider reported no error
	Unanswered bool // the call was made, and no answer came: its outcome is unknown
	Same       bool // the answer is the stored object (read)
	Missing    bool // Terms.Missing destroyed the object (apply)

	Name  string // of a list result or the progress of an action, for people
	Ended bool   // the action has ended, or its end will not be known

	Removed []Removal // the parts with a secret, removed and reported

	look *look
}

// Presence describes whether an answer has an object that may be used.
type Presence int

const (
	// Missing means that the answer has no object at all, that the call failed, or that the provider deferred it.
	Missing Presence = iota
	// Null means that there is no such object.
	Null
	// Refused means that no part of the object may be used: the schema does not describe it, or it breaks the protocol.
	Refused
	// Present means that the object may be used. If Admit returned false, it has lost the parts that broke a rule.
	Present
)

// A call is a call of the protocol with the checks of its answers.
type call struct {
	title string // of the errors about the answer
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

// refuse records that no part of the object may be used.
func (a *admission) refuse() bool {
	a.out.Object = Refused
	return false
}

// present records that the object may be used. It returns ok.
func (a *admission) present(ok bool) bool {
	a.out.Object = Present
	return ok
}
