package planning_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/engine/applying"
	"github.com/lethe-iac/lethe/internal/engine/enginetest/world"
	"github.com/lethe-iac/lethe/internal/engine/planning"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/provider"
)

// applyRounds applies a configuration in rounds (plans, each with its apply) until no change is deferred. It returns
// the actions of each round.
func applyRounds(w *world.World, text string) (actions [][]string) {
	w.Helper()
	actions, _ = appliedRounds(w, text)
	return actions
}

// appliedRounds applies a configuration in rounds until no change is deferred. It returns the actions of each round,
// and the changes of objects in all rounds.
func appliedRounds(w *world.World, text string) (actions [][]string, changes []string) {
	w.Helper()
	earlier := &planning.Earlier{}
	for {
		var p *plan.Plan
		_, ok := w.Apply(text, func(r *planning.Request) { r.Rounds, r.Earlier = true, earlier }, func(r *applying.Request) { p = r.Plan })
		if !ok {
			w.Fatalf("%s\n%v", text, w.Bag.List())
		}
		actions, changes = append(actions, world.Actions(p)), append(changes, changed(w)...)
		if len(p.Deferred) == 0 {
			return actions, changes
		}
		if !p.Decides() {
			w.Fatalf("nothing is decided:\n%s", text)
		}
		earlier.Add(w.Result)
	}
}

// changed returns the provider calls that changed objects since the last call of changed, without reads of data
// sources.
func changed(w *world.World) []string {
	return slices.DeleteFunc(strings.Split(w.Done(), ", "), func(s string) bool { return s == "" || strings.HasPrefix(s, "read ") })
}

// contents lists the objects of a state and the results of its data sources with their attributes.
func contents(w *world.World) string {
	var out []string
	for o, e := range w.State.Objects() {
		out = append(out, fmt.Sprintf("%s %s %v", o, e.Attrs, e.Tainted))
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}

// An instance that was planned in one round is neither read nor planned in a later round.
func TestLaterRoundDecidesOnlyTheRest(t *testing.T) {
	w := world.New(t)
	w.Has("fake_thing.kept")
	planned, read := map[string]int{}, map[string]int{}
	onPlan := w.OnPlan
	w.OnPlan = func(ctx context.Context, r provider.PlanRequest) (provider.PlanResponse, provider.Diags) {
		planned[world.Text(w.Value(r.Proposed), "name")]++
		return onPlan(ctx, r)
	}
	w.OnRead = func(_ context.Context, r provider.ReadRequest) (provider.ReadResponse, provider.Diags) {
		read[world.Text(w.Value(r.State), "name")]++
		return provider.ReadResponse{State: r.State}, nil
	}
	got := applyRounds(w, world.TestObject("kept")+world.TestObject("a")+`
resource "fake_thing" "b" {
  for_each = toset([fake_thing.a.id])
  name     = each.key
}
resource "fake_thing" "c" {
  count = length(keys(fake_thing.b))
  name  = "c"
}
`)
	want := [][]string{{"create fake_thing.a"}, {`create fake_thing.b["id-a"]`, "create fake_thing.c[0]"}}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got, want)
	}
	for name, n := range planned {
		if n > 1 {
			t.Errorf("%s was planned %d times", name, n)
		}
	}
	if read["kept"] != 1 || len(read) != 1 {
		t.Errorf("read: %v", read)
	}
}

// The number of provider calls of 50 rounds grows with the number of rounds, not with its square.
func TestChainOfRoundsIsLinear(t *testing.T) {
	w := world.New(t)
	calls := 0
	onPlan := w.OnPlan
	w.OnPlan = func(ctx context.Context, r provider.PlanRequest) (provider.PlanResponse, provider.Diags) {
		calls++
		return onPlan(ctx, r)
	}
	w.OnRead = func(_ context.Context, r provider.ReadRequest) (provider.ReadResponse, provider.Diags) {
		calls++
		return provider.ReadResponse{State: r.State}, nil
	}
	const length = 50
	var b strings.Builder
	b.WriteString(world.TestObject("r0"))
	for i := 1; i < length; i++ {
		from := "[fake_thing.r0.id]"
		if i > 1 {
			from = fmt.Sprintf("values(fake_thing.r%d)[*].id", i-1)
		}
		fmt.Fprintf(&b, "resource \"fake_thing\" \"r%d\" {\n  for_each = toset(%s)\n  name = each.key\n}\n", i, from)
	}
	if got := applyRounds(w, b.String()); len(got) != length {
		t.Errorf("%d rounds", len(got))
	}
	if calls > 2*length {
		t.Errorf("%d calls", calls)
	}
}

