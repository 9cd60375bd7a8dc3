package engine

import (
	"context"
	"fmt"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang"
	"github.com/lethe-iac/lethe/internal/walk"
)

// Conditions that belong to no resource, those of variables, outputs and checks, are nodes and
// steps of their own: they may look at anything, ephemeral values too, and hold what they look at.

// tested reports whether a declaration has conditions of this kind.
func tested(d *lang.Declaration) bool {
	switch d.Kind {
	case lang.Variable:
		return len(d.Var.Validations) > 0
	case lang.Output:
		return len(d.Out.Preconditions) > 0
	}
	return d.Kind == lang.Check
}

// testAll tests a declaration in every instance of its module.
func (p *planner) testAll(ctx context.Context, _ *walk.Fan, d *lang.Declaration) bool {
	frames, _ := p.frame.Instances(d.Module, lang.After, &diag.Bag{})
	ok := true
	for _, f := range frames {
		ok = p.test(ctx, d, f) && ok
	}
	return ok
}

// test evaluates the conditions of a declaration in one module instance. Whatever fails in a check
// block is a warning, and stands in nobody's way.
func (r *run) test(ctx context.Context, d *lang.Declaration, f *lang.Frame) bool {
	switch d.Kind {
	case lang.Variable:
		return r.conditions(ctx, d, f, lang.Validation)
	case lang.Output:
		return r.conditions(ctx, d, f, lang.OutputPre)
	}
	var b diag.Bag
	(&run{r.shared, &b}).conditions(ctx, d, f, lang.Assert)
	r.warn(&b)
	return true
}

func (r *run) conditions(ctx context.Context, d *lang.Declaration, f *lang.Frame, when lang.When) bool {
	r.receive(ctx, d.ID, f.Addr(), lang.After)
	results := f.Conditions(d.ID, addr.NoKey, when, lang.After, nil, r.bag)
	r.checks.report(testKind(d), testAddr(d, d.Module), testAddr(d, f.Addr()), results)
	return holds(results)
}

// testKind is what the state calls the kind of a tested declaration.
func testKind(d *lang.Declaration) string {
	return map[lang.Kind]string{lang.Variable: "var", lang.Output: "output", lang.Check: "check"}[d.Kind]
}

// testAddr is the address of a tested declaration in a module or an instance of it.
func testAddr(d *lang.Declaration, in fmt.Stringer) string {
	local := testKind(d) + "." + d.Name
	if m := in.String(); m != "" {
		return m + "." + local
	}
	return local
}
