package timing

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/event"
)

// recorded simulates a run of 30 random nodes with two workers, and returns its record and the sum of the times of all
// calls.
func recorded(seed uint64) (*Run, time.Duration) {
	r := rand.New(rand.NewPCG(seed, 1))
	began := time.Now().Add(-time.Hour)
	rec := New(began)
	const n = 30
	w := &event.Walk{Title: "plan", Names: make([]string, n), After: make([][]int32, n), Lazy: make([]bool, n), Began: began}
	free, ended := [2]time.Time{began, began}, make([]time.Time, n)
	sum := time.Duration(0)
	for i := range n {
		w.Names[i] = fmt.Sprint("n", i)
		start := began
		for range min(i, 2) {
			d := r.IntN(i)
			w.After[i] = append(w.After[i], int32(d))
			if ended[d].After(start) {
				start = ended[d]
			}
		}
		worker := i % 2
		if free[worker].After(start) {
			start = free[worker]
		}
		took := time.Duration(r.IntN(1000)) * time.Millisecond
		sum += took
		ended[i] = start.Add(took)
		free[worker] = ended[i]
		v := event.Visit{Walk: w, Node: i, Job: -1}
		o := addr.Object{}
		o.Type, o.Name = "test_thing", w.Names[i]
		rec.Send(event.Called{Visit: v, Object: o, Call: event.CallPlan, Wanted: start, Began: start, Ended: ended[i]})
		rec.Send(event.Visited{Visit: v, Began: start, Ended: ended[i]})
		if ended[i].After(w.Ended) {
			w.Ended = ended[i]
		}
	}
	rec.Send(event.Walked{Walk: w})
	run := rec.Finish("plan", 2, false)
	run.Took = w.Ended.Sub(began)
	return run, sum
}

// The longest chain of dependent calls never takes longer than the run, and never less time than any call of the run.
func TestBound(t *testing.T) {
	for seed := range uint64(200) {
		run, sum := recorded(seed)
		chain := time.Duration(0)
		for _, l := range run.Chain {
			chain += l.Took
		}
		if run.Bound > time.Hour+time.Minute || chain > run.Took || run.Types[0].Total != sum || run.Types[0].Longest > chain+chain/100+time.Millisecond {
			t.Fatalf("seed %d: bound %s, chain %s, took %s, calls %+v, sum %s", seed, run.Bound, chain, run.Took, run.Types, sum)
		}
		if most := run.Most(); most > 2 || most < 1 {
			t.Fatalf("seed %d: %d calls at the same time with two workers", seed, most)
		}
	}
}

// Jobs of a node do not depend on each other. The bound (the least possible time of the run) has only the longest of
// these jobs, and no times of waiting.
func TestChain(t *testing.T) {
	began := time.Now().Add(-time.Minute)
	rec := New(began)
	at := func(seconds float64) time.Time { return began.Add(time.Duration(seconds * float64(time.Second))) }
	w := &event.Walk{Title: "plan", Names: []string{"a", "", "b"}, After: [][]int32{nil, {0}, {1}}, Lazy: make([]bool, 3), Began: began, Ended: at(10)}
	call := func(node, job int, name string, wanted, from, to float64) {
		v := event.Visit{Walk: w, Node: node, Job: job}
		o := addr.Object{}
		o.Type, o.Name = "test_thing", name
		rec.Send(event.Called{Visit: v, Object: o, Call: event.CallRead, Wanted: at(wanted), Began: at(from), Ended: at(to)})
		rec.Send(event.Visited{Visit: v, Began: at(wanted), Ended: at(to)})
	}
	call(0, 0, "a0", 0, 0, 1)
	call(0, 1, "a1", 0, 1, 3) // the job a1 waits for a token (a permission to call) from 0 to 1
	call(2, -1, "b", 6, 6, 10)
	rec.Send(event.Walked{Walk: w})
	run := rec.Finish("plan", 1, false)
	if got, want := fmt.Sprint(run.Chain), "[{test_thing.a1 plan 2s} {test_thing.b plan 4s}]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if outside := run.Took - 10*time.Second; run.Bound != outside+6*time.Second {
		t.Errorf("the bound is %s", run.Bound)
	}
	all, critical := run.Waited()
	if all != 4*time.Second || critical != 4*time.Second {
		t.Errorf("waited %s, %s", all, critical)
	}
	for _, row := range run.Rows {
		if row.Name == "test_thing.b" && (row.After != "a" || row.Ready != 3*time.Second || !row.Critical) {
			t.Errorf("%+v", row)
		}
	}
}

// A lease (ephemeral resource) that was not closed counts as open until the end of the run. Failed objects are failed
// rows of the chart. A nil recorder records nothing.
func TestLeases(t *testing.T) {
	rec := New(time.Now())
	o := addr.Object{}
	o.Mode, o.Type, o.Name = addr.Ephemeral, "test_lease", "l"
	rec.Send(event.Done{Object: o, Op: event.Open})
	rec.Send(event.Done{Object: o, Op: event.Renew})
	rec.Send(event.Done{Object: o, Op: event.Close})
	rec.Send(event.Behind{Run: "r", Event: event.Done{Object: o, Op: event.Open}})
	run := rec.Finish("test", 10, true)
	if len(run.Leases) != 2 || run.Leases[0].Open || len(run.Leases[0].Renewed) != 1 || !run.Leases[1].Open || run.Leases[1].Ended != run.Took || !run.Interrupted {
		t.Errorf("%+v", run.Leases)
	}
	var none *Recorder
	none.Phase("a")()
	none.Question("b")()
}
