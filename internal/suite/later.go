package suite

import (
	"context"
	"slices"

	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/config/testfile"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/zclconf/go-cty/cty"
)

// CleanUp destroys what earlier calls left, in the order in which it was left: with the module, the values and the
// provider settings of the run that worked with it last. Runs of all those whose states stayed give their outputs to it.
// It reports whether nothing is left.
func (s *Suite) CleanUp(ctx context.Context, what, all []Kept) bool {
	s.trees, s.programs = map[string]*config.Tree{"": s.Root}, map[programKey]*compiled{}
	clean := true
	for _, k := range what {
		if ctx.Err() != nil {
			return false
		}
		clean = s.later(ctx, k, all) && clean
	}
	return clean
}

// later destroys one state.
func (s *Suite) later(ctx context.Context, k Kept, all []Kept) bool {
	var bag diag.Bag
	file := &File{File: &testfile.File{Name: k.File}}
	r := &Run{Run: &testfile.Run{Name: k.Run}, File: file}
	left := &Left{File: file, Run: r, Written: k.Written, Failed: k.Failed}
	state := &kept{snapshot: k.State, by: r}
	if s.find(k, file, r) {
		r.after = earlier(all, k.File)
		x := s.execution(file)
		x.states[k.Written] = state
		s.begin(x)
		s.Reporter.Run(r, TearingDown)
		if p, ok := x.prepare(ctx, r, &bag); ok {
			state.again(x, p.how, plan.Destroy, &bag)
		}
	} else {
		bag.Add(diag.Errorf("Unknown run block", "The run %q of the test file %s made the objects that are to be destroyed. That run is not there any more, so that the module, the values and the provider settings to destroy them with are unknown. Restore it, or destroy them by their state alone: lethe destroy -state=%s", k.Run, k.File, k.Written))
	}
	if left.Objects = objects(state.snapshot); len(left.Objects) == 0 {
		if err := s.Forget(k); err != nil {
			bag.Add(unwritten(err))
		}
	}
	if left.Diags = bag.List(); len(left.Diags) > 0 || len(left.Objects) > 0 {
		s.Reporter.Left(left)
	}
	return len(left.Objects) == 0 && !bag.HasErrors()
}

// find fills in the file and the run that a state belongs to, without what the run asserts.
func (s *Suite) find(k Kept, file *File, r *Run) bool {
	for _, f := range s.Files {
		i := slices.IndexFunc(f.Runs, func(r *testfile.Run) bool { return r.Name == k.Run })
		if f.Name != k.File || i < 0 {
			continue
		}
		bare := *f.Runs[i]
		bare.Asserts, bare.NoLeak = nil, nil
		file.File, r.Run, file.Runs = f, &bare, []*Run{r}
		return true
	}
	return false
}

// earlier are the runs of a file whose states stayed, with their outputs.
func earlier(all []Kept, file string) (runs []*Run) {
	for _, k := range all {
		if k.File != file {
			continue
		}
		outputs := map[string]cty.Value{}
		for name, o := range k.State.Outputs {
			outputs[name] = o.Value.Join()
		}
		runs = append(runs, &Run{Run: &testfile.Run{Name: k.Run}, outputs: cty.ObjectVal(outputs)})
	}
	return runs
}
