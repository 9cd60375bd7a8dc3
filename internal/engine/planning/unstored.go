package planning

import (
	"slices"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/plan"
)

// omitResults sets the refreshed state of the plan. It moves the results of data sources that are not stored from the
// refreshed state and the readings to plan.Unstored, and reports those that the stored state still has. The plan does
// not use results that targeting leaves out.
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

// removedResults returns the number of results in the stored state that are not stored any more: as they are, or because
// an argument is sensitive now.
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
