package run

import (
	"slices"
	"strings"
	"sync"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/declared"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/secret"
	"github.com/lethe-iac/lethe/internal/state"
)

// Checks collects the outcome of conditions, for the state and the plan.
type Checks struct {
	mu sync.Mutex
	by map[string]*checked // by configuration address

	secrets *secret.Set // messages are kept, and masked as those are that are shown
}

func newChecks(secrets *secret.Set) *Checks {
	return &Checks{by: map[string]*checked{}, secrets: secrets}
}

// checked is what is known of one declaration's conditions.
type checked struct {
	state.Check
	index map[string]int // into Objects and due, by address
	due   []int          // how many conditions the walk has yet to evaluate, 0 or less for none
}

// declare makes sure that a declaration with conditions is listed, even with no instance, and reports
// whether it was.
func (c *Checks) declare(d *program.Declaration) (k *checked, was bool) {
	address := d.String()
	if k, was = c.by[address]; !was {
		k = &checked{Check: state.Check{Kind: declared.ConditionsKind(d), Addr: address, Status: state.Pass}, index: map[string]int{}}
		c.by[address] = k
	}
	return k, was
}

// object is the index of an object of a declaration. If it was not listed, it is now, with so many
// conditions due.
func (k *checked) object(o state.CheckedObject, due int) int {
	i, listed := k.index[o.Addr]
	if !listed {
		i = len(k.Objects)
		k.index[o.Addr], k.Objects, k.due = i, append(k.Objects, o), append(k.due, due)
	}
	return i
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

// report records results for one object; several reports add up to the worst. An object that is not
// to be named ("") counts for the declaration only.
func (c *Checks) report(d *program.Declaration, object string, results []frame.Result) {
	if len(results) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	k, _ := c.declare(d)
	if object == "" {
		for _, r := range results {
			k.Status = worse(k.Status, r.Status)
		}
		return
	}
	i := k.object(state.CheckedObject{Addr: object, Status: state.Pass}, 0)
	k.due[i] -= len(results)
	for _, r := range results {
		o := &k.Objects[i]
		o.Status = worse(o.Status, r.Status)
		if r.Status == state.Fail && r.Message != "" {
			o.Failures = append(o.Failures, r.Message)
		}
	}
}

// worse is the status of a whole that has both parts.
func worse(a, b state.Status) state.Status {
	rank := [...]int{state.Pass: 0, state.Unknown: 1, state.Fail: 2, state.Errored: 3}
	if rank[b] > rank[a] {
		return b
	}
	return a
}

// Results gives all outcomes, sorted: those of this walk, over earlier ones.
func (c *Checks) Results(earlier []state.Check) []state.Check {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []state.Check
	for _, e := range earlier {
		k := c.by[e.Addr]
		if k == nil {
			out = append(out, e)
			continue
		}
		for _, o := range e.Objects {
			k.object(o, 0)
		}
	}
	for _, k := range c.by {
		for i := range k.Objects {
			o := &k.Objects[i]
			if k.due[i] > 0 {
				o.Status = worse(o.Status, state.Unknown)
			}
			k.Status = worse(k.Status, o.Status)
			for i, text := range o.Failures {
				o.Failures[i] = c.secrets.Scrub(text)
			}
		}
		slices.SortFunc(k.Objects, func(a, b state.CheckedObject) int { return strings.Compare(a.Addr, b.Addr) })
		out = append(out, k.Check)
	}
	slices.SortFunc(out, func(a, b state.Check) int { return strings.Compare(a.Addr, b.Addr) })
	return out
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

// Failed reports whether a declaration's conditions were found not to hold.
func (c *Checks) Failed(address string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.by[address]
	return k != nil && (failing(k.Status) || slices.ContainsFunc(k.Objects, func(o state.CheckedObject) bool { return failing(o.Status) }))
}

// holds reports whether no result stands in the way.
func holds(results []frame.Result) bool {
	return !slices.ContainsFunc(results, func(r frame.Result) bool { return failing(r.Status) })
}

// failing reports whether a status stands in the way.
func failing(s state.Status) bool { return s == state.Fail || s == state.Errored }

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
