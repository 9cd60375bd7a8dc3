package project

import (
	"context"

	"github.com/lethe-iac/lethe/internal/backend"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/vet"
)

// Judge says all that is wrong with the configuration that was loaded, also where mistakes were found
// before. What
// only follows from a mistake that was reported is not said: see config.Module.Unreadable and
// diag.Bag.Enough.
func (p *Project) Judge(ctx context.Context, check vet.CheckOptions) {
	if p.Tree.Closed || ctx.Err() != nil {
		return
	}
	p.Vars.Collect()
	if b := p.Tree.Root.Module.Backend; b != nil {
		o := p.StaticOptions()
		o.Validate = true
		frame.Static(p.Tree.Root.Module, p.Vars.Given, o).Lasting(b.Body, "backend "+b.Type, backend.SecretIn(b.Type), p.Bag)
	}
	if p.Program == nil {
		p.Compile(ctx, check)
	}
	if p.Program != nil {
		p.Engine.Validate(ctx, p.Program, p.LangOptions(), p.Bag)
	}
}
