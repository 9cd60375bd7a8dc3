package stores

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// drawn is a random configuration with random edits. Maps are by the number in the name.
type drawn struct {
	*rand.Rand
	resources map[int]*drawnResource
	locals    [3]string
	variables [4]int
	module    int // number of instances; negative if the module is not called
	inner     [2]int
	argument  string
	outputs   map[int]string
	checks    map[int]string
	moved     string
	comment   int
}

// drawnResource is a resource. repeat is 0 for no repetition, 1 for count and 2 for for_each, and n the number of
// instances.
type drawnResource struct {
	repeat, n, literal int
	refs               []string
	trigger            string
}

// draw returns the random configuration of a seed.
func draw(seed uint64) *drawn {
	d := &drawn{Rand: rand.New(rand.NewPCG(seed, 1)), resources: map[int]*drawnResource{}, outputs: map[int]string{}, checks: map[int]string{}, argument: "var.v0"}
	for i := range 3 {
		d.locals[i] = fmt.Sprintf("var.v%d", i)
	}
	for i := range 6 {
		d.resources[i] = &drawnResource{}
		d.edit()
	}
	return d
}

// value returns an expression for the resource with a number. It refers only to resources with smaller numbers, so that
// no cycle arises.
func (d *drawn) value(before int) string {
	var all []string
	for i := range d.locals {
		all = append(all, fmt.Sprintf("var.v%d", i), fmt.Sprintf("local.l%d", i), fmt.Sprint(d.IntN(3)))
	}
	for _, i := range slices.Sorted(maps.Keys(d.resources)) {
		if i < before {
			all = append(all, fmt.Sprintf("terraform_data.r%d", i))
		}
	}
	if before > 3 && d.module >= 0 {
		all = append(all, "values(module.m)[*].o")
	}
	return all[d.IntN(len(all))]
}

// edit makes one random change to a variable, a comment, a module, an argument, an output, a check or a resource of the
// configuration. A resource may be moved.
func (d *drawn) edit() {
	i := d.IntN(7)
	r := d.resources[i]
	d.moved = ""
	switch n := d.IntN(15); {
	case n < 3:
		d.variables[d.IntN(len(d.variables))]++
	case n == 3:
		d.comment++
	case n == 4:
		d.module = d.IntN(4) - 1
	case n == 5:
		d.inner[d.IntN(2)]++
	case n == 6:
		d.argument = []string{"var.v1", "local.l0", "terraform_data.r0"}[d.IntN(3)]
	case n == 7:
		d.outputs[d.IntN(2)] = d.value(10)
	case n == 14:
		d.checks[d.IntN(3)] = d.value(10)
	case n == 8 && r != nil:
		delete(d.resources, i)
		if j := d.IntN(7); d.resources[j] == nil && d.IntN(2) == 0 {
			d.resources[j], d.moved = r, fmt.Sprintf("moved {\n  from = terraform_data.r%d\n  to = terraform_data.r%d\n}\n", i, j)
			r.refs = nil
		}
	case r == nil:
		d.resources[i] = &drawnResource{literal: d.IntN(3)}
	case n == 9:
		r.repeat, r.n = d.IntN(3), d.IntN(4)
	case n == 10:
		r.trigger = fmt.Sprintf("var.v%d", d.IntN(len(d.variables)))
	case n == 11:
		r.refs = nil
	case n == 12:
		r.refs = append(r.refs, d.value(i))
	default:
		r.literal++
	}
}

