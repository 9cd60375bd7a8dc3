package timing

import (
	"cmp"
	"slices"
	"time"
)

// count adds a call to the times of its type typ. took is the duration of the call, and waited is the time that the
// call waited before because of -parallelism.
func count(all map[string]*TypeTime, typ string, took, waited time.Duration) {
	t := all[typ]
	if t == nil {
		t = &TypeTime{Type: typ}
		all[typ] = t
	}
	t.Calls++
	t.Total += took
	t.Waited += waited
	t.Longest = max(t.Longest, took)
}

// sorted returns the times of types, the longest total first. Types with equal totals are sorted by name.
func sorted(all map[string]*TypeTime) []TypeTime {
	var out []TypeTime
	for _, t := range all {
		out = append(out, *t)
	}
	slices.SortFunc(out, func(a, b TypeTime) int {
		return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(a.Type, b.Type))
	})
	return out
}

// levels returns how many spans were in progress at which time: one Level for each time at which a span begins or ends,
// with the number after this time.
func levels(spans []Span) []Level {
	type edge struct {
		at time.Duration
		by int
	}
	var edges []edge
	for _, s := range spans {
		edges = append(edges, edge{s.Began, 1}, edge{s.Ended, -1})
	}
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.by, b.by)) })
	var out []Level
	n := 0
	for _, e := range edges {
		n += e.by
		if len(out) > 0 && out[len(out)-1].At == e.at {
			out[len(out)-1].N = n
			continue
		}
		out = append(out, Level{e.at, n})
	}
	return out
}

// Most returns the largest number of calls in progress.
func (r *Run) Most() int {
	most := 0
	for _, l := range r.Running {
		most = max(most, l.N)
	}
	return most
}

// Waited returns the sum of the times that the rows waited because of -parallelism, for a worker or for the permission
// to call. critical is the share of this sum that belongs to rows of the longest chain of calls.
func (r *Run) Waited() (all, critical time.Duration) {
	for _, row := range r.Rows {
		all += row.Began - row.Ready
		if row.Critical {
			critical += row.Began - row.Ready
		}
		for _, s := range row.Spans {
			if s.Kind != Limit {
				continue
			}
			all += s.Took()
			if row.Critical {
				critical += s.Took()
			}
		}
	}
	return all, critical
}

// Failed reports whether at least one row has failed. A row is the work on one object in a walk of the run, such as the
// calls for a resource instance during apply. Errors outside of walks are not rows.
func (r *Run) Failed() bool {
	return slices.ContainsFunc(r.Rows, func(row Row) bool { return row.Failed })
}
