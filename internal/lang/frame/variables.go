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

// inputVariable evaluates one input variable of a module, or converts a value that a module call passes for it.
type inputVariable struct {
	s *scope
	d *program.Def
}

// value returns the value of the variable in the module instance of the evaluation: the argument of the module call,
// converted and checked, or the default. For the root module it is the value from the user. During validation it is
// unknown. It is also unknown after an error, for example if the call lacks an argument that has no default.
func (v inputVariable) value() cty.Value {
	s, f, in := v.s, v.s.f, v.d.Src.Var
	if f.w.o.Validate {
		return cty.UnknownVal(in.Type.WithoutOptionalAttributesDeep())
	}
	if f.parent == nil {
		return v.root()
	}
	call := f.parent.u.Defs[f.n.Call]
	arg := call.Inputs.Args[v.d.Name]
	if arg == nil {
		if !program.HasDefault(in) {
			s.Broken = true // Compile has reported that the argument is missing
			return cty.DynamicVal
		}
		return in.Default
	}
	ps := newScope(f.parent, s.face, s.Bag).of(call, f.key)
	defer ps.release()
	ps.below(s.from)
	given := ps.Eval(arg.Expr)
	s.Failed, s.Broken, s.Marked, s.early = s.Failed || ps.Failed, s.Broken || ps.Broken, s.Marked || ps.Marked, s.early || ps.early
	if s.outcome() != OK {
		return cty.DynamicVal
	}
	return v.accept(f.n, given, arg.Expr)
}

// notNull is the reason why null does not fit a variable that is not nullable and has no default.
const notNull = "required variable may not be set to null"

// badValue returns the title of the error for a value that does not fit a variable. problem is the reason.
func badValue(problem string) string {
	if problem == notNull {
		return "Required variable not set"
	}
	return "Invalid value for input variable"
}

// accept converts a value from a module call to the value of a variable: it applies the defaults of optional
// attributes, converts the value, and checks nulls and marks. If the value does not fit, accept reports an error. n is
// the module of the variable, which may differ from the module of the evaluation. The parameter from is the expression
// of the value.
func (v inputVariable) accept(n *program.Node, given cty.Value, from hclsyntax.Expression) cty.Value {
	out, problem := prepareVariable(v.d.Src.Var, given)
	if problem != "" {
		v.s.Error(diag.Errorf(badValue(problem), "The given value is not suitable for %s declared at %s: %s.", n.Config.Path.String()+".var."+v.d.Name, place2(v.d.At), problem).At(from.Range()).See("declared here", v.d.At))
		return cty.DynamicVal
	}
	if !v.d.Src.Var.Ephemeral && v.s.Marked {
		if m, ok := mark.Split(out).Find(mark.Ephemeral); ok {
			v.s.Error(diag.Errorf("Invalid usage of ephemeral value", "Variable `%s` is not marked as ephemeral, so it cannot have an ephemeral value. Add this argument to its declaration:\n    ephemeral = true%s", v.d.Name, trailOf(m)).At(expr.InsideExpr(from, from.Range(), m.Path)).See("declared here", v.d.At))
			return cty.DynamicVal
		}
	}
	return out
}

// prepareVariable converts a value to the type of a variable. If the variable is not nullable, null becomes the
// default. If the value does not fit, the result is unknown, and the text is the reason. Otherwise the text is "".
func prepareVariable(v *config.Variable, given cty.Value) (cty.Value, string) {
	if v.Defaults != nil && !given.IsNull() {
		unmarked, remark := mark.Unmark(given)
		given = remark(v.Defaults.Apply(unmarked))
	}
	out, err := convert.To(given, v.Type)
	if err != nil {
		if v.Sensitive || v.Ephemeral { // the reason must not contain keys of maps, which may be secret
			_, err = convert.To(mark.With(given, mark.Sensitive, nil), v.Type)
		}
		return cty.DynamicVal, expr.ConversionText(err)
	}
	if out.IsNull() && !v.Nullable {
		if !program.HasDefault(v) {
			return cty.DynamicVal, notNull
		}
		_, remark := mark.Unmark(out)
		return remark(v.Default), ""
	}
	return out, ""
}

// root returns the value of a variable of the root module. The function New has converted and checked these values for
// a walk. In a static evaluation, staticRoot does so when a value is needed.
func (v inputVariable) root() cty.Value {
	s := v.s
	var out cty.Value
	var ok bool
	if w := s.f.w; w.static {
		out, ok = w.staticRoot(v.d.Src.Var, s.Bag)
	} else {
		out, ok = w.roots[v.d.Name]
	}
	s.Broken = s.Broken || !ok
	s.Marked = s.Marked || out.ContainsMarked()
	if !ok && !s.f.w.static {
		return cty.DynamicVal
	}
	return out
}

// staticRoot returns the value of a root variable for a static evaluation. If the variable has neither a value nor a
// default, staticRoot first calls Run.Ask, which may set the value. If the variable has no value then, staticRoot adds
// an error and returns false.
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

// rootValue returns the value of one root variable. If the value is missing or does not fit, it adds an error and
// returns false.
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

// value returns the given value. If it is text, the type of the variable determines how the text is read. If the
// variable has no type or a primitive type, the value is the text as a string. For any other type, the text is parsed
// as an expression. If the text is invalid, value adds an error and returns false.
func (g Given) value(v *config.Variable, bag *diag.Bag) (cty.Value, bool) {
	if !g.IsText {
		return g.Value, true
	}
	if !v.TypeGiven || v.Type.IsPrimitiveType() {
		if !v.Ephemeral && !utf8.ValidString(g.Text) {
			bag.Add(diag.Errorf("Invalid character encoding", "The value for var.%s set using %s is not valid UTF-8. To pass bytes, encode them, for example in base64.", v.Name, g.From).At(v.Range))
			return cty.NilVal, false
		}
		return cty.StringVal(g.Text), true
	}
	var found diag.Bag
	out, ok := config.ParseValue(g.Source(v.Name), g.Text, limits.Limits{}, &found)
	if v.Sensitive || v.Ephemeral {
		bag.MoveUnquoted(&found)
	} else {
		bag.Move(&found)
	}
	return out, ok
}

// Source returns the name of the source of a given value, for the position of messages about its text.
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

// New returns the frame of the root module for a walk. It converts and checks the values of the root variables, except
// during validation, in which they are unknown. If it reports an error, it returns false, and also the frame.
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

// functionTable returns the table of functions that all frames of a walk share.
func functionTable(o *Options) map[string]function.Function {
	return funcs.Table(&funcs.Env{
		BaseDir: o.BaseDir, Named: o.Named, PlanTime: o.PlanTime, Now: o.Now, Pure: o.Pure || o.Validate,
		Observe: o.Run.Observe, Limits: o.Limits, Console: o.Console,
	})
}
