package run

import (
	"context"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/declared"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/state"
)

// Conditions that belong to no object, those of variables, outputs and checks, are nodes and steps
// of their own: they may look at anything, ephemeral values too, and hold what they look at. So are
// ephemeral resources that open themselves, for the case that they have no other receiver.

// Test evaluates the conditions of a declaration in one module instance. What fails in a check block is
// a warning, and keeps nothing from being done.
func (r *Run) Test(ctx context.Context, d *program.Declaration, f *frame.Frame) bool {
	switch d.Kind {
	case program.Resource:
		r.Leases.ReceiveFrom(ctx, r.Bag, d, f, r.Receivers.Face(d.ID, frame.After), r.Receivers.OwnKeys(d))
		return true // what comes of it is in the slot
	case program.Variable:
		r.Receive(ctx, d.ID, f.Addr(), addr.NoKey)
		return r.conditions(d, f, program.Validation)
	case program.Output:
		r.Receive(ctx, d.ID, f.Addr(), addr.NoKey) // outside of judge: a lease that fails is no matter of the condition alone
		return r.judge(func(r *Run) bool { return r.conditions(d, f, program.OutputPre) })
	}
	r.Scoped(func(r *Run) {
		r.Receive(ctx, d.ID, f.Addr(), addr.NoKey)
		r.conditions(d, f, program.Assert)
		r.Bag.Blame("")
	})
	return true
}

func (r *Run) conditions(d *program.Declaration, f *frame.Frame, when program.When) bool {
	results := f.Conditions(d.ID, addr.NoKey, when, nil, r.Bag)
	r.Checks.report(d, declared.ConditionsAddr(d, f.Addr()), results)
	return holds(results)
}

// Expect says of which objects of a declaration the walk is to evaluate conditions, before it does:
// those that it does not come to are unknown. Of a declaration that was expected without objects they
// hold, of one that never was they are unknown.
func (r *Run) Expect(d *program.Declaration, objects ...string) {
	due := 1 // those of variables, outputs and checks are evaluated together
	if d.Kind == program.Resource {
		due = len(d.Res.Lifecycle.Preconditions) + len(d.Res.Lifecycle.Postconditions)
	}
	r.Checks.mu.Lock()
	defer r.Checks.mu.Unlock()
	k, _ := r.Checks.declare(d)
	for _, o := range objects {
		k.object(state.CheckedObject{Addr: o, Status: state.Pass}, due)
	}
}

// AllResults gives all outcomes, with the declarations that the walk did not come to as unknown. Where
// everything is destroyed (whole: nothing is left out), all are.
func (r *Run) AllResults(whole bool) []state.Check {
	c := r.Checks
	if r.Destroys {
		c = newChecks(r.Settings.Secrets)
	}
	for _, d := range r.Program.Decls() {
		if !declared.HasConditions(d) && (d.Kind != program.Resource || d.Resource.Mode == addr.Ephemeral || !declared.HasResourceConditions(d)) {
			continue
		}
		k, expected := c.declare(d)
		if !expected {
			k.Status = state.Unknown
		}
		if r.Destroys && whole && d.Kind == program.Output && d.Module.IsRoot() {
			k.object(state.CheckedObject{Addr: d.String(), Status: state.Unknown}, 0)
		}
	}
	return c.Results(nil)
}

// Unread makes a check fail whose data could not be read, with what was said about that.
func (r *Run) Unread(d *program.Declaration, in addr.ModuleInstance, said []diag.Diagnostic) {
	check, ok := r.Program.Lookup(d.Module, program.Check, d.Res.Check)
	if !ok {
		return
	}
	var failures []frame.Result
	for _, x := range said {
		if x.Severity == diag.Error {
			failures = append(failures, frame.Result{Status: state.Fail, Message: strings.TrimSuffix(x.Summary+": "+x.Detail, ": ")})
		}
	}
	r.Checks.report(check, declared.ConditionsAddr(check, in), failures)
}

// Pre checks an instance's preconditions.
func (r *Run) Pre(d *program.Declaration, f *frame.Frame, key addr.Key, inst addr.Instance) bool {
	ok, _ := r.Preconditions(d, f, key, inst)
	return ok
}

// Preconditions checks an instance's preconditions. It also reports whether one of them is not known yet.
func (r *Run) Preconditions(d *program.Declaration, f *frame.Frame, key addr.Key, inst addr.Instance) (ok, unsure bool) {
	if len(d.Res.Lifecycle.Preconditions) == 0 {
		return true, false
	}
	return r.condition(d, f, key, inst, program.Pre, nil)
}

// Post checks an instance's postconditions against its value.
func (r *Run) Post(d *program.Declaration, f *frame.Frame, key addr.Key, inst addr.Instance, value func() mark.Value) bool {
	if len(d.Res.Lifecycle.Postconditions) == 0 {
		return true
	}
	v := value()
	ok, _ := r.condition(d, f, key, inst, program.Post, &v)
	return ok
}

func (r *Run) condition(d *program.Declaration, f *frame.Frame, key addr.Key, inst addr.Instance, when program.When, self *mark.Value) (ok, unsure bool) {
	ok = r.judge(func(r *Run) bool {
		results := f.Conditions(d.ID, key, when, self, r.Bag)
		object := inst.String()
		if inst.Key.Hidden() {
			object = "" // nothing of the key is kept
		}
		r.Checks.report(d, object, results)
		unsure = slices.ContainsFunc(results, func(r frame.Result) bool { return r.Status == state.Unknown })
		return holds(results)
	})
	return ok, unsure
}

// judge evaluates conditions. Where the walk only looks, what they find is for information: their
// errors are warnings, and keep nothing from being done.
func (r *Run) judge(test func(*Run) bool) bool {
	if !r.Looks {
		return test(r)
	}
	r.Scoped(func(r *Run) { test(r) })
	return true
}

// Values are evaluated when something needs them. Those that nothing needs may be wrong, too, and this
// is reported like any other mistake: when all is decided they are looked at as well, and
// again when all is done, for what was not known before.

// CheckValues evaluates the variables, locals and outputs of all modules, with what they have to say.
// Those that a lease has a part in are left out: it is closed by now, if it was open at all.
func (r *Run) CheckValues() {
	for _, d := range r.Program.Decls() {
		if d.Kind != program.Variable && d.Kind != program.Local && d.Kind != program.Output || d.Module.IsRoot() && d.Kind != program.Local || r.Receivers.Leased(d.ID) {
			continue
		}
		frames, _ := r.Frame.Instances(d.Module, frame.After)
		for _, f := range frames {
			if d.Kind == program.Local && f.Replaced() {
				continue
			}
			f.Named(d.Kind, d.Name, frame.After, r.Bag)
		}
	}
}
