package explaincmd

import (
	"context"
	"io"
	"os"

	"github.com/lethe-iac/lethe/internal/cli/savedplan"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/explain"
	"github.com/lethe-iac/lethe/internal/lang/vet"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/review"
	"github.com/lethe-iac/lethe/internal/view/explainview"
)

// open reads the plan of -plan and compiles the configuration in it. It returns nil after an error.
func (x *asking) open(ctx context.Context) *plan.Plan {
	s := x.session
	data, err := os.ReadFile(s.Dir.Call.Path(x.plan))
	if err != nil {
		s.Dir.Call.Bag.Add(diag.Errorf("Failed to load \""+x.plan+"\" as a plan file", "The file %s cannot be read: %s.", x.plan, disk.Reason(err)))
		return nil
	}
	plans := savedplan.New(s)
	saved, ok := plans.Decode(ctx, x.plan, data)
	if !ok {
		return nil
	}
	plans.Recall(saved)
	if !plans.Load(ctx, saved) {
		return nil
	}
	saved.Plan.Leases = s.Engine.PreviewLeases(s.Program, s.FrameOptions(), saved.Plan)
	return saved.Plan
}

// declared shows a value of the configuration in the directory. It returns false if the configuration does not declare
// the value, and then moves errors of the configuration to x.errors. If the configuration has errors, and declares the
// value or the text looks like an address, it shows nothing and returns true, so that the errors are the answer.
func (x *asking) declared(ctx context.Context) bool {
	s := x.session
	bag := &s.Dir.Call.Bag
	for _, n := range s.Loader.Needs() {
		_, _ = s.SchemasOf(ctx, n.Provider) // loads schemas that an earlier command stored, if there are any, so that no provider starts; Compile reports errors
	}
	before := bag.List()
	ok := s.Loader.Vars.Collect() && s.Compile(ctx, vet.CheckOptions{})
	found := false
	if s.Program != nil {
		_, found = explain.Find(s.Program, x.text)
	}
	switch {
	case found && ok:
		return x.value(nil)
	case found, !ok && explain.LooksLikeAddress(x.text):
		return true
	case !ok:
		x.errors = append(x.errors, bag.List()[len(before):]...)
	}
	bag.Clear()
	bag.Add(before...)
	return false
}

// value shows a value of the compiled configuration, or reports that the configuration does not declare it or that its
// type has no such part. If p is not nil, it also shows the changes of the plan. It returns true, because each of these
// answers the question.
func (x *asking) value(p *plan.Plan) bool {
	s := x.session
	found, ok := explain.Find(s.Program, x.text)
	if !ok {
		x.unknown()
		return true
	}
	if name, near := found.Missing(s.Program); name != "" {
		s.Dir.Call.Bag.Add(diag.Errorf("Nothing to explain", "%s is declared, and its type has no attribute or block %q.%s", explain.Name(found.Declaration), name, diag.Meant(diag.Suggest(name, near))))
		return true
	}
	given := s.Loader.Vars.Given
	in := explain.Inputs{Program: s.Program, Given: func(name string) string { return given[name].From }}
	if p != nil {
		in.Review, in.Leases = review.New(p, s.Program, s.Schemas()), p.Leases
	}
	v := explain.New(in, found)
	x.show(func(w io.Writer) error { return explainview.ValueJSON(w, v) }, func(w io.Writer) error { return explainview.Value(w, v) })
	return true
}
