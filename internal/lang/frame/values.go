package frame

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/convert"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/expr"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// variable is the value of an input variable.
func (s *scope) variable(d *program.Def) cty.Value {
	v := d.Var
	if s.f.w.o.Validate {
		return cty.UnknownVal(v.Type.WithoutOptionalAttributesDeep())
	}
	if s.f.parent == nil {
		return s.rootVariable(d)
	}
	call := s.f.parent.u.Defs[s.f.n.Call]
	arg := call.Args[d.Name]
	if arg == nil {
		if !program.HasDefault(v) {
			s.Broken = true // reported by Compile
			return cty.DynamicVal
		}
		return v.Default
	}
	ps := s.f.parent.scope(s.face, s.Bag).of(call, s.f.key)
	defer ps.release()
	ps.below(s.from)
	given := ps.Eval(arg.Expr)
	s.Failed, s.Broken, s.Marked, s.early = s.Failed || ps.Failed, s.Broken || ps.Broken, s.Marked || ps.Marked, s.early || ps.early
	if s.outcome() != OK {
		return cty.DynamicVal
	}
	return s.accept(s.f.n, d, given, arg.Expr)
}

// accept makes a variable's value of what a call gives it: defaults of optional attributes,
// conversion, nullability, marks. n is where the variable stands, which need not be the scope's.
func (s *scope) accept(n *program.Node, d *program.Def, given cty.Value, from hclsyntax.Expression) cty.Value {
	out, problem := prepareVariable(d.Var, given)
	if problem != "" {
		s.Error(diag.Errorf("Invalid value for input variable", "The given value is not suitable for %s declared at %s: %s.", n.Config.Path.String()+".var."+d.Name, place2(d.At), problem).At(from.Range()).See("declared here", d.At))
		return cty.DynamicVal
	}
	if !d.Var.Ephemeral && s.Marked {
		if m, ok := mark.Split(out).Find(mark.Ephemeral); ok {
			s.Error(diag.Errorf("Invalid usage of ephemeral value", "Variable `%s` is not marked as ephemeral. Therefore, it cannot reference an ephemeral value. In case this is actually wanted, you can add the following attribute to its declaration:\n    ephemeral = true%s", d.Name, wayOf(m)).At(expr.InsideExpr(from, from.Range(), m.Path)).See("declared here", d.At))
			return cty.DynamicVal
		}
	}
	return out
}

func place2(r diag.Range) string {
	return fmt.Sprintf("%s:%d,%d-%d", r.Filename, r.Start.Line, r.Start.Column, r.End.Column)
}

// The texts about ephemeral values begin as those of the RFC that brought them.

// wayOf is a paragraph that says where in a value the mark is and how it came there.
func wayOf(m mark.At) string {
	switch what := mark.PathString(m.Path); {
	case what == "" && m.Why == nil:
		return ""
	case what == "":
		return "\n\nThe value comes from " + expr.Way(m.Why) + "."
	case m.Why == nil:
		return "\n\nWhat is ephemeral is " + what + "."
	default:
		return "\n\nWhat is ephemeral is " + what + ", which comes from " + expr.Way(m.Why) + "."
	}
}

// prepareVariable converts what a variable was given; the text says why it cannot.
func prepareVariable(v *config.Variable, given cty.Value) (cty.Value, string) {
	out := given
	if v.Defaults != nil && !out.IsNull() {
		bare, remark := mark.Bare(out)
		out = remark(v.Defaults.Apply(bare))
	}
	out, err := convert.To(out, v.Type)
	if err != nil {
		return cty.DynamicVal, expr.ConversionText(err)
	}
	if out.IsNull() && !v.Nullable {
		if !program.HasDefault(v) {
			return cty.DynamicVal, "required variable may not be set to null"
		}
		_, remark := mark.Bare(out)
		return remark(v.Default), ""
	}
	return out, ""
}

