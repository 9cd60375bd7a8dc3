package run

import (
	"context"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/declared"
	"github.com/lethe-iac/lethe/internal/engine/leases"
	"github.com/lethe-iac/lethe/internal/engine/receivers"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/state"
)

// The conditions of variables, outputs and checks do not belong to an object. The graph of a plan or an apply has
// separate nodes for them, because they may use any value, including values of ephemeral resources, which must be open
// then. An ephemeral resource that no declaration uses but that the walk opens nevertheless, for example because it has
// conditions, also has a separate node.

// Conditions evaluates the conditions of one walk, and records the results in Checks. The methods may be called
// concurrently. Each method reports to the bag that its caller passes.
type Conditions struct {
	Checks *Checks

	kind      Kind
	program   *program.Program
	frame     *frame.Frame
	receivers *receivers.Analysis
	leases    *leases.Leases
}

// Test evaluates the conditions of a declaration in one module instance, and returns false if one fails. Failures in a
// check block are only warnings, so Test returns true. If the walk decides nothing about objects (a refresh-only plan
// or an import), failed conditions of outputs are warnings, too. If d is an ephemeral resource, Test opens it and
// returns true, even if the opening fails.
func (c *Conditions) Test(ctx context.Context, bag *diag.Bag, d *program.Declaration, f *frame.Frame) bool {
	receive := func(bag *diag.Bag) { c.leases.Receive(ctx, bag, d.ID, f.Addr(), addr.NoKey, frame.After) }
	switch d.Kind {
	case program.Resource:
		c.leases.ReceiveFrom(ctx, bag, d, f, c.receivers.Face(d.ID, frame.After), c.receivers.OwnKeys(d))
		return true // the place of the value in the frame shows whether the opening failed
	case program.Variable:
		receive(bag)
		return c.evaluate(bag, d, f, program.Validation)
	case program.Output:
		receive(bag) // not inside judge: if an ephemeral resource cannot be opened, this is an error, even if failed conditions are warnings
		return c.judge(bag, func(bag *diag.Bag) bool { return c.evaluate(bag, d, f, program.OutputPre) })
	}
	bag.Lenient(func(bag *diag.Bag) {
		receive(bag)
		c.evaluate(bag, d, f, program.Assert)
		bag.Blame("")
	})
	return true
}

func (c *Conditions) evaluate(bag *diag.Bag, d *program.Declaration, f *frame.Frame, when program.When) bool {
	results := f.Conditions(d.ID, addr.NoKey, when, nil, bag)
	c.Checks.report(d, declared.ConditionsAddr(d, f.Addr()), results)
	return holds(results)
}

// Expect announces the objects whose conditions the walk will evaluate. If a condition is not evaluated by the end of
// the walk, its result is unknown. If Expect was called for a declaration without objects, the declaration passes. If
// Expect was never called for a declaration, its result is unknown.
func (c *Conditions) Expect(d *program.Declaration, objects ...string) {
	due := 1 // the conditions of variables, outputs and checks are evaluated together
	if d.Kind == program.Resource {
		due = len(d.Res.Lifecycle.Preconditions) + len(d.Res.Lifecycle.Postconditions)
	}
	c.Checks.expect(d, due, objects)
}

// All returns the results of all declarations with conditions. If the walk has not reached a declaration, its result is
// unknown. In a destroy plan, all results are unknown. whole is true if the walk covers the whole configuration.
func (c *Conditions) All(whole bool) []state.Check {
	checks := c.Checks
	if c.kind.Destroys() {
		checks = newChecks(c.Checks.secrets)
	}
	for _, d := range c.program.Decls() {
		if !declared.HasConditions(d) && (d.Kind != program.Resource || d.Resource.Mode == addr.Ephemeral || !declared.HasResourceConditions(d)) {
			continue
		}
		k, expected := checks.declare(d)
		if !expected {
			k.Status = state.Unknown
		}
		if c.kind.Destroys() && whole && d.Kind == program.Output && d.Module.IsRoot() {
			k.object(state.CheckedObject{Addr: d.String(), Status: state.Unknown}, 0)
		}
	}
	return checks.Results(nil)
}

