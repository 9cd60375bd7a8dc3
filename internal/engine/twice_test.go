package engine

import (
	"context"
	"fmt"
	"path"
	"slices"
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
	"pgregory.net/rapid"
)

// drawn returns a random configuration. Its objects refer to earlier objects. Some objects have count, some have
// create_before_destroy, some are in a module, and some use the value of an ephemeral resource.
func drawn(t *rapid.T) map[string]string {
	var root, child strings.Builder
	root.WriteString(plantHead + "ephemeral \"plant_key\" \"k\" {\n  token = \"something-hidden\"\n}\n")
	child.WriteString("variable \"v\" {}\n")
	var names []string // names in the root module
	value := func(label string) string {
		if len(names) > 0 && rapid.Bool().Draw(t, label+" refers") {
			return rapid.SampledFrom(names).Draw(t, label)
		}
		return fmt.Sprintf("%q", rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, label))
	}
	for i := range rapid.IntRange(1, 7).Draw(t, "resources") {
		if rapid.IntRange(0, 4).Draw(t, "absent") == 0 {
			continue // the configuration may lack the resource
		}
		name, repeat, one := fmt.Sprintf("r%d", i), "", ""
		if n := rapid.IntRange(0, 3).Draw(t, "count"); n > 0 {
			repeat, one = fmt.Sprintf("  count = %d\n", n), fmt.Sprintf("[%d]", rapid.IntRange(0, n-1).Draw(t, "instance"))
		}
		life := ""
		if rapid.Bool().Draw(t, "create first") {
			life = "  lifecycle {\n    create_before_destroy = true\n  }\n"
		}
		switch rapid.IntRange(0, 2).Draw(t, "type") {
		case 0:
			fmt.Fprintf(&root, "resource \"terraform_data\" %q {\n%s  input = %s\n  triggers_replace = %s\n%s}\n", name, repeat, value("input"), value("trigger"), life)
			names = append(names, "terraform_data."+name+one+".output", "terraform_data."+name+one+".id")
			if one != "" {
				names = append(names, `join(",", terraform_data.`+name+"[*].id)")
			}
		case 1:
			fmt.Fprintf(&root, "resource \"plant_safe\" %q {\n%s  name = %s\n  secret = ephemeral.plant_key.k.token\n%s}\n", name, repeat, value("name"), life)
			names = append(names, "plant_safe."+name+one+".id")
		case 2:
			fmt.Fprintf(&root, "module %q {\n  source = \"./m\"\n  v = %s\n}\n", name, value("argument"))
			names = append(names, "module."+name+".out")
		}
	}
	child.WriteString("resource \"terraform_data\" \"x\" {\n  input = var.v\n}\noutput \"out\" {\n  value = terraform_data.x.output\n}\n")
	if len(names) > 0 {
		fmt.Fprintf(&root, "output \"o\" {\n  value = %s\n}\n", rapid.SampledFrom(names).Draw(t, "output"))
	}
	return map[string]string{"main.tf": root.String(), "m/main.tf": child.String()}
}

// TestPlanAfterApplyIsEmpty applies a sequence of random configurations, sometimes in parts. After each apply a new
// plan has no changes. A destroy at the end leaves no object.
func TestPlanAfterApplyIsEmpty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := &plant{running: map[*machine]bool{}, upgrade: map[string][]byte{}}
		pool := provider.NewPool(p)
		defer pool.Close()
		pool.Builtin(addr.Builtin("terraform"), terraform.New(nil, nil))
		w := &random{T: t, Engine: &Engine{Settings: Settings{Pool: pool, Now: time.Now}}, state: &state.Snapshot{}}
		for range rapid.IntRange(1, 3).Draw(t, "configurations") {
			files := drawn(t)
			w.partly(files)
			w.apply(files, plan.Normal)
			if todo := w.todo(w.plan(files, plan.Normal)); todo != "" {
				t.Fatalf("after apply there is still to do: %s\n%s", todo, files["main.tf"])
			}
		}
		w.apply(drawn(t), plan.Destroy)
		if n := w.state.Len(); n != 0 {
			t.Fatalf("%d objects are left after a destroy", n)
		}
	})
}

// random is an engine with a state for tests with random configurations.
type random struct {
	*rapid.T
	*Engine
	state *state.Snapshot
	prog  *program.Program

	targets, excludes []addr.Target // -target and -exclude of the next plan
}

