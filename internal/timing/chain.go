package timing

import (
	"cmp"
	"slices"
	"time"

	"github.com/lethe-iac/lethe/internal/event"
)

// visits are the recorded visits of one walk, by node and job.
type visits map[int]map[int]*visit

// visit is one visit or job.
type visit struct {
	event.Visited
	name  string // the object of its first call
	lease bool   // the name is a lease
	spans []Span
}

// busy returns the time in which provider calls of a visit ran. The time that a call waited for its turn does not
// count, because it depends on the limit of concurrent calls, and not on the visit.
func (v *visit) busy() time.Duration {
	var spans []Span
	for _, s := range v.spans {
		if s.Kind == Call || s.Kind == Configure {
			spans = append(spans, s)
		}
	}
	return union(spans)
}

// union returns the time that is covered by spans.
func union(spans []Span) (sum time.Duration) {
	slices.SortFunc(spans, func(a, b Span) int { return cmp.Compare(a.Began, b.Began) })
	var end time.Duration
	for _, s := range spans {
		sum += max(0, s.Ended-max(s.Began, end))
		end = max(end, s.Ended)
	}
	return sum
}

// chain returns the sequence of dependent nodes whose calls together take longest, in their order, with the longest job
// of each node, or -1 for a node without jobs that took time. The jobs of a node do not depend on each other, so only
// the longest job counts. length is the time of all calls in the sequence.
func chain(w *event.Walk, of visits) (nodes, jobs []int, length time.Duration) {
	n := len(w.Names)
	end, from, job := make([]time.Duration, n), make([]int, n), make([]int, n)
	last := -1
	for _, i := range order(w.After) {
		from[i] = -1
		for _, d := range w.After[i] {
			if end[d] > end[i] {
				end[i], from[i] = end[d], int(d)
			}
		}
		own, busiest := time.Duration(0), -1
		for j, v := range of[i] {
			if b := v.busy(); j >= 0 && (b > own || b == own && j < busiest) {
				own, busiest = b, j
			}
		}
		if v := of[i][-1]; v != nil {
			own += v.busy()
		}
		job[i] = busiest
		if end[i] += own; last < 0 || end[i] > end[last] {
			last = i
		}
	}
	if last < 0 {
		return nil, nil, 0
	}
	for i := last; i >= 0; i = from[i] {
		nodes, jobs = append(nodes, i), append(jobs, job[i])
	}
	slices.Reverse(nodes)
	slices.Reverse(jobs)
	return nodes, jobs, end[last]
}

// order returns the nodes of a graph, each after its predecessors. Nodes on a cycle never run, so they are missing.
func order(after [][]int32) []int {
	left := make([]int, len(after))
	next := make([][]int32, len(after))
	var out []int
	for i, list := range after {
		left[i] = len(list)
		for _, d := range list {
			next[d] = append(next[d], int32(i))
		}
		if len(list) == 0 {
			out = append(out, i)
		}
	}
	for n := 0; n < len(out); n++ {
		for _, i := range next[out[n]] {
			if left[i]--; left[i] == 0 {
				out = append(out, int(i))
			}
		}
	}
	return out
}