// Objects of a resource whose instance keys are not known stay. An object is destroyed only after the objects that
// depend on it.
func TestObjectsWithUnknownKeysStay(t *testing.T) {
	w := world.New(t)
	w.Has("fake_thing.a", `fake_thing.b["x"]`)
	p := w.Plans(world.TestObject("new")+`
resource "fake_thing" "b" {
  for_each = toset([fake_thing.new.id])
}
`, func(r *planning.Request) { r.Rounds = true }, "delete fake_thing.a", "create fake_thing.new")
	var got []string
	for _, c := range p.Deferred {
		got = append(got, c.Subject()+" "+c.Deferral.Reason)
	}
	if want := []string{"fake_thing.b[*] instance_count_unknown", `fake_thing.b["x"] instance_count_unknown`}; !slices.Equal(got, want) || p.Complete {
		t.Errorf("%q", got)
	}
}

// Two worlds start with the same state. Random configurations are applied to both: to one with unknown keys, in rounds,
// and to the other with known values, at once. The changes and the states at the end are equal.
func TestRoundsEndInTheSameState(t *testing.T) {
	n := 50
	if os.Getenv("LETHE_LONG") != "" {
		n = 10_000
	}
	if testing.Short() {
		n = 20
	}
	for seed := range uint64(n) {
		rounds, known := newCloud(t), newCloud(t)
		for step := range uint64(2) {
			text := randomConfig(rand.New(rand.NewPCG(seed, step*(seed%2))), rand.New(rand.NewPCG(seed, 2+step)))
			_, changes := appliedRounds(rounds.World, unknownIDs(text))
			if _, ok := known.Apply(knownIDs(text), nil, nil); !ok {
				t.Fatalf("seed %d: %v\n%s", seed, known.Bag.List(), knownIDs(text))
			}
			want := changed(known.World)
			slices.Sort(changes)
			slices.Sort(want)
			if !slices.Equal(changes, want) {
				t.Fatalf("seed %d, step %d: rounds make the changes\n%s\nand known values\n%s\n%s", seed, step, changes, want, text)
			}
			if contents(rounds.World) != contents(known.World) {
				t.Fatalf("seed %d, step %d: rounds end with\n%s\nand known values with\n%s\n%s", seed, step, contents(rounds.World), contents(known.World), text)
			}
		}
	}
}

