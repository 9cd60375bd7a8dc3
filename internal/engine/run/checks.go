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
	by map[string]*state.Check // by configuration address

	secrets *secret.Set // messages are kept, and masked as those are that are shown
}

func newChecks(secrets *secret.Set) *Checks {
	return &Checks{by: map[string]*state.Check{}, secrets: secrets}
}

// declare makes sure that a declaration with conditions is listed, even with no instance, and reports
// whether it was.
func (c *Checks) declare(kind, address string) (k *state.Check, was bool) {
	if k, was = c.by[address]; !was {
		k = &state.Check{Kind: kind, Addr: address, Status: state.Pass}
		c.by[address] = k
	}
	return k, was
}

// report records results for one object; several reports add up to the worst. An object that is not
// to be named ("") counts for the declaration only.
func (c *Checks) report(kind, address, object string, results []frame.Result) {
	if len(results) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	k, _ := c.declare(kind, address)
	if object == "" {
		for _, r := range results {
			k.Status = worse(k.Status, r.Status)
		}
		return
	}
	i := slices.IndexFunc(k.Objects, func(o state.CheckedObject) bool { return o.Addr == object })
	if i < 0 {
		k.Objects = append(k.Objects, state.CheckedObject{Addr: object, Status: state.Pass})
		i = len(k.Objects) - 1
	}
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

// Results gives all outcomes, sorted.
func (c *Checks) Results() []state.Check {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []state.Check
	for _, k := range c.by {
		for _, o := range k.Objects {
			k.Status = worse(k.Status, o.Status)
			for i, text := range o.Failures {
				o.Failures[i] = c.secrets.Scrub(text)
			}
		}
		slices.SortFunc(k.Objects, func(a, b state.CheckedObject) int { return strings.Compare(a.Addr, b.Addr) })
		out = append(out, *k)
	}
	slices.SortFunc(out, func(a, b state.Check) int { return strings.Compare(a.Addr, b.Addr) })
	return out
}

// AllResults gives all outcomes with those of conditions that were not evaluated: of what has no
// instances they hold, of anything else that is unknown. Where everything is destroyed (whole: nothing is left
// out), none counts.
func (r *Run) AllResults(whole bool) []state.Check {
	c := r.Checks
	if r.Destroys {
		c = newChecks(r.Settings.Secrets)
	}
	for _, d := range r.Program.Decls() {
		kind, address := "resource", ""
		switch {
		case declared.HasConditions(d):
			kind, address = declared.ConditionsKind(d), d.String()
		case d.Kind == program.Resource && d.Resource.Mode != addr.Ephemeral && declared.HasResourceConditions(d):
			address = d.Resource.String()
		default:
			continue
		}
		k, reported := c.declare(kind, address)
		if !reported && (r.Destroys || r.Bag.HasErrors() || r.Cut.Load() || r.hasInstances(d)) {
			k.Status = state.Unknown
		}
		if r.Destroys && whole && kind == "output" && d.Module.IsRoot() {
			k.Objects = []state.CheckedObject{{Addr: address, Status: state.Unknown}}
		}
	}
	return c.Results()
}

// hasInstances reports whether there are, or may be, instances of what has conditions.
func (r *Run) hasInstances(d *program.Declaration) bool {
	frames, status := r.Frame.Instances(d.Module, frame.After)
	return status != frame.Known || slices.ContainsFunc(frames, func(f *frame.Frame) bool {
		if d.Kind != program.Resource {
			return true
		}
		keys := f.Expanded(d.ID, frame.After)
		return keys.Status != frame.Known || len(keys.List) > 0
	})
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
	r.Checks.report(declared.ConditionsKind(check), check.String(), declared.ConditionsAddr(check, in), failures)
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
		results := f.Conditions(d.ID, key, when, frame.After, self, r.Bag)
		object := inst.String()
		if inst.Key.Hidden() {
			object = "" // nothing of the key is kept
		}
		r.Checks.report("resource", d.Resource.String(), object, results)
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
