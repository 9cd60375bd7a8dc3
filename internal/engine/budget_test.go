package engine

import (
	"math"
	"runtime"
	"testing"

	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state"
)

// The tests in this file measure the costs of a run in numbers that are equal on every machine: calls of providers,
// starts of providers, allocated objects and bytes of state. They also check how these numbers grow with the number of
// resources.
//
// The limits are a third above the measured values. A change that exceeds a limit either makes the engine slower for
// every user, or has a good reason and raises the limit.

// costs are the costs of a configuration of one shape with n resources, divided by n. Only starts are not divided.
type costs struct {
	calls  map[string]float64 // calls of providers, except Configure, by task
	starts map[string]int     // starts of provider processes, by task
	allocs map[string]float64 // allocated objects, by task
	bytes  float64            // bytes of the state
}

// measure runs all tasks with n resources of a shape and returns their costs.
func measure(t *testing.T, shape string, n int) costs {
	w, p := newPlantWorld(t)
	w.engine.Parallelism = 100 // more than the number of jobs, so that no job waits for another: waiting allocates memory and depends on timing
	c := costs{map[string]float64{}, map[string]int{}, map[string]float64{}, 0}
	var prog *program.Program
	var made *plan.Plan
	note := func(task string, run func()) {
		p.calls()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		run()
		runtime.ReadMemStats(&after)
		c.allocs[task] = float64(after.Mallocs-before.Mallocs) / float64(n)
		for call, count := range p.calls() {
			switch call {
			case "start":
				c.starts[task] = count
			case "configure":
			default:
				c.calls[task] += float64(count) / float64(n)
			}
		}
	}
	files := map[string]string{"main.tf": plantHead + shapes[shape](n)}
	note("compile", func() { prog = w.compile(files) })
	note("create plan", func() { made = w.plan(prog, nil) })
	note("create apply", func() { w.state, _ = state.Next(w.state, w.carryOut(prog, made), "test") })
	w.plan(prog, nil) // one plan fills the table plant.upgrade of the fake provider, so that no later plan does
	note("no-op", func() { made = w.plan(prog, nil) })
	note("destroy plan", func() { made = w.plan(prog, func(r *Request) { r.Mode = plan.Destroy }) })
	text, err := w.state.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	c.bytes = float64(len(text)) / float64(n)
	note("destroy apply", func() { w.carryOut(prog, made) })
	return c
}

// callLimits are the maximum numbers of provider calls per resource, by task. A plan and its apply are one command. The
// first start of a process belongs to the compilation, which needs the schema.
var callLimits = map[string]float64{
	"create plan": 2, "create apply": 1, // together 3
	"no-op":        4,
	"destroy plan": 3, "destroy apply": 1, // together 4
}

// allocLimits are the maximum numbers of allocated objects per resource, by shape and task.
var allocLimits = map[string]map[string]float64{
	"blocks":  {"compile": 120, "create plan": 50, "create apply": 46, "no-op": 75, "destroy plan": 55, "destroy apply": 36},
	"count":   {"create plan": 56, "create apply": 60, "no-op": 70, "destroy plan": 33, "destroy apply": 29},
	"foreach": {"create plan": 90, "create apply": 51, "no-op": 102, "destroy plan": 33, "destroy apply": 29},
	"chain":   {"compile": 150, "create plan": 59, "create apply": 54, "no-op": 92, "destroy plan": 55, "destroy apply": 39},
	"pairs":   {"create plan": 55, "create apply": 59, "no-op": 72, "destroy plan": 33, "destroy apply": 29},
}

func TestBudget(t *testing.T) {
	const n, times = 400, 4
	for shape, limits := range allocLimits {
		t.Run(shape, func(t *testing.T) {
			small, large := measure(t, shape, n), measure(t, shape, n*times)
			for task, limit := range limits {
				if got := large.calls[task]; got > callLimits[task] {
					t.Errorf("%s: %.2f calls for each resource, more than %.0f", task, got, callLimits[task])
				}
				if got := large.starts[task]; got > 1 {
					t.Errorf("%s: %d starts", task, got)
				}
				if got := large.allocs[task]; got > limit && !raced {
					t.Errorf("%s: %.0f objects allocated for each resource, more than %.0f", task, got, limit)
				}
				if e := 1 + math.Log(large.allocs[task]/small.allocs[task])/math.Log(times); e > 1.1 {
					t.Errorf("%s: allocations grow with N^%.2f, from %.0f to %.0f for each resource", task, e, small.allocs[task], large.allocs[task])
				}
			}
			t.Logf("%+v", large)
			if shape == "chain" {
				return // the size grows faster: the state lists all direct and indirect dependencies of each object of the chain
			}
			if large.bytes > 600 || large.bytes > small.bytes*1.1 {
				t.Errorf("the state has %.0f bytes for each resource, %.0f when there are fewer", large.bytes, small.bytes)
			}
		})
	}
}
