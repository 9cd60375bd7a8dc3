package engine

import (
	"context"
	"fmt"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/lang/vet"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/provider/builtin/terraform"
	"github.com/lethe-iac/lethe/internal/state"
)

// world is an engine with a state, for tests with built-in resources.
type world struct {
	t      testing.TB
	engine *Engine
	state  *state.Snapshot
	vars   map[string]frame.Given
}

func newWorld(t testing.TB) *world {
	w := &world{t: t, engine: &Engine{Settings: Settings{Pool: provider.NewPool(nil), Now: time.Now}}, state: &state.Snapshot{}}
	builtin(w)
	return w
}

func builtin(w *world) { w.engine.Pool.Builtin(addr.Builtin("terraform"), terraform.New(nil, nil)) }

// compile compiles files, by their paths below the root module.
func (w *world) compile(files map[string]string) *program.Program {
	w.t.Helper()
	mem := config.Memory{}
	for name, text := range files {
		mem[path.Join("root", name)] = []byte(text)
	}
	var bag diag.Bag
	tree, ok := config.LoadTree("root", config.Options{Files: mem}, func(_ addr.Module, call *config.Call, parent *config.Node, bag *diag.Bag) (string, string, string, bool) {
		src, ok := frame.StaticSource(parent, call, frame.Options{}, bag)
		return path.Join(parent.Module.Dir, src), src, "", ok
	}, &bag)
	if !ok {
		w.t.Fatalf("load: %v", bag.List())
	}
	prog, ok := w.engine.Compile(context.Background(), tree, vet.CheckOptions{}, &bag)
	if !ok {
		w.t.Fatalf("compile: %v", bag.List())
	}
	return prog
}

func (w *world) plan(prog *program.Program, change func(*Request)) *plan.Plan {
	w.t.Helper()
	var bag diag.Bag
	req := Request{Program: prog, State: w.state, Refresh: true, Options: frame.Options{Variables: w.vars, Workspace: "default"}}
	if change != nil {
		change(&req)
	}
	r, ok := w.engine.Plan(context.Background(), req, &bag)
	if !ok {
		w.t.Fatalf("plan: %v", bag.List())
	}
	return r.Plan
}

// apply plans and applies, and returns the actions of the plan.
func (w *world) apply(files map[string]string, change func(*Request)) string {
	w.t.Helper()
	prog := w.compile(files)
	p := w.plan(prog, change)
	var bag diag.Bag
	done, ok := w.engine.Apply(context.Background(), ApplyRequest{Program: prog, Plan: p, Options: frame.Options{Variables: w.vars, Workspace: "default"}}, &bag)
	w.state, _ = state.Next(w.state, done.Snapshot, "test")
	if !ok {
		w.t.Fatalf("apply: %v", bag.List())
	}
	return actions(p)
}

func actions(p *plan.Plan) string {
	var out []string
	for _, c := range p.Changes {
		if c.Action != plan.NoOp {
			out = append(out, fmt.Sprintf("%s %s", c.Action, c.Object))
		}
	}
	return strings.Join(out, "\n")
}

func TestApplyUpdateDestroy(t *testing.T) {
	w := newWorld(t)
	main := `
variable "word" { default = "hello" }
resource "terraform_data" "a" { input = var.word }
resource "terraform_data" "b" {
  count = 2
  input = "${terraform_data.a.output} ${count.index}"
}
output "all" { value = terraform_data.b[*].output }
`
	files := map[string]string{"main.tf": main}
	if got, want := w.apply(files, nil), "create terraform_data.a\ncreate terraform_data.b[0]\ncreate terraform_data.b[1]"; got != want {
		t.Fatalf("got\n%s\nwant\n%s", got, want)
	}
	if got := w.state.Outputs["all"].Value.Raw.GoString(); !strings.Contains(got, `"hello 1"`) {
		t.Errorf("output: %s", got)
	}
	if got := w.apply(files, nil); got != "" {
		t.Errorf("second apply: %s", got)
	}
	files["main.tf"] = strings.ReplaceAll(main, `"hello"`, `"bye"`)
	if got, want := w.apply(files, nil), "update terraform_data.a\nupdate terraform_data.b[0]\nupdate terraform_data.b[1]"; got != want {
		t.Errorf("update: %s", got)
	}
	files["main.tf"] = `resource "terraform_data" "a" { input = 1 }`
	if got, want := w.apply(files, nil), "update terraform_data.a\ndelete terraform_data.b[0]\ndelete terraform_data.b[1]"; got != want {
		t.Errorf("orphans: %s", got)
	}
	if got, want := w.apply(files, func(r *Request) { r.Mode = plan.Destroy }), "delete terraform_data.a"; got != want {
		t.Errorf("destroy: %s", got)
	}
	if n := w.state.Len(); n != 0 {
		t.Errorf("%d objects left", n)
	}
}

// An argument of a module call may refer to an output of another module of the same caller. The resources behind this
// output are applied first.
func TestModuleBesideModule(t *testing.T) {
	w := newWorld(t)
	files := map[string]string{
		"main.tf": `
module "one" {
  source = "./mod"
  in     = "x"
}
module "two" {
  source = "./mod"
  count  = 2
  in     = "${module.one.out} ${count.index}"
}
output "out" { value = module.two[*].out }
`,
		"mod/main.tf": `
variable "in" { type = string }
resource "terraform_data" "a" { input = var.in }
resource "terraform_data" "b" { input = "${terraform_data.a.output}!" }
output "out" { value = terraform_data.b.output }
`}
	if got := w.apply(files, nil); strings.Count(got, "create") != 6 {
		t.Errorf("create: %s", got)
	}
	if got := w.state.Outputs["out"].Value.Raw.GoString(); !strings.Contains(got, `"x! 0!"`) || !strings.Contains(got, `"x! 1!"`) {
		t.Errorf("output: %s", got)
	}
	if got := w.apply(files, nil); got != "" {
		t.Errorf("second apply: %s", got)
	}
	if got := w.apply(files, func(r *Request) { r.Mode = plan.Destroy }); strings.Count(got, "delete") != 6 {
		t.Errorf("destroy: %s", got)
	}
}
