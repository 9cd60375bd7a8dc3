package frame

import (
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/zclconf/go-cty/cty"
)

// The functions in this file evaluate parts of a module only to find mistakes, in frames that validate.

// Checker evaluates parts of a module only to report the mistakes in them. The values are not used.
type Checker struct{ f *Frame }

// NewChecker returns a checker for the declarations of the frame's module.
func NewChecker(f *Frame) Checker { return Checker{f} }

// Placeholder returns the frame that represents all instances of a module during validation.
func Placeholder(f *Frame, m addr.Module) *Frame {
	if m.IsRoot() {
		return f.root()
	}
	p := Placeholder(f, m.Parent())
	i, _ := p.u.Index(program.Call, m.Name())
	return p.child(p.u.Defs[i], addr.NoKey)
}

// Self returns a value for self in the blocks of a resource: an unknown object of its type.
func (c Checker) Self(d program.Decl) mark.Value { return mark.Split(placeholderOf(c.f, c.f.local(d))) }

// Inputs evaluates the arguments of a module call against the variables of the called module, and checks the validation
// rules of these variables. Only constants are known, so a rule that fails now would fail for every instance of the
// module.
func (c Checker) Inputs(call program.Decl, bag *diag.Bag) Status {
	d := c.f.local(call)
	child := c.f.n.Children[d.Nth]
	if child == nil {
		return OK
	}
	s := newScope(c.f, After, bag).of(d, addr.NoKey)
	defer s.release()
	s.Marked = true // assume that an argument has marks
	worst := OK
	for _, name := range slices.Sorted(maps.Keys(child.Unit.Module.Variables)) {
		i, ok := child.Unit.Index(program.Variable, name)
		if !ok {
			continue
		}
		v, a := child.Unit.Defs[i], d.Inputs.Args[name]
		given := v.Src.Var.Default
		if a != nil {
			s.Failed, s.Broken = false, false
			if given = s.Eval(a.Expr); s.outcome() == OK {
				given = inputVariable{s, v}.accept(child, given, a.Expr)
			}
			worst = max(worst, s.outcome())
		}
		if len(v.Conditions[program.Validation]) > 0 && given != cty.NilVal && s.outcome() == OK {
			worst = max(worst, Checker{c.f.child(d, addr.NoKey)}.rules(v, given, bag))
		}
	}
	return worst
}

// rules evaluates the validation rules of the variable v for a value from a module call. All other variables are
// unknown, as in Terraform. It returns the worst status.
func (c Checker) rules(v *program.Def, given cty.Value, bag *diag.Bag) Status {
	given = withDeclaredMarks(c.f, v, given)
	worst := OK
	for _, cond := range v.Conditions[program.Validation] {
		s := newScope(c.f, After, bag).of(v, addr.NoKey)
		s.tried, s.Marked = &given, given.ContainsMarked()
		if r := (&conditionCheck{s, cond, program.Validation, nil}).run(); r.Status == state.Fail {
			worst = Broken
		}
		s.release()
	}
	return worst
}

// Provisioners evaluates the bodies of all provisioners and connections of a resource, to find mistakes. It returns the
// worst status.
func (c Checker) Provisioners(d program.Decl, self *mark.Value, bag *diag.Bag) Status {
	worst := OK
	for _, raw := range c.f.local(d).Bodies {
		s := newScope(c.f, After, bag).of(c.f.local(d), addr.NoKey)
		s.setSelf(self)
		s.try(raw, s.Ctx)
		worst = max(worst, s.outcome())
		s.release()
	}
	return worst
}

// try evaluates the arguments of a body that has no schema, including the arguments in its blocks.
func (s *scope) try(raw *program.RawBody, ctx *hcl.EvalContext) {
	for i := range raw.Attrs {
		s.EvalIn(raw.Attrs[i].Expr, ctx)
	}
	for i := range raw.Blocks {
		b := &raw.Blocks[i]
		if b.Dynamic == nil {
			s.try(b.Body, ctx)
			continue
		}
		s.EvalIn(b.Dynamic.ForEach, ctx)
		child := ctx.NewChild()
		child.Variables = map[string]cty.Value{b.Dynamic.Iterator: cty.DynamicVal}
		s.Suppose(func() { s.try(b.Body, child) })
	}
}
