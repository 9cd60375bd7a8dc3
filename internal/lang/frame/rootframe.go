package frame

import (
	"fmt"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/funcs"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/limits"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

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
		return cty.StringVal(g.Text), true
	}
	return config.ParseValue(fmt.Sprintf("<value for var.%s from %s>", v.Name, g.From), g.Text, limits.Limits{}, bag)
}

func (g Given) invalid(v *config.Variable, problem string) diag.Diagnostic {
	title := "Invalid value for input variable"
	d := diag.Errorf(title, "The given value is not suitable for var.%s declared at %s: %s.", v.Name, place2(v.Range), problem)
	if g.Range != (diag.Range{}) {
		return d.At(g.Range).See("declared here", v.Range)
	}
	d.Detail = fmt.Sprintf("Unsuitable value for var.%s set using %s: %s.", v.Name, g.From, problem)
	return d.At(v.Range)
}

// functionTable is the table of functions of a walk. All frames share it.
func functionTable(o *Options) map[string]function.Function {
	return funcs.Table(&funcs.Env{
		BaseDir: o.BaseDir, PlanTime: o.PlanTime, Pure: o.Pure || o.Validate,
		Observe: o.Run.Observe, Limits: o.Limits, Console: o.Console,
	})
}
