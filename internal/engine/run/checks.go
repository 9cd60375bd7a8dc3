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

// Hold reports whether all conditions of a declaration hold that this walk was to evaluate.
func (c *Checks) Hold(address string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.by[address]
	return k == nil || k.Status == state.Pass && !slices.ContainsFunc(k.due, func(due int) bool { return due > 0 }) &&
		!slices.ContainsFunc(k.Objects, func(o state.CheckedObject) bool { return o.Status != state.Pass })
}

// holds reports whether no result stands in the way.
func holds(results []frame.Result) bool {
	return !slices.ContainsFunc(results, func(r frame.Result) bool { return failing(r.Status) })
}

// failing reports whether a status stands in the way.
func failing(s state.Status) bool { return s == state.Fail || s == state.Errored }
