package run

import (
	"slices"
	"strings"
	"sync"

	"github.com/lethe-iac/lethe/internal/engine/declared"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/secret"
	"github.com/lethe-iac/lethe/internal/state"
)

// Checks collects the results of the conditions that a walk (a plan, an apply or a query) evaluates, for the state and
// the plan.
type Checks struct {
	mu sync.Mutex
	by map[string]*checked // by the address of the declaration

	secrets *secret.Set // the secrets to mask in messages, because the state stores these
}

func newChecks(secrets *secret.Set) *Checks {
	return &Checks{by: map[string]*checked{}, secrets: secrets}
}

// checked has the results of one declaration's conditions.
type checked struct {
	state.Check
	index map[string]int // for the address of an object: its index in Objects and due
	due   []int          // by object, as in Objects: number of its conditions that the walk has not evaluated yet; 0 or less: all were evaluated
}

// declare adds a declaration with conditions to the results, even if it has no instance. was reports whether the
// declaration was in the results before.
func (c *Checks) declare(d *program.Declaration) (k *checked, was bool) {
	address := d.String()
	if k, was = c.by[address]; !was {
		k = &checked{Check: state.Check{Kind: declared.ConditionsKind(d), Addr: address, Status: state.Pass}, index: map[string]int{}}
		c.by[address] = k
	}
	return k, was
}

// expect adds the addresses in objects, which belong to the declaration d, to the results. due is the number of
// conditions that the walk will evaluate for each object.
func (c *Checks) expect(d *program.Declaration, due int, objects []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k, _ := c.declare(d)
	for _, o := range objects {
		k.object(state.CheckedObject{Addr: o, Status: state.Pass}, due)
	}
}

// object returns the index of an object in k.Objects. If the object is missing, it adds the object. The argument due is
// then the number of the object's conditions that the walk will evaluate.
func (k *checked) object(o state.CheckedObject, due int) int {
	i, listed := k.index[o.Addr]
	if !listed {
		i = len(k.Objects)
		k.index[o.Addr], k.Objects, k.due = i, append(k.Objects, o), append(k.due, due)
	}
	return i
}

// report records the results of conditions for one object. If report is called several times for an object, the worst
// result counts. If object is "", the results count only for the declaration.
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

// worse returns the worse of two statuses. From best to worst, these are pass, unknown, fail and error.
func worse(a, b state.Status) state.Status {
	rank := [...]int{state.Pass: 0, state.Unknown: 1, state.Fail: 2, state.Errored: 3}
	if rank[b] > rank[a] {
		return b
	}
	return a
}

// Results returns all results, sorted by address. earlier has results of an earlier walk: for an object with results of
// both walks, the result of this walk counts.
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
				o.Failures[i] = c.secrets.ScrubMessage(text)
			}
		}
		slices.SortFunc(k.Objects, func(a, b state.CheckedObject) int { return strings.Compare(a.Addr, b.Addr) })
		out = append(out, k.Check)
	}
	slices.SortFunc(out, func(a, b state.Check) int { return strings.Compare(a.Addr, b.Addr) })
	return out
}

// Hold reports whether the walk has evaluated all conditions that it was expected to evaluate for the declaration with
// this address, and all have passed. It returns true for a declaration without such conditions.
func (c *Checks) Hold(address string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.by[address]
	return k == nil || k.Status == state.Pass && !slices.ContainsFunc(k.due, func(due int) bool { return due > 0 }) &&
		!slices.ContainsFunc(k.Objects, func(o state.CheckedObject) bool { return o.Status != state.Pass })
}

// holds reports whether no result is a failure: no condition was false or could not be evaluated. Unknown results are
// not failures.
func holds(results []frame.Result) bool {
	return !slices.ContainsFunc(results, func(r frame.Result) bool { return failing(r.Status) })
}

// failing reports whether a status is a failure: a false condition, or an error in its evaluation.
func failing(s state.Status) bool { return s == state.Fail || s == state.Errored }