// files returns the files of the configuration. No expression refers to removed objects.
func (d *drawn) files() map[string]string {
	var b strings.Builder
	fill := func(expr string) string {
		var i int
		if n, _ := fmt.Sscanf(expr, "terraform_data.r%d", &i); n == 1 {
			switch r := d.resources[i]; {
			case r == nil:
				return "null"
			case r.repeat == 0:
				return expr + ".id"
			case r.repeat == 1:
				return expr + "[*].output"
			}
			return "values(" + expr + ")[*].id"
		}
		if strings.Contains(expr, "module.m") && d.module < 0 {
			return "null"
		}
		return expr
	}
	for i, v := range d.variables {
		fmt.Fprintf(&b, "variable \"v%d\" {\n  default = 0\n}\n", i)
		_ = v
	}
	b.WriteString(strings.Repeat("# more\n", d.comment) + "locals {\n")
	for i, l := range d.locals {
		fmt.Fprintf(&b, "  l%d = [%s]\n", i, fill(l))
	}
	b.WriteString("}\n")
	for _, i := range slices.Sorted(maps.Keys(d.resources)) {
		r := d.resources[i]
		fmt.Fprintf(&b, "resource \"terraform_data\" \"r%d\" {\n", i)
		switch r.repeat {
		case 1:
			fmt.Fprintf(&b, "  count = %d\n", r.n)
		case 2:
			fmt.Fprintf(&b, "  for_each = toset([for i in range(%d + var.v3) : tostring(i)])\n", r.n)
		}
		fmt.Fprintf(&b, "  input = [%d", r.literal)
		for _, ref := range r.refs {
			b.WriteString(", " + fill(ref))
		}
		b.WriteString("]\n")
		if r.trigger != "" {
			fmt.Fprintf(&b, "  triggers_replace = %s\n", r.trigger)
		}
		b.WriteString("}\n")
	}
	if d.module >= 0 {
		fmt.Fprintf(&b, "module \"m\" {\n  source = \"./m\"\n  for_each = toset([for i in range(%d) : tostring(i)])\n  x = %s\n}\n", d.module, fill(d.argument))
	}
	for _, i := range slices.Sorted(maps.Keys(d.outputs)) {
		fmt.Fprintf(&b, "output \"o%d\" {\n  value = %s\n}\n", i, fill(d.outputs[i]))
	}
	for _, i := range slices.Sorted(maps.Keys(d.checks)) {
		fmt.Fprintf(&b, "check \"c%d\" {\n  assert {\n    condition = length(jsonencode([var.v2, %s])) %% 2 == 0\n    error_message = \"odd\"\n  }\n}\n", i, fill(d.checks[i]))
	}
	b.WriteString(d.moved)
	values := ""
	for i, v := range d.variables {
		values += fmt.Sprintf("v%d = %d\n", i, v)
	}
	return map[string]string{"drawn.tf": b.String(), "terraform.tfvars": values, "m/main.tf": fmt.Sprintf(
		"variable \"x\" {}\nresource \"terraform_data\" \"a\" {\n  input = [var.x, %d]\n  triggers_replace = %d\n}\nresource \"terraform_data\" \"b\" {\n  count = 2\n  input = [terraform_data.a.id, %d]\n}\noutput \"o\" {\n  value = terraform_data.b[*].id\n}\n", d.inner[0], d.inner[0]/2, d.inner[1])}
}

// planned returns the changes of a plan with flags: the actions by address, the actions of outputs, and the failed
// conditions. part is true if the plan was limited to changed objects. The plan remains in the file p.
func (u *directory) planned(flags ...string) (changes, outputs, fail map[string]string, part bool) {
	u.Helper()
	part = strings.Contains(u.run(0, append([]string{"plan", "-out=p"}, flags...)...), "Planning changed resources only")
	var p struct {
		Changes []struct {
			Address, Deposed string
			Change           struct{ Actions []string }
		} `json:"resource_changes"`
		Outputs map[string]struct{ Actions []string } `json:"output_changes"`
		Checks  []struct {
			Address struct {
				Display string `json:"to_display"`
			}
			Status string
		}
	}
	text, err := u.cmd("show", "-json", "p").Output()
	check(u.T, err)
	check(u.T, json.Unmarshal(text, &p))
	changes, outputs, fail = map[string]string{}, map[string]string{}, map[string]string{}
	for _, c := range p.Checks {
		if c.Status == "fail" {
			fail[c.Address.Display] = c.Status
		}
	}
	for _, c := range p.Changes {
		if a := strings.Join(c.Change.Actions, "+"); a != "no-op" {
			changes[c.Address+" "+c.Deposed] = a
		}
	}
	for name, o := range p.Outputs {
		if a := strings.Join(o.Actions, "+"); a != "no-op" {
			outputs[name] = a
		}
	}
	return changes, outputs, fail, part
}

// TestChanged checks that a plan with -changed equals a full plan if no object has drifted. LETHE_LONG=1 runs more
// steps.
func TestChanged(t *testing.T) {
	ours, err := lethe()
	check(t, err)
	port := startPostgres(t)
	seeds, steps := 2, 10
	if os.Getenv("LETHE_LONG") != "" {
		seeds, steps = 10, 40
	}
	smaller, some, failed := 0, 0, 0
	for seed := range seeds {
		d := draw(uint64(seed))
		u := newDirectory(t, ours, rowsPlace(port, fmt.Sprintf("changed %d", seed)))
		u.configure(rowsPlace(port, fmt.Sprintf("changed %d", seed)).backend)
		check(t, os.Mkdir(filepath.Join(u.dir, "m"), 0o700))
		write := func() {
			for name, text := range d.files() {
				check(t, os.WriteFile(filepath.Join(u.dir, name), []byte(text), 0o600))
			}
			u.run(0, "init")
		}
		write()
		u.run(0, "apply", "-auto-approve")
		for step := range steps {
			for range 1 + d.IntN(3) {
				d.edit()
			}
			write()
			full, outputs, fail, _ := u.planned("-refresh=false", "-changed=false")
			part, partOutputs, partFail, isPart := u.planned("-refresh=false")
			if len(full) > 0 {
				some++
			}
			if !maps.Equal(full, part) {
				t.Errorf("seed %d, step %d: all of it is %v, what changed is %v\n%s", seed, step, full, part, d.files()["drawn.tf"])
			}
			if !maps.Equal(outputs, partOutputs) {
				t.Errorf("seed %d, step %d: outputs: all of it is %v, what changed is %v\n%s", seed, step, outputs, partOutputs, d.files()["drawn.tf"])
			}
			if !maps.Equal(fail, partFail) {
				t.Errorf("seed %d, step %d: conditions: of all of it %v do not hold, of what changed %v\n%s", seed, step, fail, partFail, d.files()["drawn.tf"])
			}
			failed += len(fail)
			if isPart {
				smaller++
			}
			u.step(d)
		}
	}
	if t.Logf("%d plans with changes, %d plans of a part of the state, %d conditions that did not hold", some, smaller, failed); smaller < seeds*steps/4 {
		t.Error("hardly a plan was of a part")
	}
}

