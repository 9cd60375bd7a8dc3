package project

import (
	"context"

	"github.com/lethe-iac/lethe/internal/backend"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/vet"
)

// JudgeEncryption says what is wrong with the encryption of the configuration that was loaded.
func (p *Project) JudgeEncryption() {
	if !p.Tree.Closed {
		p.States().CheckEncryption(p.Tree, p.unvalued())
	}
}

// unvalued is the static frame of the root module where what is not literal is unknown.
func (p *Project) unvalued() *frame.StaticFrame {
	o := p.StaticOptions()
	o.Validate = true
	return frame.Static(p.Tree.Root.Module, p.Vars.Given, o)
}

// Judge says all that is wrong with the configuration that was loaded, also where mistakes were found
// before. What only follows from a mistake that was reported is not said: see config.Module.Unreadable and
// diag.Bag.Enough.
func (p *Project) Judge(ctx context.Context, check vet.CheckOptions) {
	if p.Tree.Closed || ctx.Err() != nil {
		return
	}
	p.Vars.Collect()
	if b := p.Tree.Root.Module.Stored(); b != nil {
		p.unvalued().Lasting(b.Body, "backend "+b.Type, backend.SecretIn(b.Type), p.Bag)
	}
	if p.Program == nil {
		p.Compile(ctx, check)
	}
	if p.Program != nil {
		p.Engine.Validate(ctx, p.Program, p.LangOptions(), p.Bag)
	}
}
