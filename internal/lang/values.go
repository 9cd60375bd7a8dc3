package lang

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// variable is the value of an input variable.
func (s *scope) variable(d *decl) cty.Value {
	v := d.vr
	if s.f.w.o.Validate {
		return cty.UnknownVal(plainType(v.Type))
	}
	if s.f.parent == nil {
		return s.rootVariable(d)
	}
	call := s.f.parent.u.decls[s.f.n.call]
	arg := call.args[d.name]
	if arg == nil {
		if !hasDefault(v) {
			s.Broken = true // reported by Compile
			return cty.DynamicVal
		}
		return v.Default
	}
	ps := s.f.parent.scope(s.face, s.Bag).of(call, s.f.key)
	defer ps.release()
	ps.below(s.from)
	given := ps.Eval(arg.expr)
	s.Failed, s.Broken, s.Marked, s.early = s.Failed || ps.Failed, s.Broken || ps.Broken, s.Marked || ps.Marked, s.early || ps.early
	if s.outcome() != OK {
		return cty.DynamicVal
	}
	return s.accept(s.f.n, d, given, arg.expr)
}

// plainType is a type constraint as the type of a value.
func plainType(t cty.Type) cty.Type { return t.WithoutOptionalAttributesDeep() }

// accept makes a variable's value of what a call gives it: defaults of optional attributes,
// conversion, nullability, marks. n is where the variable stands, which need not be the scope's.
func (s *scope) accept(n *node, d *decl, given cty.Value, from hclsyntax.Expression) cty.Value {
	out, problem := prepareVariable(d.vr, given)
	if problem != "" {
		s.Error(diag.Errorf("Invalid value for input variable", "The given value is not suitable for %s declared at %s: %s.", n.cfg.Path.String()+".var."+d.name, place2(d.at), problem).At(from.Range()).See("declared here", d.at))
		return cty.DynamicVal
	}
	if !d.vr.Ephemeral && s.Marked {
		if m, ok := mark.Split(out).Find(mark.Ephemeral); ok {
			s.Error(ephemeralIntoVariable(d, m).At(insideExpr(from, from.Range(), m.Path)).See("declared here", d.at))
			return cty.DynamicVal
		}
	}
	return out
}

func place2(r diag.Range) string {
	return fmt.Sprintf("%s:%d,%d-%d", r.Filename, r.Start.Line, r.Start.Column, r.End.Column)
}

// The texts about ephemeral values begin as those of the RFC that brought them.

func ephemeralIntoVariable(d *decl, m mark.At) diag.Diagnostic {
	return diag.Errorf("Invalid usage of ephemeral value", "Variable `%s` is not marked as ephemeral. Therefore, it cannot reference an ephemeral value. In case this is actually wanted, you can add the following attribute to its declaration:\n    ephemeral = true%s", d.name, wayOf(m))
}

// wayOf is a paragraph that says where in a value the mark is and how it came there.
func wayOf(m mark.At) string {
	switch what := mark.PathString(m.Path); {
	case what == "" && m.Why == nil:
		return ""
	case what == "":
		return "\n\nThe value comes from " + explain(m.Why) + "."
	case m.Why == nil:
		return "\n\nWhat is ephemeral is " + what + "."
	default:
		return "\n\nWhat is ephemeral is " + what + ", which comes from " + explain(m.Why) + "."
	}
}

// prepareVariable converts what a variable was given; the text says why it cannot.
func prepareVariable(v *config.Variable, given cty.Value) (cty.Value, string) {
	out := given
	if v.Defaults != nil && !out.IsNull() {
		bare, remark := mark.Bare(out)
		out = remark(v.Defaults.Apply(bare))
	}
	out, err := convertValue(out, v.Type)
	if err != nil {
		return cty.DynamicVal, conversionText(err)
	}
	if out.IsNull() && !v.Nullable {
		if !hasDefault(v) {
			return cty.DynamicVal, "required variable may not be set to null"
		}
		_, remark := mark.Bare(out)
		return remark(v.Default), ""
	}
	return out, ""
}

// declaredMarks puts the marks onto a variable's or an output's value that its declaration asks for.
func declaredMarks(v cty.Value, sensitive, ephemeral bool, why *mark.Origin) cty.Value {
	if sensitive {
		v = mark.With(v, mark.Sensitive, why)
	}
	if ephemeral {
		v = mark.With(v, mark.Ephemeral, why)
	}
	return v
}

// rootVariable is the value of a variable of the root module, prepared when the walk began.
func (s *scope) rootVariable(d *decl) cty.Value {
	if s.f.w.static != nil {
		v, ok := s.f.w.staticRoot(d.vr, s.Bag)
		s.Broken = s.Broken || !ok
		return v
	}
	v, ok := s.f.w.roots[d.name]
	if !ok {
		s.Broken = true
		return cty.DynamicVal
	}
	return v
}