// Unevaluated records that a check failed because the data source d in the check block could not be read. reported has
// the diagnostics of the read.
func (c *Conditions) Unevaluated(d *program.Declaration, in addr.ModuleInstance, reported []diag.Diagnostic) {
	check, ok := c.program.Lookup(d.Module, program.Check, d.Res.Check)
	if !ok {
		return
	}
	var failures []frame.Result
	for _, x := range reported {
		if x.Severity == diag.Error {
			failures = append(failures, frame.Result{Status: state.Fail, Message: strings.TrimSuffix(x.Summary+": "+x.Detail, ": ")})
		}
	}
	c.Checks.report(check, declared.ConditionsAddr(check, in), failures)
}

// Pre checks the preconditions of an instance. It reports each failed precondition to bag, and returns false if one
// fails.
func (c *Conditions) Pre(bag *diag.Bag, d *program.Declaration, f *frame.Frame, key addr.Key, inst addr.Instance) bool {
	ok, _ := c.Preconditions(bag, d, f, key, inst)
	return ok
}

// Preconditions checks an instance's preconditions. ok is false if one fails. unsure is true if the result of a
// precondition is unknown.
func (c *Conditions) Preconditions(bag *diag.Bag, d *program.Declaration, f *frame.Frame, key addr.Key, inst addr.Instance) (ok, unsure bool) {
	if len(d.Res.Lifecycle.Preconditions) == 0 {
		return true, false
	}
	return c.ofInstance(bag, d, f, key, inst, program.Pre, nil)
}

// Post checks the postconditions of an instance, whose value the function value returns. It reports each failed
// postcondition to bag, and returns false if one fails. It calls value only if the resource has postconditions.
func (c *Conditions) Post(bag *diag.Bag, d *program.Declaration, f *frame.Frame, key addr.Key, inst addr.Instance, value func() mark.Value) bool {
	if len(d.Res.Lifecycle.Postconditions) == 0 {
		return true
	}
	v := value()
	ok, _ := c.ofInstance(bag, d, f, key, inst, program.Post, &v)
	return ok
}

func (c *Conditions) ofInstance(bag *diag.Bag, d *program.Declaration, f *frame.Frame, key addr.Key, inst addr.Instance, when program.When, self *mark.Value) (ok, unsure bool) {
	ok = c.judge(bag, func(bag *diag.Bag) bool {
		results := f.Conditions(d.ID, key, when, self, bag)
		object := inst.String()
		if inst.Key.Hidden() {
			object = "" // the instance key is secret, so the address must not be stored
		}
		c.Checks.report(d, object, results)
		unsure = slices.ContainsFunc(results, func(r frame.Result) bool { return r.Status == state.Unknown })
		return holds(results)
	})
	return ok, unsure
}

// judge evaluates conditions with test and returns the result. If the walk decides nothing about objects (a
// refresh-only plan or an import), errors become warnings, and judge returns true.
func (c *Conditions) judge(bag *diag.Bag, test func(*diag.Bag) bool) bool {
	if !c.kind.DecidesNothing() {
		return test(bag)
	}
	bag.Lenient(func(bag *diag.Bag) { test(bag) })
	return true
}

// CheckValues evaluates the variables, locals and outputs of all modules, and the keys of provider blocks, and reports
// their errors. Without it, errors in a value that no other declaration uses would not be reported. The engine calls
// CheckValues at the end of a plan, and at the end of an apply, which knows more values. CheckValues skips values from
// ephemeral resources, because these are closed by then.
func (c *Conditions) CheckValues(bag *diag.Bag) {
	for _, d := range c.program.Decls() {
		keys := d.Kind == program.Provider && d.Repeat() != program.Once
		if d.Kind != program.Variable && d.Kind != program.Local && d.Kind != program.Output && !keys || d.Module.IsRoot() && d.Kind != program.Local && !keys || c.receivers.Leased(d.ID) {
			continue
		}
		frames, _ := c.frame.Instances(d.Module, frame.After)
		for _, f := range frames {
			if keys {
				f.Keys(d.ID, frame.After, bag)
				continue
			}
			if d.Kind == program.Local && f.Replaced() {
				continue
			}
			f.Named(d.Kind, d.Name, frame.After, bag)
		}
	}
}
