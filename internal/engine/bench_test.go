package engine

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/secret"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/zclconf/go-cty/cty"
)

// shapes has functions that return a configuration of n resources, by the name of its shape.
var shapes = map[string]func(n int) string{
	"blocks": func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "resource \"plant_item\" \"r%d\" {\n  name = \"item-%d\"\n}\n", i, i)
		}
		return b.String()
	},
	"count": func(n int) string {
		return fmt.Sprintf("resource \"plant_item\" \"r\" {\n  count = %d\n  name  = \"item-${count.index}\"\n}\n", n)
	},
	"foreach": func(n int) string {
		return fmt.Sprintf(`
locals { keys = toset(flatten([for h in range(%d) : [for i in range(100) : "key-${h}-${i}"]])) }
resource "plant_item" "r" {
  for_each = local.keys
  name     = each.key
}
`, n/100)
	},
	"chain": func(n int) string {
		var b strings.Builder
		b.WriteString("resource \"plant_item\" \"r0\" { name = \"first\" }\n")
		for i := 1; i < n; i++ {
			fmt.Fprintf(&b, "resource \"plant_item\" \"r%d\" { name = plant_item.r%d.name }\n", i, i-1)
		}
		return b.String()
	},
	"pairs": func(n int) string {
		return fmt.Sprintf(`
resource "plant_item" "a" {
  count = %d
  name  = "a-${count.index}"
}
resource "plant_item" "b" {
  count = %d
  name  = plant_item.a[count.index].name
}
`, n/2, n/2)
	},
}

// task is an operation that a benchmark measures. run receives a compiled program and its plan.
type task struct {
	name string
	run  func(w *world, prog *program.Program, p *plan.Plan)
	made bool // the objects of the configuration exist before the task starts
}

var tasks = []task{
	{"create plan", func(w *world, prog *program.Program, _ *plan.Plan) { w.plan(prog, nil) }, false},
	{"apply", func(w *world, prog *program.Program, p *plan.Plan) { w.carryOut(prog, p) }, false},
	{"no-op plan", func(w *world, prog *program.Program, _ *plan.Plan) { w.plan(prog, nil) }, true},
	{"destroy plan", func(w *world, prog *program.Program, _ *plan.Plan) {
		w.plan(prog, func(r *Request) { r.Mode = plan.Destroy })
	}, true},
}

// carryOut applies a plan and returns the new state.
func (w *world) carryOut(prog *program.Program, p *plan.Plan) *state.Snapshot {
	w.t.Helper()
	var bag diag.Bag
	done, ok := w.engine.Apply(context.Background(), ApplyRequest{Program: prog, Plan: p, Options: frame.Options{Variables: w.vars, Workspace: "default"}}, &bag)
	if !ok {
		w.t.Fatalf("apply: %v", bag.List())
	}
	return done.Snapshot
}

// prepared returns an engine with a state, a program and its plan, for a task that runs repeatedly. If made is true,
// the state has the objects.
func prepared(t testing.TB, shape string, n int, made bool) (*world, *program.Program, *plan.Plan) {
	w, _ := newPlantWorld(t)
	prog := w.compile(map[string]string{"main.tf": plantHead + shapes[shape](n)})
	p := w.plan(prog, nil)
	if made {
		w.state, _ = state.Next(w.state, w.carryOut(prog, p), "test")
		w.plan(prog, nil) // one plan fills the table plant.upgrade of the fake provider, so that no later plan does
	}
	return w, prog, p
}

func benchmark(b *testing.B, t task) {
	for _, shape := range []string{"blocks", "count", "foreach", "chain", "pairs"} {
		for _, n := range []int{1000, 10000} {
			b.Run(fmt.Sprintf("%s %d", shape, n), func(b *testing.B) {
				w, prog, p := prepared(b, shape, n, t.made)
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				for b.Loop() {
					t.run(w, prog, p)
				}
				runtime.ReadMemStats(&after)
				each := float64(b.N * n)
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/each, "ns/resource")
				b.ReportMetric(float64(after.Mallocs-before.Mallocs)/each, "allocs/resource")
				b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/each, "B/resource")
			})
		}
	}
}

func BenchmarkPlanCreate(b *testing.B)  { benchmark(b, tasks[0]) }
func BenchmarkApply(b *testing.B)       { benchmark(b, tasks[1]) }
func BenchmarkPlanNoOp(b *testing.B)    { benchmark(b, tasks[2]) }
func BenchmarkPlanDestroy(b *testing.B) { benchmark(b, tasks[3]) }

func BenchmarkCompile(b *testing.B) {
	for _, n := range []int{1000, 10000} {
		b.Run(fmt.Sprint("blocks ", n), func(b *testing.B) {
			w, _ := newPlantWorld(b)
			files := map[string]string{"main.tf": plantHead + shapes["blocks"](n)}
			b.ReportAllocs()
			for b.Loop() {
				w.compile(files)
			}
		})
	}
}

// BenchmarkMoves measures a plan after every resource was renamed.
func BenchmarkMoves(b *testing.B) {
	for _, n := range []int{250, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			w, _, _ := prepared(b, "blocks", n, true)
			var main strings.Builder
			for i := range n {
				fmt.Fprintf(&main, "resource \"plant_item\" \"new%d\" {\n  name = \"item-%d\"\n}\nmoved {\n  from = plant_item.r%d\n  to   = plant_item.new%d\n}\n", i, i, i, i)
			}
			prog := w.compile(map[string]string{"main.tf": plantHead + main.String()})
			b.ReportAllocs()
			for b.Loop() {
				w.plan(prog, nil)
			}
		})
	}
}

// BenchmarkPlanSecrets plans write-only arguments whose texts contain parts of a document of secrets.
func BenchmarkPlanSecrets(b *testing.B) {
	const n = 1000
	var doc, config strings.Builder
	for i := range n {
		fmt.Fprintf(&doc, ",%q:\"password-number-%d\"", fmt.Sprintf("k%d", i), i)
	}
	fmt.Fprintf(&config, `
variable "doc" {
  ephemeral = true
}
locals {
  parts = jsondecode(var.doc)
}
resource "plant_safe" "r" {
  count  = %d
  name   = "item-${count.index}"
  secret = "pg://u:${base64encode(local.parts["k${count.index}"])}@db-${count.index}"
}
`, n)
	w, _ := newPlantWorld(b)
	w.vars = map[string]frame.Given{"doc": {Value: cty.StringVal("{" + doc.String()[1:] + "}")}}
	prog := w.compile(map[string]string{"main.tf": plantHead + config.String()})
	for b.Loop() {
		w.engine.Secrets = &secret.Set{}
		w.plan(prog, nil)
	}
}
