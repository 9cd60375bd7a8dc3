package combine

import (
	"fmt"
	"slices"
	"strings"
)

// beside compares the outcome a of a step of x with the outcome b of the same step of y, and returns the differences.
// After the first command with different exit codes it compares nothing more.
func beside(x, y *side, a, b *Outcome) []Difference {
	var all []Difference
	compare := func(what string, p, q map[string]any) {
		all = append(all, differences(what, x.names.plain(p).(object), y.names.plain(q).(object))...)
	}
	// A different exit code of a command explains all later differences.
	exits := func(what string, p, q *Invocation) bool {
		if p == nil || q == nil {
			return p == q || x.program == y.program // one side made a plan and the other applied at once
		}
		if p.Exit != q.Exit {
			all = append(all, Difference{what, "exits", shape(append(slices.Concat(p.Errors, q.Errors), "")[0]), p.Exit, q.Exit})
			return false
		}
		return true
	}
	for i, p := range a.Operations[:min(len(a.Operations), len(b.Operations))] {
		if !exits(p.Args[0], p, b.Operations[i]) {
			return all
		}
	}
	if !exits("plan", a.Plan, b.Plan) {
		return all
	}
	if a.PlanJSON != nil && b.PlanJSON != nil {
		compare("plan", planOf(a.PlanJSON), planOf(b.PlanJSON))
	}
	if a.Plan != nil && a.Plan.Exit == 1 {
		return all
	}
	if a.Apply != nil || b.Apply != nil {
		if !exits("apply", a.Apply, b.Apply) {
			return all
		}
		compare("state", stateOf(a.After), stateOf(b.After))
		compare("checks", checks(a.After.Checks), checks(b.After.Checks))
		compare("calls", tally(a), tally(b))
	}
	if a.Second != nil && b.Second != nil && exits("second plan", a.Second, b.Second) && a.SecondJSON != nil {
		compare("second plan", planOf(a.SecondJSON), planOf(b.SecondJSON))
	}
	return all
}

// findings returns a finding for the first difference of each class. n is the number of the step, and other names the
// other side.
func findings(n int, all []Difference, other string) []Finding {
	var found []Finding
	for _, d := range all {
		f := Finding{n, other + ": " + d.class(), fmt.Sprintf("%s: %s, %s %s", d.At, compact(d.A), other, compact(d.B))}
		if !slices.ContainsFunc(found, func(o Finding) bool { return o.Class == f.Class }) {
			found = append(found, f)
		}
	}
	return found
}

// tally counts the calls of a plan and an apply that create, update, delete, move or import, by their properties.
func tally(o *Outcome) map[string]any {
	count := map[string]int{}
	for _, i := range []*Invocation{o.Plan, o.Apply} {
		if i == nil {
			continue
		}
		for _, c := range i.Calls {
			switch c.Call {
			case "move", "import": // after another failure, one program may have continued longer with these
				if !o.through() {
					continue
				}
				if c.Call == "move" { // ignore the call, because Terraform calls a provider that is not configured
					c.Region = ""
				}
			case "create", "update", "delete":
			default:
				continue
			}
			count[strings.Join([]string{c.Call, c.Type, c.Key, c.Region, c.Note, c.Error}, " ")]++
		}
	}
	out := map[string]any{}
	for k, n := range count {
		out[strings.Fields(k)[0]+"|"+k] = n
	}
	return out
}