// rootVariable is the value of a variable of the root module, prepared when the walk began.
func (s *scope) rootVariable(d *program.Def) cty.Value {
	if s.f.w.static != nil {
		v, ok := s.f.w.staticRoot(d.Var, s.Bag)
		s.Broken = s.Broken || !ok
		return v
	}
	v, ok := s.f.w.roots[d.Name]
	if !ok {
		s.Broken = true
		return cty.DynamicVal
	}
	return v
}

// output is the value of an output.
func (s *scope) output(d *program.Def) cty.Value {
	o := d.Out
	v := s.Eval(d.Value)
	if s.outcome() != OK {
		return cty.DynamicVal
	}
	if o.Type != cty.NilType {
		if o.Defaults != nil && !v.IsNull() {
			bare, remark := mark.Bare(v)
			v = remark(o.Defaults.Apply(bare))
		}
		out, err := convert.To(v, o.Type)
		if err != nil {
			s.Error(s.WithValues(diag.Errorf("Invalid output value", "The value expression does not match the type constraint of output %q: %s.", d.Name, expr.ConversionText(err)).At(d.Value.Range()), d.Value, s.Ctx))
			return cty.DynamicVal
		}
		v = out
	}
	s.outputBorders(d, v)
	if s.f.parent == nil {
		v = s.f.w.names.Forget(v, cty.DynamicPseudoType)
	}
	return v
}

// outputBorders refuses what an output must not carry.
func (s *scope) outputBorders(d *program.Def, v cty.Value) {
	o := d.Out
	if s.f.parent == nil && !s.Finite(v, "output "+d.Name, d.Value, s.Ctx) {
		return
	}
	if !o.Ephemeral && s.Marked {
		if m, ok := mark.Split(v).Find(mark.Ephemeral); ok {
			s.ephemeralOutput(d, m)
			return
		}
	}
	if s.f.parent == nil && !o.Sensitive && s.Marked && mark.Anywhere(v, mark.Sensitive) {
		s.Error(diag.Errorf("Output refers to sensitive values", "To reduce the risk of accidentally exporting sensitive data that was intended to be only internal, it is required that any root module output containing sensitive data be explicitly marked as sensitive, to confirm your intent.\n\nIf you do intend to export this data, annotate the output value as sensitive by adding the following argument:\n    sensitive = true").At(d.At))
	}
}

func (s *scope) ephemeralOutput(d *program.Def, m mark.At) {
	at := expr.InsideExpr(d.Value, d.Value.Range(), m.Path)
	if s.f.parent != nil {
		s.Error(diag.Errorf("Output not marked as ephemeral", "In order to allow this output to store ephemeral values add `ephemeral = true` attribute to it. The calling module can then use it only where ephemeral values are accepted.%s", wayOf(m)).At(at))
		return
	}
	s.Error(diag.Errorf("Output not marked as ephemeral", "Outputs of the root module are kept in the state, and ephemeral values cannot be. Output %q needs a value without anything ephemeral in it.%s", d.Name, wayOf(m)).At(at))
	s.Bag.Add(diag.Warningf("Ephemeral value in root module output", "Consider ephemeralasnull(...) around the value of output %q: it keeps everything else and stores null in place of what is ephemeral.", d.Name).At(at))
}

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
}

// Nowhere is the declaration of a Scope that belongs to none.
const Nowhere = program.NoDecl

// Eval evaluates an expression of the frame's module.
func (f *Frame) Eval(e hcl.Expression, in Scope, face Face, bag *diag.Bag) (mark.Value, Outcome) {
	instance := !in.Key.IsNone()
	compiled, ok := f.n.Expression(e, program.AllowedRefs{Count: instance, Each: instance, Self: in.Self != nil}, "", bag)
	if !ok {
		return mark.Plain(cty.DynamicVal), Broken
	}
	s := f.scope(face, bag)
	defer s.release()
	s.enter(in)
	v := s.Eval(compiled)
	return s.split(v), s.outcome()
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