// step runs a random command that changes the state, or none. The file p must have the current plan.
func (u *directory) step(d *drawn) {
	u.Helper()
	text, err := u.cmd("state", "list").Output()
	check(u.T, err)
	list := strings.Fields(string(text))
	one := ""
	if len(list) > 0 {
		one = list[d.IntN(len(list))]
	}
	switch n := d.IntN(10); {
	case n < 2:
		u.run(0, "apply", "-auto-approve", "-changed=false")
	case n == 2:
		u.run(0, "apply", "p")
	case n == 3 && one != "":
		u.run(0, "state", "rm", one)
	case n == 4 && one != "":
		u.run(0, "taint", one)
	case n == 5 && one != "" && d.moved == "": // without moved, because a target that leaves out a moved object is refused
		u.run(0, "apply", "-auto-approve", "-target="+one)
	case n == 6:
	default:
		u.run(0, "apply", "-auto-approve", "-changed")
	}
}

// TestConditionsOfParts checks that a partial plan evaluates conditions that changed or whose inputs changed. It keeps
// the results of the others.
func TestConditionsOfParts(t *testing.T) {
	ours, err := lethe()
	check(t, err)
	port := startPostgres(t)
	at := rowsPlace(port, "conditions")
	u := newDirectory(t, ours, at)
	write := func(limit, most int) {
		var b strings.Builder
		fmt.Fprintf(&b, "variable \"v\" {\n  default = 0\n}\nvariable \"w\" {\n  default = 0\n}\nmodule \"m\" {\n  source = \"./m\"\n  w = var.w\n}\n")
		for i := range 20 {
			fmt.Fprintf(&b, "resource \"terraform_data\" \"r%d\" {\n  input = tonumber(%s)\n}\n", i, map[bool]string{true: "var.v", false: "0"}[i == 0])
			fmt.Fprintf(&b, "check \"c%d\" {\n  assert {\n    condition = terraform_data.r%d.output < %d\n    error_message = \"too much\"\n  }\n}\n", i, i, map[bool]int{true: limit, false: 9}[i == 1])
		}
		u.configure(b.String() + at.backend)
		check(t, os.MkdirAll(filepath.Join(u.dir, "m"), 0o700))
		check(t, os.WriteFile(filepath.Join(u.dir, "m/main.tf"), fmt.Appendf(nil, "variable \"w\" {}\noutput \"o\" {\n  value = 1\n  precondition {\n    condition = var.w < %d\n    error_message = \"no room\"\n  }\n}\n", most), 0o600))
	}
	results := func(want string) {
		t.Helper()
		if got := query(t, port, `SELECT string_agg(config_addr || ' ' || status, ', ' ORDER BY config_addr) FROM conditions.states_checks WHERE until IS NULL AND status <> 'pass'`); got != want {
			t.Errorf("other than pass are %q, not %q", got, want)
		}
		if n := query(t, port, `SELECT count(*) FROM conditions.states_checks c, (SELECT max(number) AS last FROM conditions.states_versions) v WHERE since = last AND last > 1`); len(n) > 1 || n > "3" {
			t.Errorf("%s results were written", n)
		}
	}
	write(9, 5)
	u.run(0, "init")
	u.run(0, "apply", "-auto-approve")
	results("")
	u.run(0, "apply", "-auto-approve", "-changed", "-var=v=1")
	results("")
	if out := u.run(0, "apply", "-auto-approve", "-changed", "-var=v=10"); !strings.Contains(out, "terraform_data.r0.output is 10") {
		t.Errorf("the check of what changed is not made:\n%s", out)
	}
	results("check.c0 fail")
	if out := u.run(0, "plan", "-changed", "-var=v=10"); !strings.Contains(out, "too much") {
		t.Errorf("what does not hold is not said again:\n%s", out)
	}
	u.run(0, "apply", "-auto-approve", "-target=terraform_data.r0", "-var=v=2")
	results("check.c0 unknown") // unknown, as with every -target
	u.run(0, "apply", "-auto-approve", "-changed", "-var=v=2")
	results("")
	write(0, 5)
	if out := u.run(0, "plan", "-changed", "-var=v=2"); !strings.Contains(out, "terraform_data.r1.output is 0") {
		t.Errorf("a check that was edited is not made:\n%s", out)
	}
	write(9, 5)
	if out := u.run(1, "plan", "-changed", "-var=v=2", "-var=w=7"); !strings.Contains(out, "no room") {
		t.Errorf("the condition of an output of a module is not looked at:\n%s", out)
	}
}
