// Package leases opens the ephemeral resources of one walk for those that receive them, and closes them
// after their last user.
//
// A lease is opened by its first receiver: before a job evaluates anything it calls Receive for its
// declaration, and the first to ask opens; others get the same lease, renewed if that is due, or the same diagnostics. What has no
// lease has no value, or a placeholder: the slot of the frame says which. So nothing that calls Receive
// needs to know what became of it.
//
// Which declarations receive what is asked of package receivers. When a lease is closed is known from
// that, too: the plan walk has closing nodes that wait for all receivers, however they ended, and Users for
// those leases of which each receiver names an instance; the apply walk has a closing step for each hold. Both
// call Close. End closes the rest, below all of them.
//
// What is needed from above are two interfaces, set in Options: an Opener, which has the provider and the
// conditions of an ephemeral resource, and Ready, which says whether it may be opened in this walk by now. What
// is open is in the ledger of package lease, which renews it.
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
	"github.com/lethe-iac/lethe/internal/state/journal"
)

// Options are what the leases of a walk need.
type Options struct {
	Program   *program.Program
	Receivers *receivers.Analysis
	Ledger    *lease.Ledger
	Journal   journal.Leases // takes note of what is open; nil: no note is taken
	All       *diag.Bag      // of the whole walk: for what providers say after the opening

	// Opener gives what it takes to open, reporting to a bag.
	Opener func(*diag.Bag) Opener
	// Ready says whether an ephemeral resource may be opened. nil: this walk opens all that it needs.
	Ready func(e program.Decl, in addr.ModuleInstance) Readiness
	// InFlight is called around each opening: between the two calls its outcome is not known.
	InFlight func(o addr.Object, is bool)
	Tell     func(event.Event)
}

// Opener is what it takes to open instances of ephemeral resources.
type Opener interface {
	// Tools gives the configured provider of an instance, on the face, and whether its settings are known. It
	// reports false where there is none; that was reported.
	Tools(ctx context.Context, e *program.Declaration, f *frame.Frame, key addr.Key, inst addr.Instance, face frame.Face) (t *object.Tools, known, ok bool)
	// Pre checks the preconditions of an instance.
	Pre(e *program.Declaration, f *frame.Frame, key addr.Key, inst addr.Instance) bool
	// Post checks the postconditions of an instance against its value.
	Post(e *program.Declaration, f *frame.Frame, key addr.Key, inst addr.Instance, value func() mark.Value) bool
}

// Readiness says whether an ephemeral resource may be opened.
type Readiness uint8

// The kinds of readiness.
const (
	Open  Readiness = iota // now, if its configuration is known
	Later                  // not in this walk: it has a placeholder instead of a value
	Never                  // something that it depends on failed: it has no value
)
