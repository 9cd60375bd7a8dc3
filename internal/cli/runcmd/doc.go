// Package runcmd defines the commands that make plans and the commands that change real objects: plan, apply, destroy,
// refresh and import.
//
// All commands except import share their steps: prepare opens the working directory and compiles its configuration,
// begin locks the state, and an execution plans, shows, asks and applies.
package runcmd

import (
	"context"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/session"
	"github.com/lethe-iac/lethe/internal/cli/workdir"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/vet"
	"github.com/lethe-iac/lethe/internal/operation"
	"github.com/lethe-iac/lethe/internal/workspace"
)

// execution is a plan in progress, with the apply after it.
type execution struct {
	c    *base.Call
	s    *session.Session
	f    *planFlags
	ws   *workspace.State
	only narrowed // restricts the plan to the objects that changed
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
	return o, ok && o.only.began(o.ws)
}

// prepare opens a session for an operation and compiles the configuration with the values of all variables. If that
// fails, it reports all errors.
func prepare(ctx context.Context, c *base.Call, o *workdir.Options, of operation.Operation, empty string, check vet.CheckOptions) (*session.Session, bool) {
	s, ok := session.Open(c, o, of)
	return s, ok && ready(ctx, s, empty, check)
}

// ready loads and compiles the configuration, and asks for missing values.
func ready(ctx context.Context, s *session.Session, empty string, check vet.CheckOptions) bool {
	l, vars := s.Loader, s.Loader.Vars
	loaded := l.Load()
	if l.Empty() && !loaded { // the error was reported
		return false
	}
	if empty != "" && !l.RequireFiles(empty) {
		return false
	}
	if !s.States.Ready() {
		return false
	}
	s.AskProviders()
	given := vars.Collect()
	if loaded && given && vars.AskAll() && s.Compile(ctx, check) {
		return true
	}
	s.Engine.Supply = nil // answers would not be used
	s.Judge(ctx, check)
	if !given {
		vars.LeaveUnset() // a file with read errors may set them
	}
	if s.Program != nil {
		frame.New(s.Program, s.FrameOptions(), &s.Dir.Call.Bag) // reports wrong values of variables
	}
	return false
}
