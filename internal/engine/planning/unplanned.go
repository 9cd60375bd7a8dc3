package planning

import (
	"context"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/validating"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/plan"
)

// unplanned looks after what a plan evaluates nothing of.
type unplanned struct{ p *planner }

// ephemerals holds the ephemeral resources that nothing receives against the rules. They are not
// opened, so that nothing else would find what is wrong with them.
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

// provisioners holds provisioners and connections against their rules. Planning does not run them,
// so that nothing else would find what is wrong with them before an object is made.
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

// warn says of an ephemeral resource that nothing refers to that it is not opened. Of one that is
// a target that was said already.
func (u *unplanned) warn(d *program.Declaration) {
	if u.p.req.Mode == plan.Normal && !u.p.req.Quiet && !u.p.sel.Named[d.Resource] && !u.p.run.Receivers.Referred(d.ID) {
		u.p.run.Bag.Add(diag.Warningf("Ephemeral resource not opened", "Nothing refers to %s, and it has no conditions, so it is not opened. It is opened for what receives its value: a provider, a write-only argument, a provisioner, a condition, an output of a module, or another ephemeral resource that is.", d.Resource).At(d.Range))
	}
}