// output is the value of an output.
func (s *scope) output(d *decl) cty.Value {
	o := d.out
	v := s.Eval(d.value)
	if s.outcome() != OK {
		return cty.DynamicVal
	}
	if o.Type != cty.NilType {
		if o.Defaults != nil && !v.IsNull() {
			bare, remark := mark.Bare(v)
			v = remark(o.Defaults.Apply(bare))
		}
		out, err := convertValue(v, o.Type)
		if err != nil {
			s.Error(s.WithValues(diag.Errorf("Invalid output value", "The value expression does not match the type constraint of output %q: %s.", d.name, conversionText(err)).At(d.value.Range()), d.value, s.Ctx))
			return cty.DynamicVal
		}
		v = out
	}
	s.outputBorders(d, v)
	if s.f.parent == nil {
		v = s.f.w.names.forget(v, cty.DynamicPseudoType)
	}
	return v
}

// outputBorders refuses what an output must not carry.
func (s *scope) outputBorders(d *decl, v cty.Value) {
	o := d.out
	if s.f.parent == nil && !s.finite(v, "output "+d.name, d.value, s.Ctx) {
		return
	}
	if !o.Ephemeral && s.Marked {
		if m, ok := mark.Split(v).Find(mark.Ephemeral); ok {
			s.ephemeralOutput(d, m)
			return
		}
	}
	if s.f.parent == nil && !o.Sensitive && s.Marked && mark.Anywhere(v, mark.Sensitive) {
		s.Error(diag.Errorf("Output refers to sensitive values", "To reduce the risk of accidentally exporting sensitive data that was intended to be only internal, it is required that any root module output containing sensitive data be explicitly marked as sensitive, to confirm your intent.\n\nIf you do intend to export this data, annotate the output value as sensitive by adding the following argument:\n    sensitive = true").At(d.at))
	}
}

func (s *scope) ephemeralOutput(d *decl, m mark.At) {
	at := insideExpr(d.value, d.value.Range(), m.Path)
	if s.f.parent != nil {
		s.Error(diag.Errorf("Output not marked as ephemeral", "In order to allow this output to store ephemeral values add `ephemeral = true` attribute to it. The calling module can then use it only where ephemeral values are accepted.%s", wayOf(m)).At(at))
		return
	}
	s.Error(diag.Errorf("Output not marked as ephemeral", "Outputs of the root module are kept in the state, and ephemeral values cannot be. Output %q needs a value without anything ephemeral in it.%s", d.name, wayOf(m)).At(at))
	s.Bag.Add(diag.Warningf("Ephemeral value in root module output", "Consider ephemeralasnull(...) around the value of output %q: it keeps everything else and stores null in place of what is ephemeral.", d.name).At(at))
}

// Variable gives the value of an input variable.
func (f *Frame) Variable(name string, face Face, bag *diag.Bag) (mark.Value, Outcome) {
	return f.named(Variable, name, face, bag)
}

// Local gives a local value.
func (f *Frame) Local(name string, face Face, bag *diag.Bag) (mark.Value, Outcome) {
	return f.named(Local, name, face, bag)
}

// Output gives an output value.
func (f *Frame) Output(name string, face Face, bag *diag.Bag) (mark.Value, Outcome) {
	return f.named(Output, name, face, bag)
}

func (f *Frame) named(k Kind, name string, face Face, bag *diag.Bag) (mark.Value, Outcome) {
	i, ok := f.u.index(k, name)
	if !ok {
		panic(fmt.Sprintf("lang: there is no %s %q in %q", k, name, f.addr))
	}
	r := f.value(f.u.decls[i], face, nil)
	r.replay(bag)
	return r.rest, r.outcome
}

// Scope says what else than declarations an expression may use.
type Scope struct {
	Decl Decl        // the declaration it belongs to; ignored if there is neither Key nor Self
	Key  addr.Key    // the instance
	Self *mark.Value // self, nil where there is none
}

// Nowhere is the declaration of a Scope that belongs to none.
const Nowhere = noDecl

// Eval evaluates an expression of the frame's module.
func (f *Frame) Eval(e hcl.Expression, in Scope, face Face, bag *diag.Bag) (mark.Value, Outcome) {
	instance := !in.Key.IsNone()
	compiled, ok := f.n.Expression(e, place{count: instance, each: instance, self: in.Self != nil}, "", bag)
	if !ok {
		return mark.Plain(cty.DynamicVal), Broken
	}
	return f.evalCompiled(compiled, in, face, bag)
}

func (f *Frame) evalCompiled(e hclsyntax.Expression, in Scope, face Face, bag *diag.Bag) (mark.Value, Outcome) {
	s := f.scope(face, bag)
	defer s.release()
	s.enter(in)
	v := s.Eval(e)
	return s.split(v), s.outcome()
}

// enter sets the instance and self.
func (s *scope) enter(in Scope) {
	switch i := int(in.Decl) - int(s.f.n.base); {
	case in.Decl == Nowhere:
		s.of(nil, in.Key)
	case !in.Key.IsNone():
		s.of(s.f.local(in.Decl), in.Key)
	case in.Self != nil && i >= 0 && i < len(s.f.u.decls):
		s.of(s.f.u.decls[i], addr.NoKey)
	}
	s.setSelf(in.Self)
}

// setSelf says what self is. That of an ephemeral block is ephemeral, whoever hands it in.
func (s *scope) setSelf(self *mark.Value) {
	if self == nil {
		return
	}
	v := self.Join()
	s.Marked = s.Marked || len(self.Marks) > 0
	if s.d != nil && s.d.kind == Resource {
		v = s.owned(s.f, s.d, v)
	}
	s.self = &v
}
