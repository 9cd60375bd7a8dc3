package suite

import (
	"context"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/config/testfile"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/store"
	"github.com/zclconf/go-cty/cty"
)

// CleanUp destroys the objects of states that earlier calls left behind, in the order of the given list. It uses the
// module, the values and the provider settings of the last run that used each state. It returns false if an object
// remains, if an error was reported, or if ctx ends before the last state.
func (s *Suite) CleanUp(ctx context.Context, what []Kept) bool {
	s.programs.reset(s.Root)
	clean := true
	for _, k := range what {
		if ctx.Err() != nil {
			return false
		}
		clean = s.later(ctx, k) && clean
	}
	return clean
}

// later destroys the objects of one state. If none remain, it removes the file of the state. It returns false if an
// object remains, or if it has reported an error.
func (s *Suite) later(ctx context.Context, k Kept) bool {
	var bag diag.Bag
	file := &File{File: &testfile.File{Name: k.File}}
	r := &Run{Run: &testfile.Run{Name: k.Run}, File: file}
	left := &Left{File: file, Run: r, Written: k.Written, Failed: k.Failed}
	st := &kept{snapshot: k.State, by: r, of: &k}
	if s.find(k, file, r) {
		r.after = givers(k.State)
		x := s.execution(file)
		x.states[k.Written] = st
		s.begin(x)
		if p, ok := x.prepare(ctx, r, &bag); ok {
			st.again(x, p.how, plan.Destroy, &bag)
			if len(objects(st.snapshot)) > 0 && st.snapshot != k.State {
				if _, err := s.States.Keep(x.kept(st, r, st.snapshot, k.Failed)); err != nil {
					bag.Add(unwritten(err))
				}
			}
		}
	} else {
		bag.Add(diag.Errorf("Unknown run block", "The run %q, which created these objects, is no longer in the test file %s, so its module, values and provider settings are unknown. Restore the run, or destroy the objects by their state: lethe destroy %s", k.Run, k.File, store.ShellCommand("-state="+k.Written)))
	}
	if left.Objects = objects(st.snapshot); len(left.Objects) == 0 {
		if err := s.States.Forget(k); err != nil {
			bag.Add(unwritten(err))
		}
	}
	if left.Diags = bag.List(); len(left.Diags) > 0 || len(left.Objects) > 0 {
		s.Reporter.Left(left)
	}
	return len(left.Objects) == 0 && !bag.HasErrors()
}

// find sets file and r to the test file and the run that left the state k behind. It leaves out the assertions and
// canaries (values that must not leak) of the run. It returns false if the run no longer exists.
func (s *Suite) find(k Kept, file *File, r *Run) bool {
	for _, f := range s.Files {
		i := slices.IndexFunc(f.Runs, func(r *testfile.Run) bool { return r.Name == k.Run })
		if f.Name != k.File || i < 0 {
			continue
		}
		plain := *f.Runs[i]
		plain.Asserts, plain.NoLeak = nil, nil
		file.File, r.Run, file.Runs = f, &plain, []*Run{r}
		return true
	}
	return false
}

// givers returns the earlier runs whose outputs are stored in a state (see withOutputs).
func givers(s *state.Snapshot) (runs []*Run) {
	outputs := map[string]map[string]cty.Value{}
	for ref, o := range s.Outputs {
		if of, is := testfile.RunOf(ref); is {
			run, name, _ := strings.Cut(of, ".")
			if outputs[run] == nil {
				outputs[run] = map[string]cty.Value{}
			}
			outputs[run][name] = o.Value.Join()
		}
	}
	for name, of := range outputs {
		runs = append(runs, &Run{Run: &testfile.Run{Name: name}, outputs: cty.ObjectVal(of)})
	}
	return runs
}
