package planning

import (
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/declared"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state"
)

// allowed reports whether lifecycle.prevent_destroy permits the change c. If prevent_destroy forbids the change, or
// cannot be evaluated for a change that destroys the object, allowed reports an error. allowed also sets c.Protected to
// the value of prevent_destroy, which the state stores.
func (p *planner) allowed(d *program.Declaration, f *frame.Frame, c *plan.Change) bool {
	if d.Res.Lifecycle.PreventDestroy == nil && !d.Res.Lifecycle.Protected {
		return true
	}
	ends := endsProtected(p, c)
	bag := p.run.Bag
	if !ends {
		bag = &diag.Bag{} // an invalid expression matters only if the change destroys the object
	}
	prevent, out := f.PreventDestroy(d.ID, c.Object.Key, p.faceOf(f), bag)
	if out != frame.OK {
		c.Protected = c.Entry != nil && c.Entry.Protected
		return !ends
	}
	prevent = prevent || d.Res.Lifecycle.Protected
	if ends && !prevent && !f.Fits(d.ID, c.Object.Key) {
		// The key does not fit the count or for_each of the configuration, so the value of the expression need not
		// apply to this object. The state has the value of the last apply.
		return remembered(p, c, c.Entry)
	}
	if c.Protected = prevent; !prevent || !ends || overridden(p.req.AllowDestroy, c.Object.Instance) {
		return true
	}
	p.run.Bag.Add(diag.Errorf(protectedTitle,
		"Resource %s has lifecycle.prevent_destroy set, but the plan calls for this resource to be destroyed. Remove prevent_destroy, leave the resource out of the plan with -exclude or -target, or override the protection in this run with -allow-destroy=ADDRESS.",
		c.Object.Instance).At(d.Res.Range).About(c.Object.Instance))
	return false
}

const protectedTitle = "Instance cannot be destroyed"

// endsProtected reports whether prevent_destroy can prevent a change: the change destroys the current object, and the
// operation does not destroy protected objects.
func endsProtected(p *planner, c *plan.Change) bool {
	return !p.req.Operation.Policy().DestroysProtected && c.EndsCurrent()
}

// remembered reports whether a change may destroy an object whose declaration was removed. The state stores whether the
// object had prevent_destroy in the last apply. If it had, and no removed block with destroy = true overrides this,
// remembered sets c.Protected. It then returns true if -allow-destroy covers the object, and otherwise reports an error
// and returns false.
func remembered(p *planner, c *plan.Change, e *state.Entry) bool {
	if !e.Protected || !endsProtected(p, c) || p.run.Removals.Fate(c.Object.Instance) == declared.RemovedDestroy {
		return true
	}
	if c.Protected = true; overridden(p.req.AllowDestroy, c.Object.Instance) {
		return true
	}
	p.run.Bag.Add(diag.Errorf(protectedTitle,
		"%s had lifecycle.prevent_destroy set in the last apply, and its block is no longer in the configuration, so the plan calls for it to be destroyed. If that is intended, write a removed block with destroy = true for it, or use -allow-destroy=ADDRESS. If not, restore the block, or write a removed block with destroy = false.",
		c.Object.Instance).About(c.Object.Instance))
	return false
}

// overridden reports whether an address in -allow-destroy covers the instance i: the instance, its resource or a module
// around it.
func overridden(allowed []addr.Target, i addr.Instance) bool {
	return slices.ContainsFunc(allowed, func(t addr.Target) bool { return t.Contains(i) })
}

// checkAllowed warns of addresses of -allow-destroy that name no protected object that the plan destroys.
func checkAllowed(allowed []addr.Target, changes []*plan.Change, bag *diag.Bag) {
	for _, t := range allowed {
		if !slices.ContainsFunc(changes, func(c *plan.Change) bool { return c.Overrides() && t.Contains(c.Object.Instance) }) {
			bag.Add(diag.Warningf("Option without effect", "The plan destroys no protected object at the address %s of -allow-destroy.", t))
		}
	}
}
