// Package runcmd defines the commands that make plans and the commands that change real objects: plan, apply, destroy,
// refresh and import.
//
// All commands except import share their steps: prepare opens the working directory and compiles its configuration,
// begin locks the state, and an execution makes a plan, shows it, asks for approval and applies it.
package runcmd

import (
	"context"
	"time"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/session"
	"github.com/lethe-iac/lethe/internal/cli/workdir"
	"github.com/lethe-iac/lethe/internal/engine"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/vet"
	"github.com/lethe-iac/lethe/internal/operation"
	"github.com/lethe-iac/lethe/internal/state/journal"
	"github.com/lethe-iac/lethe/internal/workspace"
)

// execution is one run of a command that makes a plan and may apply it. An apply consists of rounds: each round makes a
// plan of the changes that can be decided, and applies it (ADR 52).
type execution struct {
	c    *base.Call
	s    *session.Session
	f    *planFlags
	ws   *workspace.State // the locked state
	only narrowed         // the restriction of the plan to changed resources or to targets, for which a part of the state is sufficient

	earlier *engine.Earlier // the plans and results of earlier rounds; nil in the first round
	now     time.Time       // value of timestamp() in all rounds; zero: only one round
	uuids   *frame.UUIDs    // results of uuid() in all rounds; nil: only one round
	total   event.Summary   // counts of changes in all earlier rounds
	values  values          // notes about objects that were written with values of ephemeral resources
}

// values has the notes about objects that were written with values of ephemeral resources which later rounds need, too
// (ADR 52). A note is an entry in the journal beside the state.
type values struct {
	found   []journal.EarlierValue // notes of interrupted runs
	written []journal.EarlierValue // notes of this command
	decided map[string]bool        // addresses of the objects in applied plans
}

// begin starts an execution in the working directory, and locks its state. empty is the error text for a directory
// without configuration, or "" if no configuration is needed. If the directory cannot be opened or compiled, or the
// state cannot be locked, it reports an error and returns false.
func begin(ctx context.Context, c *base.Call, f *planFlags, of operation.Operation, empty string) (*execution, bool) {
	if !f.mayPlanChanged(&c.Bag) {
		return nil, false
	}
	s, ok := prepare(ctx, c, &f.Options, of, empty, vet.CheckOptions{})
	if !ok {
		return nil, false
	}
	o := &execution{c: c, s: s, f: f, only: narrowed{s: s, f: f}}
	o.ws, ok = s.Lock(ctx, o.only.selecting())
	if ok {
		o.values.found = o.ws.Earlier()
	}
	return o, ok && o.only.began(o.ws)
}

// prepare opens a session for an operation and compiles the configuration with the values of all variables. empty is
// the error text for a directory without configuration, or "". After an error, prepare returns false.
func prepare(ctx context.Context, c *base.Call, o *workdir.Options, of operation.Operation, empty string, check vet.CheckOptions) (*session.Session, bool) {
	s, ok := session.Open(c, o, of)
	return s, ok && s.Prepare(ctx, empty, check)
}