// randomConfig returns a random configuration. It writes the id of a resource x as <x>. The random numbers of details
// determine the arguments; the random numbers of r determine the rest.
func randomConfig(r, details *rand.Rand) string {
	var b strings.Builder
	var earlier []func() string // functions that return an expression: a list of strings made from earlier resources
	literal := true             // all notes so far are literals; otherwise an update because of pending data would trigger a replacement
	note := func() string {
		if n := details.IntN(6); n < 3 {
			return fmt.Sprintf(`"n%d"`, n)
		}
		return "null"
	}
	list := func() string {
		if len(earlier) == 0 || r.IntN(6) == 0 {
			return fmt.Sprintf(`["k%d"]`, r.IntN(3))
		}
		return earlier[r.IntN(len(earlier))]()
	}
	region := "each.key"
	if r.IntN(2) == 0 { // the provider settings have the same value, but are unknown until the resource base exists
		region = `join("", [each.key, substr(<fake_thing.base>, 0, 0)])`
		fmt.Fprintf(&b, "resource \"fake_thing\" \"base\" {\n  name = \"base-%d\"\n}\n", details.IntN(3)/2)
	}
	fmt.Fprintf(&b, "provider \"fake\" {\n  alias = \"by\"\n  for_each = toset([\"r1\", \"r2\"])\n  region = %s\n}\n", region)
	b.WriteString("action \"fake_act\" \"act\" {\n  config {\n    text = caller.name\n  }\n}\n")
	modules := false
	for i := range 2 + r.IntN(6) {
		name := fmt.Sprintf("r%d", i)
		if r.IntN(4) == 0 {
			from, all := list(), "[module."+name+"]"
			fmt.Fprintf(&b, "module \"%s\" {\n  source = \"./m\"\n  list = %s\n", name, list())
			switch r.IntN(3) {
			case 0:
				fmt.Fprintf(&b, "  name = \"%s\"\n", name)
			case 1:
				fmt.Fprintf(&b, "  for_each = toset(%s)\n  name = \"%s${each.key}\"\n", from, name)
				all = "values(module." + name + ")"
			default:
				fmt.Fprintf(&b, "  count = length(join(\"\", %s)) %% 3\n  name = \"%s${count.index}\"\n", from, name)
				all = "module." + name
			}
			if i > 0 && r.IntN(4) == 0 {
				fmt.Fprintf(&b, "  depends_on = [fake_thing.r%d]\n", r.IntN(i))
			}
			b.WriteString("}\n")
			earlier = append(earlier, func() string { return "flatten(" + all + "[*].ids)" })
			modules = true
		}
		if r.IntN(4) == 0 {
			literal = false
			fmt.Fprintf(&b, "data \"fake_data\" %q {\n  for_each = toset(%s)\n  name = each.key\n  note = %s\n}\n", name, list(), note())
			note = func() string {
				return fmt.Sprintf("join(\",\", [for d in values(data.fake_data.%s) : \"${d.name}=${coalesce(d.note, \"none\")}\"])", name)
			}
		}
		fmt.Fprintf(&b, "resource \"fake_thing\" %q {\n  note = %s\n", name, note())
		if i%3 == 2 { // the details select the provider key, because an object is read through the provider block that its resource selects
			fmt.Fprintf(&b, "  provider = fake.by[\"r%d\"]\n", 1+details.IntN(8)/7)
		}
		lifecycle := ""
		if i > 0 && literal && r.IntN(3) == 0 {
			lifecycle = fmt.Sprintf("    create_before_destroy = %t\n    replace_triggered_by = [fake_thing.r%d]\n", r.IntN(2) == 0, r.IntN(i))
		}
		if r.IntN(4) == 0 {
			lifecycle += "    action_trigger {\n      events = [before_update, before_destroy, after_create, after_update, after_destroy]\n      actions = [action.fake_act.act]\n    }\n"
		}
		from := list()
		switch r.IntN(4) {
		case 3:
			lifecycle += fmt.Sprintf("    enabled = length(join(\"\", %s)) %% 2 == 0\n", from)
			fmt.Fprintf(&b, "  name = \"%s-%d\"\n", name, details.IntN(3)/2)
			earlier = append(earlier, func() string { return "[for v in fake_thing." + name + "[*] : <v>]" })
		case 0:
			fmt.Fprintf(&b, "  name = \"%s-%d-${length(%s)}\"\n", name, details.IntN(3)/2, from)
			earlier = append(earlier, func() string { return "[<fake_thing." + name + ">]" })
		case 1:
			fmt.Fprintf(&b, "  for_each = toset(%s)\n  name = \"%s${each.key}\"\n", from, name)
			earlier = append(earlier, func() string { return "[for v in values(fake_thing." + name + ") : <v>]" })
		default:
			fmt.Fprintf(&b, "  count = length(join(\"\", %s)) %% 3\n  name = \"%s${count.index}\"\n", from, name)
			earlier = append(earlier, func() string { return "[for v in fake_thing." + name + " : <v>]" })
		}
		if i > 0 && r.IntN(4) == 0 {
			fmt.Fprintf(&b, "  depends_on = [fake_thing.r%d]\n", r.IntN(i))
		}
		fmt.Fprintf(&b, "  lifecycle {\n%s  }\n}\n", lifecycle)
		if r.IntN(3) == 0 {
			from := list()
			fmt.Fprintf(&b, "locals {\n  l%d = %s\n}\n", i, from)
			earlier = append(earlier, func() string { return fmt.Sprintf("local.l%d", i) })
		}
		if r.IntN(4) == 0 {
			fmt.Fprintf(&b, "output \"o%d\" {\n  value = %s\n}\n", i, list())
		}
	}
	if modules {
		b.WriteString(world.Module + inner)
	}
	return b.String()
}

// inner is a module whose objects depend on each other's keys.
const inner = `
variable "name" {}
variable "list" {}
resource "fake_thing" "one" {
  name = "one-${var.name}-${length(var.list)}"
}
resource "fake_thing" "many" {
  for_each = toset(concat([for k in var.list : k if length(k) % 2 == 0], [<fake_thing.one>]))
  name     = "many-${var.name}-${each.key}"
  lifecycle {
    replace_triggered_by = [fake_thing.one]
  }
}
data "fake_data" "d" {
  for_each = fake_thing.many
  name     = each.value.name
}
resource "fake_thing" "last" {
  count = length(data.fake_data.d) % 3
  name  = "last-${var.name}-${count.index}"
}
output "ids" {
  value = [for v in values(fake_thing.many) : <v>]
}
`

// unknownIDs replaces <x> by x.id, which is known after apply, because the provider computes it. knownIDs replaces <x>
// by an expression of the name, which has the same value.
func unknownIDs(text string) string {
	return strings.NewReplacer("<", "", ">", ".id").Replace(text)
}

func knownIDs(text string) string {
	return strings.NewReplacer("<", `"id-${`, ">", `.name}"`).Replace(text)
}
