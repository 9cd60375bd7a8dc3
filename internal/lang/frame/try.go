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

// What is evaluated only to find out what is wrong with it, in frames that validate.

// Placeholder is the frame that stands for all instances of a module while validating.
func (f *Frame) Placeholder(m addr.Module) *Frame {
	if m.IsRoot() {
		return f.root()
	}
	p := f.Placeholder(m.Parent())
	i, _ := p.u.Index(program.Call, m.Name())
	return p.child(p.u.Defs[i], addr.NoKey)
}

// SelfOf stands for an object of a resource while nothing is known of it but its type.
func (f *Frame) SelfOf(d program.Decl) mark.Value { return mark.Split(placeholderOf(f, f.local(d))) }

// TryInputs evaluates the inputs of a call against the variables they are for, and the rules of these variables: a rule
// that a constant argument or a default breaks is broken in every instance.
func (f *Frame) TryInputs(call program.Decl, bag *diag.Bag) Outcome {
	d := f.local(call)
	child := f.n.Children[d.Nth]
	if child == nil {
		return OK
	}
	s := f.scope(After, bag).of(d, addr.NoKey)
	defer s.release()
	s.Marked = true // each argument in turn
	worst := OK
	for _, name := range slices.Sorted(maps.Keys(child.Unit.Module.Variables)) {
		i, ok := child.Unit.Index(program.Variable, name)
		if !ok {
			continue
		}
		v, a := child.Unit.Defs[i], d.Args[name]
		given := v.Var.Default
		if a != nil {
			s.Failed, s.Broken = false, false
			if given = s.Eval(a.Expr); s.outcome() == OK {
				given = s.accept(child, v, given, a.Expr)
			}
			worst = max(worst, s.outcome())
		}
		if len(v.Conditions[program.Validation]) > 0 && given != cty.NilVal && s.outcome() == OK {
			worst = max(worst, f.child(d, addr.NoKey).tryRules(v, given, bag))
		}
	}
	return worst
}

// tryRules evaluates the rules of a variable for the value that a call gives it. As in Terraform, nothing is known of other
// variables.
func (f *Frame) tryRules(v *program.Def, given cty.Value, bag *diag.Bag) Outcome {
	given = withDeclaredMarks(f, v, given)
	worst := OK
	for _, c := range v.Conditions[program.Validation] {
		s := f.scope(After, bag).of(v, addr.NoKey)
		s.tried, s.Marked = &given, given.ContainsMarked()
		if r := (&conditionCheck{s, c, program.Validation, nil}).run(); r.Status == state.Fail {
			worst = Broken
		}
		s.release()
	}
	return worst
}

// TryProvisioners evaluates what the provisioners and connections of a resource say, of every kind.
func (f *Frame) TryProvisioners(d program.Decl, self *mark.Value, bag *diag.Bag) Outcome {
	worst := OK
	for _, raw := range f.local(d).Bodies {
		s := f.scope(After, bag).of(f.local(d), addr.NoKey)
		s.setSelf(self)
		s.try(raw, s.Ctx)
		worst = max(worst, s.outcome())
		s.release()
	}
	return worst
}

// try evaluates the arguments of a body without a schema.
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
