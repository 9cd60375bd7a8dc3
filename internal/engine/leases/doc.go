// Package leases opens the ephemeral resources of a walk (the run of a plan or an apply) for their receivers, and
// closes them after their last users. A lease is an open ephemeral resource. A receiver is a resource, a provider
// configuration or a declaration with conditions that uses its value.
//
// A job (the work of one node of the walk) calls Receive for its declaration before it evaluates anything. The first
// call opens the lease. Later calls use the same lease, renewed if a renewal is due, or report the same diagnostics. If
// the lease is not open, its slot in the frame (the place of its value) has a placeholder or is marked as failed, so a
// job does not need a result of Receive.
//
// Package receivers determines which declarations receive which ephemeral resources, and so when leases are closed. In
// the plan walk, a closing node waits until all receivers have ended, with or without success. If each receiver names
// the instances that it uses, the type Users closes the lease of each instance separately, earlier than the closing
// node. In the apply walk, package ordering makes a closing step for each lease or group of leases. End closes the
// leases that are still open at the end of a walk, except the leases that a later round (a further plan and apply of
// the command) needs.
//
// Options connects the leases to the walk: Options.Opener gives access to the providers and the conditions of ephemeral
// resources, and Options.Ready decides whether an ephemeral resource may be opened now. Package lease has the list of
// open leases (the ledger), and renews and closes them.
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
	All       *diag.Bag      // the bag of the whole walk, for diagnostics of renewals and closings

	// Opener returns an Opener that reports diagnostics to the bag.
	Opener func(*diag.Bag) Opener
	// Ready returns Known if an ephemeral resource may be opened as soon as its configuration is known. It returns
	// Pending if apply opens it, and Failed if a dependency failed. nil means that this walk opens all leases that it
	// needs.
	Ready func(e program.Decl, in addr.ModuleInstance) plan.Outcome
	// Later is true if a later round (a further plan and apply of the command) decides about some declarations (ADR
	// 52). An ephemeral resource whose configuration depends on such a declaration is not opened. If Later is false and
	// Ready is nil, an unknown configuration is an internal error.
	Later bool
	// Kept has the leases that stay open between rounds; nil: this walk closes all its leases.
	Kept *Kept
	// Keep reports whether a later round needs an instance of an ephemeral resource, so that its lease stays open. nil
	// means that the walk makes a plan: a plan uses the leases in Kept, and does not close them.
	Keep func(e program.Decl, key addr.Key) bool
	// InFlight is called with true before each opening of the ephemeral resource o, and with false after it. Between
	// the two calls, the lease may be open or not.
	InFlight func(o addr.Object, is bool)
	Send     func(event.Event)
}

// Opener provides the tools and conditions to open instances of ephemeral resources.
type Opener interface {
	// Tools returns the tools for calls about an instance. The provider has its prior settings if face is Before, and
	// its planned settings if face is After. known reports whether the settings of the provider are known. If the
	// provider cannot be used, Tools reports the error and returns false for ok.
	Tools(ctx context.Context, e *program.Declaration, f *frame.Frame, key addr.Key, inst addr.Instance, face frame.Face) (t *object.Tools, known, ok bool)
	// Pre checks the preconditions of an instance. It returns false after it has reported failed conditions.
	Pre(e *program.Declaration, f *frame.Frame, key addr.Key, inst addr.Instance) bool
	// Post checks the postconditions of an instance against its value. It returns false after it has reported failed
	// conditions.
	Post(e *program.Declaration, f *frame.Frame, key addr.Key, inst addr.Instance, value func() mark.Value) bool
}
