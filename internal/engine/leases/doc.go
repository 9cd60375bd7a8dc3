// Package leases opens the ephemeral resources of a walk for their receivers, and closes them after their last users.
//
// The first receiver of a lease opens it. A job calls Receive for its declaration before it evaluates anything. The
// first call opens the lease; later calls get the same lease, renewed if a renewal is due, or the same diagnostics. If
// the lease is not open, the slot in the frame has a placeholder or no value. So a job need not know the result of
// Receive.
//
// Package receivers determines which declarations receive which leases, and thereby when leases are closed. The plan
// walk has closing nodes that wait for all receivers, with or without success, and Users for leases whose receivers all
// name instances. The apply walk has a closing step for each hold. Both call Close. End closes all leases that are
// still open.
//
// Options has two interfaces to the walk: an Opener, which has the providers and conditions of ephemeral resources, and
// Ready, which reports whether an ephemeral resource may be opened now. Package lease keeps the ledger of open leases
// and renews them.
package leases

import (
	"context"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/receivers"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/lease"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/object"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state/journal"
)

// Options are the dependencies and settings of the leases of a walk.
type Options struct {
	Program   *program.Program
	Receivers *receivers.Analysis
	Ledger    *lease.Ledger
	Journal   journal.Leases // records openings and closings; nil: not recorded
	All       *diag.Bag      // of the whole walk: for diagnostics of providers after the opening

	// Opener returns an Opener that reports to the bag.
	Opener func(*diag.Bag) Opener
	// Ready returns Known if an ephemeral resource may be opened as soon as its configuration is known. It returns
	// Pending if apply opens it, and Failed if a dependency failed. nil means that this walk opens all leases that it
	// needs.
	Ready func(e program.Decl, in addr.ModuleInstance) plan.Outcome
	// Later is true if a later round decides about some declarations (ADR 52). An ephemeral resource whose
	// configuration depends on them remains closed. Otherwise a walk without Ready knows all configurations.
	Later bool
	// Kept has the leases that stay open between rounds; nil: all leases are closed in this walk.
	Kept *Kept
	// Keep reports whether a later round needs an instance of an ephemeral resource. nil: the walk makes a plan, which
	// keeps the kept leases.
	Keep func(e program.Decl, key addr.Key) bool
	// InFlight is called before and after each opening. Between the two calls the result is not known.
	InFlight func(o addr.Object, is bool)
	Send     func(event.Event)
}

// Opener provides the tools and conditions to open instances of ephemeral resources.
type Opener interface {
	// Tools returns the configured provider of an instance on the face, and whether its settings are known. It returns
	// false if there is no provider, after reporting the error.
	Tools(ctx context.Context, e *program.Declaration, f *frame.Frame, key addr.Key, inst addr.Instance, face frame.Face) (t *object.Tools, known, ok bool)
	// Pre checks the preconditions of an instance.
	Pre(e *program.Declaration, f *frame.Frame, key addr.Key, inst addr.Instance) bool
	// Post checks the postconditions of an instance against its value.
	Post(e *program.Declaration, f *frame.Frame, key addr.Key, inst addr.Instance, value func() mark.Value) bool
}
