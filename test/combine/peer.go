package combine

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// beside holds a step of Lethe against the same step of Terraform.
func beside(n int, st *Step, x, y *side, a, b *Outcome) []Finding {
	var found []Finding
	find := func(class, format string, args ...any) {
		found = append(found, Finding{n, class, fmt.Sprintf(format, args...)})
	}
	compare := func(what string, p, q map[string]any) {
		d := differences(x.names.plain(p).(object), y.names.plain(q).(object))
		for _, section := range slices.Sorted(maps.Keys(d)) {
			find("peer: "+what+": "+section, "%s", d[section])
		}
	}
	exits := func(what string, p, q *Invocation) bool {
		if p == nil || q == nil {
			return p == nil && q == nil
		}
		if p.Exit != q.Exit {
			find(fmt.Sprintf("peer: %s exits %d, not %d: %s", what, p.Exit, q.Exit, shape(first(p.Errors, q.Errors))), "%v, Terraform %v", p.Errors, q.Errors)
			return false
		}
		return p.Exit != 1
	}
	if !exits("plan", a.Plan, b.Plan) {
		if a.Plan != nil || b.Plan != nil {
			return found
		}
	}
	if a.PlanJSON != nil && b.PlanJSON != nil {
		compare("plan", planOf(a.PlanJSON), planOf(b.PlanJSON))
	}
	if a.Apply != nil || b.Apply != nil {
		exits("apply", a.Apply, b.Apply)
		compare("state", stateOf(a.After), stateOf(b.After))
		compare("checks", checks(a.After.Checks), checks(b.After.Checks))
		compare("calls", tally(a), tally(b))
	}
	if a.Second != nil && b.Second != nil && exits("second plan", a.Second, b.Second) && a.SecondJSON != nil {
		compare("second plan", planOf(a.SecondJSON), planOf(b.SecondJSON))
	}
	return found
}

func first(lists ...[]string) string {
	for _, l := range lists {
		if len(l) > 0 {
			return l[0]
		}
	}
	return ""
}

// tally counts the calls that have effects outside, and who was in the way of whom.
func tally(o *Outcome) map[string]any {
	count := map[string]int{}
	for _, i := range []*Invocation{o.Plan, o.Apply} {
		if i == nil {
			continue
		}
		for _, c := range i.Calls {
			switch c.Call {
			case "create", "update", "delete", "import", "move":
				count[strings.Join([]string{c.Call, c.Type, c.Key, c.Region, c.Note, c.Error}, " ")]++
			}
		}
	}
	out := map[string]any{}
	for k, n := range count {
		out[strings.Fields(k)[0]+"|"+k] = n
	}
	return out
}
