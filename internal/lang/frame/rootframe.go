package frame

import (
	"maps"
	"slices"
	"sync/atomic"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/funcs"
	"github.com/lethe-iac/lethe/internal/lang/program"
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

// functionTable is the table of functions of a walk. All frames share it.
func functionTable(o *Options) map[string]function.Function {
	return funcs.Table(&funcs.Env{
		BaseDir: o.BaseDir, PlanTime: o.PlanTime, Pure: o.Pure || o.Validate,
		Observe: o.Run.Observe, Limits: o.Limits, Console: o.Console,
	})
}
