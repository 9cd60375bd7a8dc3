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

// Named returns the value of a variable, local or output of the module, and adds the diagnostics of its evaluation to
// the bag. face selects the prior value (Before) or the planned value (After). If the evaluation failed, the status is
// Failed or Broken, and the value is unknown. Named panics if the name is not declared.
func (f *Frame) Named(k program.Kind, name string, face Face, bag *diag.Bag) (mark.Value, Status) {
	i, ok := f.u.Index(k, name)
	if !ok {
		panic(fmt.Sprintf("lang: there is no %s %q in %q", k, name, f.addr))
	}
	r := f.value(f.u.Defs[i], face, nil)
	r.replay(bag)
	return r.rest, r.outcome
}

// Scope specifies which names an expression may use besides the declarations of the module.
type Scope struct {
	Decl program.Decl // the declaration to which the expression belongs; ignored if neither Key nor Self is set
	Key  addr.Key     // the instance of Decl
	Self *mark.Value  // the value of self; nil means that self is not available
	// Names has the values of additional names, such as run and output in the assertions of a test.
	Names map[string]cty.Value
}

func (in Scope) names() []string { return slices.Sorted(maps.Keys(in.Names)) }

// Nowhere is the Decl of a Scope whose expression belongs to no declaration.
const Nowhere = program.NoDecl

// Eval evaluates an expression of the frame's module. The expression may use count and each only if in.Key is set, and
// self only if in.Self is set. If the evaluation fails, the status is Failed or Broken, and the value must not be used.
func (f *Frame) Eval(e hcl.Expression, in Scope, face Face, bag *diag.Bag) (mark.Value, Status) {
	instance := !in.Key.IsNone()
	compiled, ok := f.n.Expression(e, program.AllowedRefs{Count: instance, Each: instance, Self: in.Self != nil, Names: in.names()}, "", bag)
	if !ok {
		return mark.Plain(cty.DynamicVal), Broken
	}
	s := newScope(f, face, bag)
	defer s.release()
	s.enter(in)
	defer s.know(in.Names)()
	v := s.Eval(compiled)
	return s.split(v), s.outcome()
}

// know makes additional names with values available to the evaluation. The returned function removes them.
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

// Body evaluates a body that belongs to no provider's schema, such as the body of a provisioner or a connection. It
// compiles the body against the schema s at each call. The body may use count, each and self. The compiler has checked
// already whether these symbols are permitted there. After an error, Body returns an unknown value and a status other
// than OK.
func (f *Frame) Body(b hcl.Body, s *schema.Block, in Scope, face Face, bag *diag.Bag) (mark.Value, Status) {
	body, ok := f.n.Block(b, s, program.AllowedRefs{Count: true, Each: true, Self: true}, "", bag)
	if !ok {
		return mark.Plain(cty.DynamicVal), Broken
	}
	e := newScope(f, face, bag)
	defer e.release()
	e.enter(in)
	v := body.Eval(&e.Env, e.Ctx)
	if o := e.outcome(); o != OK {
		return mark.Plain(cty.DynamicVal), o
	}
	return e.split(v), OK
}

// enter sets the declaration, the instance and the value of self for the evaluation. The declaration is in.Decl if
// in.Key is set, or if in.Self is set and the declaration is in this module. Otherwise it stays unset.
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

// setSelf sets the value of self. In a block of an ephemeral resource, self is always marked as ephemeral. If self is
// nil, setSelf does nothing.
func (s *scope) setSelf(self *mark.Value) {
	if self == nil {
		return
	}
	v := self.Join()
	s.Marked = s.Marked || len(self.Marks) > 0
	if s.d != nil && s.d.Kind == program.Resource {
		v = resources{s}.owned(s.f, s.d, v)
	}
	s.self = &v
}
