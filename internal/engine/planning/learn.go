package planning

import (
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/plan"
)

// learn registers the values of write-only arguments of objects that the plan has read but not planned, because the
// plan decides nothing about them, or because reading or planning failed. These secrets must be known before package
// object/guard checks the answers of providers again, and before messages are printed. learn reports no errors in the
// arguments, because this plan does not use them.
func (p *planner) learn() {
	face, all := frame.After, p.req.Mode != plan.Normal || p.req.Operation.Policy().ImportsOnly
	if p.req.Mode == plan.Destroy {
		face = frame.Before
	}
	for _, d := range p.run.Program.Decls() {
		if d.Kind != program.Resource || d.Resource.Mode != addr.Managed || p.sel.Skips(d.ID) || !all && !p.outcomes.failed[d.ID].Load() && !p.deferred.is(d.ID, addr.ModuleInstance{}) {
			continue
		}
		s := p.run.Program.Schema(d.ID)
		if s == nil || !s.HasWriteOnly() {
			continue
		}
		frames, _ := p.run.Frame.Instances(d.Module, face)
		for _, f := range frames {
			for _, k := range f.Keys(d.ID, face, &diag.Bag{}).List {
				if config, ok := f.WriteOnly(d.ID, k, face); ok {
					p.run.Objects.Guard.WriteOnly(s, d.Resource.In(f.Addr()).Instance(k), config)
				}
			}
		}
	}
}
