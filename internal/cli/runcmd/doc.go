// Package runcmd has the commands that plan, and those that change real objects: plan, apply, destroy,
// refresh and import.
//
// All but import go the same way: prepare opens the working directory and compiles its configuration,
// begin locks the state, and an operation plans, shows, asks and carries out.
package runcmd

import (
	"context"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/project"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/vet"
	"github.com/lethe-iac/lethe/internal/workspace"
)

// operation is a plan under way, and the apply that follows it.
type operation struct {
	p    *project.Project
	f    *planFlags
	ws   *workspace.State
	only narrowed // where the plan is of what changed
}

// begin makes an operation in the working directory, with its state locked: name is what the lock
// says, and empty refuses a directory without configuration, "" for nothing.
func begin(ctx context.Context, c *base.Call, f *planFlags, name, empty string, applying bool) (*operation, bool) {
	if !f.mayPlanChanged(&c.Bag) {
		return nil, false
	}
	p, ok := prepare(ctx, c, &f.Options, empty, applying, vet.CheckOptions{})
	if !ok {
		return nil, false
	}
	o := &operation{p: p, f: f, only: narrowed{p: p, f: f}}
	o.ws, ok = p.LockPart(ctx, "", name, o.only.selecting())
	return o, ok && o.only.began(o.ws)
}

// prepare opens the working directory and compiles its configuration, with all variables at hand.
// It fails with all that is wrong with it.
func prepare(ctx context.Context, c *base.Call, o *project.Options, empty string, applying bool, check vet.CheckOptions) (*project.Project, bool) {
	p, ok := project.Open(c, o)
	return p, ok && ready(ctx, p, empty, applying, check)
}

// ready loads and compiles the configuration, and asks for what is missing.
func ready(ctx context.Context, p *project.Project, empty string, applying bool, check vet.CheckOptions) bool {
	loaded := p.Load()
	if p.Empty() && !loaded { // the directory cannot be read, which was reported
		return false
	}
	if empty != "" && !p.RequireFiles(empty) {
		return false
	}
	if !p.BackendReady() {
		return false
	}
	p.AskProviders()
	given := p.Vars.Collect()
	if loaded && given && p.Vars.AskAll() && p.Compile(ctx, check) {
		p.Applying = applying
		return true
	}
	p.Engine.Supply = nil // there is no use in answers
	p.Judge(ctx, check)
	if !given {
		p.Vars.LeaveUnset() // they may be set in what could not be read
	}
	if p.Program != nil {
		p.Applying = applying
		frame.New(p.Program, p.LangOptions(), p.Bag) // for what is wrong with the values of variables
	}
	return false
}