// partly applies or destroys a random part of a configuration, which -target or -exclude selects.
func (w *random) partly(files map[string]string) {
	list := []*[]addr.Target{nil, &w.targets, &w.excludes}[rapid.IntRange(0, 2).Draw(w.T, "a part")]
	if list == nil {
		return
	}
	for range rapid.IntRange(1, 2).Draw(w.T, "parts") {
		form := rapid.SampledFrom([]string{"terraform_data.r%d", "terraform_data.r%d[0]", "terraform_data.r%d[1]", "plant_safe.r%d", "plant_safe.r%d[0]", "module.r%d"}).Draw(w.T, "part")
		t, err := addr.ParseTarget(fmt.Sprintf(form, rapid.IntRange(0, 6).Draw(w.T, "of")))
		if err != nil {
			w.Fatal(err)
		}
		*list = append(*list, t)
	}
	mode := rapid.SampledFrom([]plan.Mode{plan.Normal, plan.Normal, plan.RefreshOnly, plan.Destroy}).Draw(w.T, "mode")
	switch p, bag := w.tryPlan(context.Background(), files, mode); {
	case p != nil:
		w.carryOut(p, files)
	case !slices.ContainsFunc(bag.List(), func(d diag.Diagnostic) bool { return strings.HasPrefix(d.Summary, "Moved resource instances excluded") }):
		w.Fatalf("plan of a part: %v\n%s", bag.List(), files["main.tf"])
	}
	w.targets, w.excludes = nil, nil
}

func (w *random) plan(files map[string]string, mode plan.Mode) *plan.Plan {
	p, bag := w.tryPlan(context.Background(), files, mode)
	if p == nil {
		w.Fatalf("plan: %v\n%s", bag.List(), files["main.tf"])
	}
	return p
}

// tryPlan returns a plan, or nil and a bag with the errors. The configuration must be valid.
func (w *random) tryPlan(ctx context.Context, files map[string]string, mode plan.Mode) (*plan.Plan, *diag.Bag) {
	mem := config.Memory{}
	for name, text := range files {
		mem[path.Join("root", name)] = []byte(text)
	}
	var bag diag.Bag
	fail := func(what string) {
		for _, d := range bag.List() {
			what += "\n" + d.Summary + ": " + d.Detail
		}
		w.Fatalf("%s\n%s", what, files["main.tf"])
	}
	tree, ok := config.LoadTree("root", config.Options{Files: mem}, func(_ addr.Module, call *config.Call, parent *config.Node, bag *diag.Bag) (string, string, string, bool) {
		src, ok := frame.StaticSource(parent, call, frame.Options{}, bag)
		return path.Join(parent.Module.Dir, src), src, "", ok
	}, &bag)
	if !ok {
		fail("load")
	}
	if w.prog, ok = w.Compile(context.Background(), tree, vet.CheckOptions{}, &bag); !ok {
		fail("compile")
	}
	r, ok := w.Plan(ctx, Request{Program: w.prog, State: w.state, Refresh: true, Mode: mode, Targets: w.targets, Excludes: w.excludes, Options: frame.Options{Workspace: "default"}}, &bag)
	if !ok {
		return nil, &bag
	}
	return r.Plan, &bag
}

func (w *random) apply(files map[string]string, mode plan.Mode) {
	w.carryOut(w.plan(files, mode), files)
}

func (w *random) carryOut(p *plan.Plan, files map[string]string) {
	var bag diag.Bag
	done, ok := w.Apply(context.Background(), ApplyRequest{Program: w.prog, Plan: p, Options: frame.Options{Workspace: "default", Applying: true}}, &bag)
	if !ok {
		what := "apply"
		for _, d := range bag.List() {
			what += "\n" + d.Summary + ": " + d.Detail
		}
		w.Fatalf("%s\n%s", what, files["main.tf"])
	}
	w.state = done.Snapshot
}

// todo lists the changes of a plan that are not plan.NoOp.
func (w *random) todo(p *plan.Plan) string {
	var out []string
	for _, c := range p.Changes {
		if c.Action != plan.NoOp {
			out = append(out, fmt.Sprintf("%s %s", c.Action, c.Object))
		}
	}
	for _, o := range p.Outputs {
		if o.Action != plan.NoOp {
			out = append(out, fmt.Sprintf("%s output %s", o.Action, o.Name))
		}
	}
	return strings.Join(out, ", ")
}
