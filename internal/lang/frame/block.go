package frame

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
)

// Body evaluates a body that belongs to no provider's schema, such as that of a provisioner or a connection. It is
// compiled against the schema that comes with the question, each time. What may stand in it was checked with the
// declaration that it belongs to; here all symbols are allowed.
func (f *Frame) Body(b hcl.Body, s *schema.Block, in Scope, face Face, bag *diag.Bag) (mark.Value, Outcome) {
	body, ok := f.n.Block(b, s, program.AllowedRefs{Count: true, Each: true, Self: true}, "", bag)
	if !ok {
		return mark.Plain(cty.DynamicVal), Broken
	}
	e := f.scope(face, bag)
	defer e.release()
	e.enter(in)
	v := body.Eval(&e.Env, e.Ctx)
	if o := e.outcome(); o != OK {
		return mark.Plain(cty.DynamicVal), o
	}
	return e.split(v), OK
}
