package plan

// Outcome is the progress of a walk (a plan or an apply) for one instance of a managed resource, a data source or an
// ephemeral resource. No other type represents that an instance has no value yet. The zero value is Failed.
type Outcome struct {
	Kind OutcomeKind
	Why  Reason // the reason; set only for the kinds Pending and Deferred
}

// OutcomeKind tells whether the walk has done its work for an instance, and who does it otherwise.
type OutcomeKind uint8

const (
	// Failed means that the instance has no value. The error was reported. Whatever uses the value fails, too, without a
	// message.
	Failed OutcomeKind = iota
	// Known means that the walk has done its work: the object is planned or applied, the data source was read, the
	// lease is open. A planned value may have unknown parts.
	Known
	// Pending means that the apply of this plan does the work: it reads the data source, or opens the lease. In this
	// walk the instance has a placeholder with unknown parts. The plan has a change for a pending data source.
	Pending
	// Deferred means that a later round, a further plan and apply, decides about the instance (ADR 52). This plan
	// changes nothing about it. A provider defers its answer only if the request allowed that (provider.Allow);
	// otherwise a deferral is a breach of the protocol and ends in Failed.
	Deferred
)

// Done returns the outcome Known if ok is true, and Failed otherwise.
func Done(ok bool) Outcome {
	if ok {
		return Outcome{Kind: Known}
	}
	return Outcome{}
}

// Await returns Pending with the reason.
func Await(why Reason) Outcome { return Outcome{Kind: Pending, Why: why} }

// Defer returns Deferred with the reason, which is a reason of the protocol.
func Defer(why string) Outcome { return Outcome{Kind: Deferred, Why: Reason(why)} }

// HasValue reports whether the instance has a value in this walk, or a placeholder.
func (o Outcome) HasValue() bool { return o.Kind == Known || o.Kind == Pending }

// String returns the kind, and the reason if there is one.
func (o Outcome) String() string {
	name := [...]string{"failed", "known", "pending", "deferred"}[o.Kind]
	if o.Why != NoReason {
		name += " (" + string(o.Why) + ")"
	}
	return name
}
