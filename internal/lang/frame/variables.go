package frame

import (
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/convert"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/expr"
	"github.com/lethe-iac/lethe/internal/lang/funcs"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/limits"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
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

// notNull is what is wrong with a null that a variable neither allows nor replaces.
const notNull = "required variable may not be set to null"

// badValue is the title where a value is not suitable for a variable.
func badValue(problem string) string {
	if problem == notNull {
		return "Required variable not set"
	}
	return "Invalid value for input variable"
}

// accept makes a variable's value of what a call gives it: defaults of optional attributes,
// conversion, nullability, marks. n is where the variable stands, which need not be the scope's.
func (s *scope) accept(n *program.Node, d *program.Def, given cty.Value, from hclsyntax.Expression) cty.Value {
	out, problem := prepareVariable(d.Var, given)
	if problem != "" {
		s.Error(diag.Errorf(badValue(problem), "The given value is not suitable for %s declared at %s: %s.", n.Config.Path.String()+".var."+d.Name, place2(d.At), problem).At(from.Range()).See("declared here", d.At))
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
			return cty.DynamicVal, notNull
		}
		_, remark := mark.Bare(out)
		return remark(v.Default), ""
	}
	return out, ""
}

// rootVariable is the value of a variable of the root module, prepared when the walk began.
func (s *scope) rootVariable(d *program.Def) cty.Value {
	if s.f.w.static {
		v, ok := s.f.w.staticRoot(d.Var, s.Bag)
		s.Broken = s.Broken || !ok
		s.Marked = s.Marked || v.ContainsMarked()
		return v
	}
	v, ok := s.f.w.roots[d.Name]
	if !ok {
		s.Broken = true
		return cty.DynamicVal
	}
	s.Marked = s.Marked || v.ContainsMarked()
	return v
}

// staticRoot gives the value of a root variable to a static evaluation, when it is needed.
func (w *walk) staticRoot(v *config.Variable, bag *diag.Bag) (cty.Value, bool) {
	if got, ok := w.roots[v.Name]; ok {
		return got, true
	}
	if _, set := w.o.Variables[v.Name]; !set && !program.HasDefault(v) {
		w.o.Run.Ask(v)
	}
	got, ok := rootValue(v, w.o.Variables, bag)
	if ok {
		w.roots[v.Name] = got
	}
	return got, ok
}

// rootValue is the value of one root variable.
func rootValue(v *config.Variable, given map[string]Given, bag *diag.Bag) (cty.Value, bool) {
	g, set := given[v.Name]
	if !set {
		if !program.HasDefault(v) {
			bag.Add(diag.Errorf("No value for required variable", "The root module input variable %q is not set, and has no default value. Use a -var or -var-file command line argument to provide a value for this variable.", v.Name).At(v.Range))
			return cty.NilVal, false
		}
		return v.Default, true
	}
	val, ok := g.value(v, bag)
	if !ok {
		return cty.NilVal, false
	}
	out, problem := prepareVariable(v, val)
	if problem != "" {
		bag.Add(g.invalid(v, problem))
		return cty.NilVal, false
	}
	return out, true
}

// value is the given value, its text read by the variable's type: strings are taken as they are,
// everything else is an expression.
func (g Given) value(v *config.Variable, bag *diag.Bag) (cty.Value, bool) {
	if !g.IsText {
		return g.Value, true
	}
	if !v.TypeGiven || v.Type.IsPrimitiveType() {
		if !v.Ephemeral && !utf8.ValidString(g.Text) {
			bag.Add(diag.Errorf("Invalid character encoding", "The value for var.%s set using %s has bytes that are not UTF-8, which no state and no plan could keep as they are. To give bytes, encode them, as with base64.", v.Name, g.From).At(v.Range))
			return cty.NilVal, false
		}
		return cty.StringVal(g.Text), true
	}
	return config.ParseValue(g.Source(v.Name), g.Text, limits.Limits{}, bag)
}

// Source is what messages about the text of a value call it.
func (g Given) Source(name string) string {
	return fmt.Sprintf("<value for var.%s from %s>", name, g.From)
}

func (g Given) invalid(v *config.Variable, problem string) diag.Diagnostic {
	d := diag.Errorf(badValue(problem), "The given value is not suitable for var.%s declared at %s: %s.", v.Name, place2(v.Range), problem)
	if g.Range != (diag.Range{}) {
		return d.At(g.Range).See("declared here", v.Range)
	}
	d.Detail = fmt.Sprintf("Unsuitable value for var.%s set using %s: %s.", v.Name, g.From, problem)
	return d.At(v.Range)
}

// New makes the root frame of a walk: the root module's variables are converted and checked.
func New(p *program.Program, o Options, bag *diag.Bag) (*Frame, bool) {
	w := &walk{p: p, o: o.in(p.Root().Unit.Module.Dir), budget: newBudget(o.Limits), roots: map[string]cty.Value{}, past: make([]atomic.Bool, len(p.Decls()))}
	w.table = functionTable(&w.o)
	f := newFrame(w, p.Root(), nil, addr.NoKey)
	if o.Validate {
		return f, true
	}
	ok := true
	for _, name := range slices.Sorted(maps.Keys(p.Root().Unit.Module.Variables)) {
		v, good := rootValue(p.Root().Unit.Module.Variables[name], o.Variables, bag)
		ok = ok && good
		if good {
			w.roots[name] = v
		}
	}
	return f, ok
}

// functionTable is the table of functions of a walk. All frames share it.
func functionTable(o *Options) map[string]function.Function {
	return funcs.Table(&funcs.Env{
		BaseDir: o.BaseDir, Named: o.Named, PlanTime: o.PlanTime, Pure: o.Pure || o.Validate,
		Observe: o.Run.Observe, Limits: o.Limits, Console: o.Console,
	})
}
