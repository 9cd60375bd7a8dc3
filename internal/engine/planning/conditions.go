package planning

import (
	"context"
	"iter"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/engine/declared"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/plan"
)

// testAll tests a declaration in every instance of its module. A value that a variable refuses goes
// nowhere.
func (p *planner) testAll(ctx context.Context, d *program.Declaration) bool {
	frames, status := p.run.Frame.Instances(d.Module, frame.After)
	if status == frame.Known && d.Kind != program.Resource {
		p.run.Expect(d)
	}
	ok := true
	for _, f := range frames {
		if p.run.Test(ctx, d, f) {
			continue
		}
		ok = false
		if d.Kind == program.Variable {
			f.Refuse(d.ID)
		}
	}
	return ok
}

// expect says of which instances of a resource conditions are to be evaluated.
func (p *planner) expect(d *program.Declaration, instances iter.Seq[addr.Instance]) {
	if !declared.HasResourceConditions(d) {
		return
	}
	var objects []string
	for i := range instances {
		objects = append(objects, i.String())
	}
	p.run.Expect(d, objects...)
}

// tests reports whether the conditions of a declaration are evaluated in this walk. What a variable
// was given is tested in all of them, because providers are configured with it; but not, where
// everything is destroyed, what is made from resources: they have no value then.
func (p *planner) tests(d *program.Declaration) bool {
	if !declared.HasConditions(d) || p.req.Mode != plan.Destroy {
		return declared.HasConditions(d)
	}
	return d.Kind == program.Variable && !p.run.Receivers.FromResources(d.ID)
}
