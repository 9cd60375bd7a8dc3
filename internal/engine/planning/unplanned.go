package planning

import (
	"context"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/validating"
	"github.com/lethe-iac/lethe/internal/lang"
	"github.com/lethe-iac/lethe/internal/plan"
)

// validateUnused holds the ephemeral resources that nothing receives against the rules. They are not
// opened, so that nothing else would find what is wrong with them.
func (p *planner) validateUnused(ctx context.Context) {
	if !p.run.Receivers.Any || p.req.Mode != plan.Normal {
		return
	}
	received := p.run.Receivers.Needed(func(d lang.Decl) bool { return !p.sel.Skips(d) })
	var unused []*lang.Declaration
	for _, d := range p.run.Program.Decls() {
		if d.Kind == lang.Resource && d.Resource.Mode == addr.Ephemeral && !received[d.ID] && !p.sel.Skips(d.ID) && !p.opensItself(d) {
			p.warnUnreferred(d)
			unused = append(unused, d)
		}
	}
	if len(unused) > 0 {
		validating.Resources(ctx, p.env, p.run.Program, p.req.Options, unused, p.run.Bag)
	}
}

// validateHooked holds provisioners and connections against their rules. Planning does not run them,
// so that nothing else would find what is wrong with them before an object is made.
func (p *planner) validateHooked(ctx context.Context) {
	var hooked []*lang.Declaration
	for _, d := range p.run.Program.Decls() {
		if d.Kind == lang.Resource && len(d.Res.Provisioners) > 0 && !p.sel.Skips(d.ID) && p.req.Mode == plan.Normal {
			hooked = append(hooked, d)
		}
	}
	if len(hooked) > 0 {
		validating.Provisioners(ctx, p.env, p.run.Program, p.req.Options, hooked, p.run.Bag)
	}
}

// warnUnreferred says of an ephemeral resource that nothing refers to that it is not opened. Of one that is
// a target that was said already.
func (p *planner) warnUnreferred(d *lang.Declaration) {
	if p.req.Mode == plan.Normal && !p.req.Quiet && !p.sel.Named[d.Resource] && !p.run.Receivers.Referred(d.ID) {
		p.run.Bag.Add(diag.Warningf("Ephemeral resource not opened", "Nothing refers to %s, and it has no conditions, so it is not opened. It is opened for what receives its value: a provider, a write-only argument, a provisioner, a condition, an output of a module, or another ephemeral resource that is.", d.Resource).At(d.Range))
	}
}
