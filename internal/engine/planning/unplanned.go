package planning

import (
	"context"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/validating"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/plan"
)

// unplanned validates declarations that a plan does not evaluate, so that their errors are reported nevertheless.
type unplanned struct{ p *planner }

// ephemerals warns, in a plan of mode Normal, of ephemeral resources whose values nothing uses, and validates them.
// Because they are not opened, no other code reports their errors.
func (u *unplanned) ephemerals(ctx context.Context) {
	if !u.p.run.Receivers.Any || u.p.req.Mode != plan.Normal {
		return
	}
	received := u.p.run.Receivers.Needed(func(d program.Decl) bool { return !u.p.sel.Skips(d) })
	var unused []*program.Declaration
	for _, d := range u.p.run.Program.Decls() {
		if d.Kind == program.Resource && d.Resource.Mode == addr.Ephemeral && !received[d.ID] && !u.p.sel.Skips(d.ID) && !u.p.opensItself(d) {
			u.warn(d)
			unused = append(unused, d)
		}
	}
	if len(unused) > 0 {
		validating.Resources(ctx, u.p.env, u.p.run.Program, u.p.req.Options, unused, u.p.run.Bag)
	}
}

// provisioners validates provisioners and connections. Because planning does not run them, their errors would otherwise
// be reported only after an object is created.
func (u *unplanned) provisioners(ctx context.Context) {
	var with []*program.Declaration
	for _, d := range u.p.run.Program.Decls() {
		if d.Kind == program.Resource && len(d.Res.Provisioners) > 0 && !u.p.sel.Skips(d.ID) && u.p.req.Mode == plan.Normal {
			with = append(with, d)
		}
	}
	if len(with) > 0 {
		validating.Provisioners(ctx, u.p.env, u.p.run.Program, u.p.req.Options, with, u.p.run.Bag)
	}
}

// warn warns of an ephemeral resource that is not opened and to which no declaration refers. It does so only in normal
// plans, and not for the import command. It does not warn of a resource that -target names, because package targeting
// has warned of it.
func (u *unplanned) warn(d *program.Declaration) {
	if u.p.req.Mode == plan.Normal && !u.p.req.Operation.Policy().ImportsOnly && !u.p.sel.Named[d.Resource] && !u.p.run.Receivers.Referred(d.ID) {
		u.p.run.Bag.Add(diag.Warningf("Ephemeral resource not opened", "%s is not opened, because it has no conditions and no user of its value: a provider, a write-only argument, a provisioner, a condition, an output of a module, or another open ephemeral resource.", d.Resource).At(d.Range))
	}
}
