// Package runcmd defines the commands that make plans and the commands that change real objects: plan, apply, destroy,
// refresh and import.
//
// All commands except import share their steps: prepare opens the working directory and compiles its configuration,
// begin locks the state, and an execution plans, shows, asks and applies.
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

// execution is a plan in progress, with the apply after it.
type execution struct {
	c    *base.Call
	s    *session.Session
	f    *planFlags
	ws   *workspace.State
	only narrowed // restricts the plan to the objects that changed

	earlier *engine.Earlier // the decisions of earlier rounds; nil in the first round
	now     time.Time       // timestamp() in all rounds; zero: there is one round
	uuids   *frame.UUIDs    // results of uuid() in all rounds; nil: there is one round
	total   event.Summary   // of the earlier rounds
	values  values
}

// values are the notes about objects whose values of ephemeral resources other rounds need, too (ADR 52).
type values struct {
	found   []journal.EarlierValue // of lost runs
	written []journal.EarlierValue // by this command
	decided map[string]bool        // the objects of applied plans
}

// begin starts an execution in the working directory, and locks its state. empty is the error text for a directory
// without configuration, or "" if none is needed.
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

// prepare opens a session for an operation and compiles the configuration with the values of all variables. If that
// fails, it reports all errors.
func prepare(ctx context.Context, c *base.Call, o *workdir.Options, of operation.Operation, empty string, check vet.CheckOptions) (*session.Session, bool) {
	s, ok := session.Open(c, o, of)
	return s, ok && s.Prepare(ctx, empty, check)
}
