package timing

import (
	"cmp"
	"slices"
	"time"

	"github.com/lethe-iac/lethe/internal/event"
)

// visits are the recorded visits of the nodes of one walk (the graph of a plan or an apply), by the index of the node
// and of the job. A visit may run several jobs. The index of the visit itself is -1.
type visits map[int]map[int]*visit

// visit is one visit of a node, or one of its jobs.
type visit struct {
	event.Visited
	name  string // the object of the first call of the node that is not for a lease, or else of the first call
	lease bool   // name is the name of an ephemeral resource
	spans []Span
}

// busy returns the time in which provider calls of a visit ran. Waiting time before a call does not count, because it
// depends on the limit of concurrent calls.
func (v *visit) busy() time.Duration {
	var spans []Span
	for _, s := range v.spans {
		if s.Kind == Call || s.Kind == Configure {
			spans = append(spans, s)
		}
	}
	return union(spans)
}

// union returns the time that is covered by at least one of the spans. It sorts spans.
func union(spans []Span) (sum time.Duration) {
	slices.SortFunc(spans, func(a, b Span) int { return cmp.Compare(a.Began, b.Began) })
	var end time.Duration
	for _, s := range spans {
		sum += max(0, s.Ended-max(s.Began, end))
		end = max(end, s.Ended)
	}
	return sum
}

// chain returns the sequence of dependent nodes of w whose calls together take longest, the first node first. jobs has
// the longest job of each node, or -1 if no job of the node took time. The jobs of a node do not depend on each other,
// so only the longest job counts. length is the time of all calls in the sequence.
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

// order returns the nodes of a graph, each after its predecessors. Nodes on a cycle, and nodes after one, never run, so
// they are missing.
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
