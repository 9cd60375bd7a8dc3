package frame

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
)

// Named gives the value of a variable, local or output of the module.
func (f *Frame) Named(k program.Kind, name string, face Face, bag *diag.Bag) (mark.Value, Outcome) {
	i, ok := f.u.Index(k, name)
	if !ok {
		panic(fmt.Sprintf("lang: there is no %s %q in %q", k, name, f.addr))
	}
	r := f.value(f.u.Defs[i], face, nil)
	r.replay(bag)
	return r.rest, r.outcome
}

// Scope says what else than declarations an expression may use.
type Scope struct {
	Decl program.Decl // the declaration it belongs to; ignored if there is neither Key nor Self
	Key  addr.Key     // the instance
	Self *mark.Value  // self, nil where there is none
	// Names are values from outside, such as run and output in the assertions of a test.
	Names map[string]cty.Value
}

func (in Scope) names() []string { return slices.Sorted(maps.Keys(in.Names)) }

// Nowhere is the declaration of a Scope that belongs to none.
const Nowhere = program.NoDecl

// Eval evaluates an expression of the frame's module.
func (f *Frame) Eval(e hcl.Expression, in Scope, face Face, bag *diag.Bag) (mark.Value, Outcome) {
	instance := !in.Key.IsNone()
	compiled, ok := f.n.Expression(e, program.AllowedRefs{Count: instance, Each: instance, Self: in.Self != nil, Names: in.names()}, "", bag)
	if !ok {
		return mark.Plain(cty.DynamicVal), Broken
	}
	s := f.scope(face, bag)
	defer s.release()
	s.enter(in)
	defer s.know(in.Names)()
	v := s.Eval(compiled)
	return s.split(v), s.outcome()
}

// know gives the evaluation names from outside. What it returns takes them away.
func (s *scope) know(names map[string]cty.Value) func() {
	root := s.Ctx
	if len(names) > 0 {
		s.Ctx = root.NewChild()
		s.Ctx.Variables = names
	}
	for _, v := range names {
		s.Marked = s.Marked || v.ContainsMarked()
	}
	return func() { s.Ctx = root }
}

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

// enter sets the instance and self.
func (s *scope) enter(in Scope) {
	switch i := int(in.Decl) - int(s.f.n.Base); {
	case in.Decl == Nowhere:
		s.of(nil, in.Key)
	case !in.Key.IsNone():
		s.of(s.f.local(in.Decl), in.Key)
	case in.Self != nil && i >= 0 && i < len(s.f.u.Defs):
		s.of(s.f.u.Defs[i], addr.NoKey)
	}
	s.setSelf(in.Self)
}

// setSelf says what self is. That of an ephemeral block is ephemeral, wherever it comes from.
func (s *scope) setSelf(self *mark.Value) {
	if self == nil {
		return
	}
	v := self.Join()
	s.Marked = s.Marked || len(self.Marks) > 0
	if s.d != nil && s.d.Kind == program.Resource {
		v = s.owned(s.f, s.d, v)
	}
	s.self = &v
}
