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

// testAll evaluates the conditions of a declaration in every instance of its module. It returns false if a condition
// fails. If a condition of a variable fails in a module instance, testAll discards the variable's value there
// (Frame.Refuse), so that expressions that use it fail.
func (p *planner) testAll(ctx context.Context, d *program.Declaration) bool {
	frames, status := p.run.Frame.Instances(d.Module, frame.After)
	if status == frame.Known && d.Kind != program.Resource {
		p.run.Conditions.Expect(d)
	}
	ok := true
	for _, f := range frames {
		if p.run.Conditions.Test(ctx, p.run.Bag, d, f) {
			continue
		}
		ok = false
		if d.Kind == program.Variable {
			f.Refuse(d.ID)
		}
	}
	return ok
}

// expect records the instances of a resource whose conditions will be evaluated. It records nothing for a resource
// without conditions.
func (p *planner) expect(d *program.Declaration, instances iter.Seq[addr.Instance]) {
	if !declared.HasResourceConditions(d) {
		return
	}
	var objects []string
	for i := range instances {
		objects = append(objects, i.String())
	}
	p.run.Conditions.Expect(d, objects...)
}

// tests reports whether the plan evaluates the conditions of a declaration. In a destroy plan it evaluates only the
// conditions of variables, because provider configurations use variables. It skips a variable whose value refers to
// resources, because resources have no planned values in a destroy plan.
func (p *planner) tests(d *program.Declaration) bool {
	if !declared.HasConditions(d) || p.req.Mode != plan.Destroy {
		return declared.HasConditions(d)
	}
	return d.Kind == program.Variable && !p.run.Receivers.FromResources(d.ID)
}
