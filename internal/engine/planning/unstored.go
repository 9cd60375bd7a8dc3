package planning

import (
	"slices"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/plan"
)

// omitResults sets out.Refreshed, the refreshed state. It moves the results of data sources that states and plan files
// must not store (the setting forget_data) from the refreshed state and from out.Readings to out.Unstored. It reports
// how many of these results the stored state still has. It drops results that -target or -exclude leaves out, because
// the plan does not use them.
func omitResults(p *planner, out *plan.Plan) {
	s, prog := p.run.Settings, p.run.Program
	out.Refreshed, out.Unstored.Results = s.Split(prog, p.state.edit.Objects())
	out.Unstored.Results = slices.DeleteFunc(out.Unstored.Results, func(r plan.Result) bool {
		_, declared := prog.Resource(r.Object.Resource())
		return !declared || !p.sel.Includes(r.Object.Instance)
	})
	out.Readings = slices.DeleteFunc(out.Readings, func(r plan.Reading) bool {
		forgets := s.Forgets(prog, r.Object, r.Entry)
		if forgets {
			out.Unstored.Results = append(out.Unstored.Results, plan.Result{Object: r.Object, Before: true, Entry: r.Entry, Provider: r.Entry.Provider})
		}
		return forgets
	})
	if n := removedResults(p, out); n > 0 {
		s.Send(event.Note{Text: diag.Counted(n, "stored result of a data source", "stored results of data sources") + " will be removed from the state (forget_data)."})
	}
}

// removedResults returns the number of results in the stored state that this plan removes, because forget_data now
// covers them, or because an argument has become sensitive.
func removedResults(p *planner, out *plan.Plan) int {
	_, stored := p.run.Settings.Split(p.run.Program, p.prior)
	n := len(stored)
	for _, r := range out.Unstored.Results {
		if e := p.prior.Get(r.Object); e != nil && !r.Before && !p.run.Settings.Forgets(p.run.Program, r.Object, e) {
			n++
		}
	}
	return n
}
