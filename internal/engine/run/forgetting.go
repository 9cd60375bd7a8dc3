package run

import (
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state"
)

// Forgets reports whether the object o with the entry e is the result of a data source that neither states nor plan
// files may store, because of the user's setting forget_data. If the configuration does not declare the data source,
// its schema is unknown, so the result counts as sensitive.
func (s *Settings) Forgets(prog *program.Program, o addr.Object, e *state.Entry) bool {
	if o.Mode != addr.Data || s.ForgetData == state.ForgetNone {
		return false
	}
	d, declared := prog.Resource(o.Resource())
	return s.ForgetData.Forgets(o.Resource(), !declared || len(e.Sensitive) > 0 || s.sensitive(prog, d))
}

func (s *Settings) sensitive(prog *program.Program, d *program.Declaration) bool {
	sch := prog.Schema(d.ID)
	return sch == nil || sch.HasSensitive()
}

// Split divides a state. It returns the state without the results of data sources for which Forgets returns true, and
// these results. If the state is nil, kept is nil, too.
func (s *Settings) Split(prog *program.Program, all *state.Snapshot) (kept *state.Snapshot, results []plan.Result) {
	if s.ForgetData == state.ForgetNone || all == nil {
		return all, nil
	}
	edit := all.Edit()
	for o, e := range all.Objects() {
		if s.Forgets(prog, o, e) {
			edit.Put(o, nil)
			results = append(results, plan.Result{Object: o, Entry: e, Provider: e.Provider})
		}
	}
	return edit.Objects(), results
}
