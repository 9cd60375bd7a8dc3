package state

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/zclconf/go-cty/cty"
	"pgregory.net/rapid"
)

// TestEditAgainstMap compares random edits with the same edits of a map, and checks that they do not change the
// original snapshot.
func TestEditAgainstMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s *Snapshot
		model := map[addr.Object]*Entry{}
		for range rapid.IntRange(1, 4).Draw(t, "edits") {
			before, was := s, maps.Clone(model)
			e := s.Edit()
			for range rapid.IntRange(0, 10).Draw(t, "puts") {
				o := genObject.Draw(t, "object")
				if rapid.IntRange(0, 2).Draw(t, "remove") == 0 {
					e.Put(o, nil)
					delete(model, o)
					continue
				}
				entry := &Entry{Attrs: []byte("{}"), Provider: genProvider, Schema: rapid.Int64().Draw(t, "mark")}
				e.Put(o, entry)
				model[o] = entry
				if e.Get(o) != entry {
					t.Fatalf("%s is not what was put", o)
				}
			}
			s = e.Done()
			agree(t, s, model)
			agree(t, before, was)
		}
	})
}

func agree(t *rapid.T, s *Snapshot, model map[addr.Object]*Entry) {
	t.Helper()
	got := map[addr.Object]*Entry{}
	var last *addr.Object
	for o, e := range s.Objects() {
		got[o] = e
		if last != nil && last.Compare(o) >= 0 {
			t.Fatalf("%s comes before %s", *last, o)
		}
		last = &o
		if s.Get(o) != e {
			t.Fatalf("Get(%s) is another", o)
		}
	}
	if !maps.Equal(got, model) || s.Len() != len(model) {
		t.Fatalf("%d objects, %d counted, %d in the model", len(got), s.Len(), len(model))
	}
	for _, r := range s.Resources() {
		n := 0
		for o := range model {
			if o.Abs() == r.Addr {
				n++
			}
		}
		if r.Len() != n || n == 0 {
			t.Fatalf("%s has %d objects, %d in the model", r.Addr, r.Len(), n)
		}
		for _, k := range r.Keys() {
			if r.Get(k) == nil {
				t.Fatalf("%s lists a key %s it does not have", r.Addr, k)
			}
		}
	}
}

// naiveClosure computes the result of Closure with a simple recursive search.
func naiveClosure(s *Snapshot, self addr.Resource, recorded []addr.Resource) []addr.Resource {
	seen := map[addr.Resource]bool{}
	var walk func([]addr.Resource)
	walk = func(list []addr.Resource) {
		for _, r := range list {
			if seen[r] {
				continue
			}
			seen[r] = true
			for o, e := range s.Objects() {
				if o.Resource() == r {
					walk(e.Recorded)
				}
			}
		}
	}
	walk(recorded)
	var out []addr.Resource
	for r := range seen {
		if r.Mode != addr.Ephemeral && r != self {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b addr.Resource) int { return strings.Compare(a.String(), b.String()) })
	return out
}

func TestClosure(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := genSnapshot.Draw(t, "snapshot") // the generated snapshots may have cyclic dependencies
		c := s.Closure()
		for o, e := range s.Objects() {
			if want, got := naiveClosure(s, o.Resource(), e.Recorded), c.Of(o.Resource(), e.Recorded); !slices.Equal(want, got) {
				t.Fatalf("%s: want %v, got %v", o, want, got)
			}
		}
		var list []addr.Resource // only resources on which other resources depend, because recorded lists have only such resources
		for _, r := range genRecorded.Draw(t, "list") {
			if _, ok := c.ids[r]; ok {
				list = append(list, r)
			}
		}
		if want, got := naiveClosure(s, addr.Resource{}, list), c.Of(addr.Resource{}, list); !slices.Equal(want, got) {
			t.Fatalf("%v: want %v, got %v", list, want, got)
		}
	})
}

// TestBequeath checks that an object whose dependency is removed keeps the dependencies of the removed object.
func TestBequeath(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := genSnapshot.Draw(t, "snapshot")
		var all []addr.Object
		for o := range s.Objects() {
			all = append(all, o)
		}
		if len(all) == 0 {
			return
		}
		e := s.Edit()
		for _, o := range rapid.SliceOfDistinct(rapid.SampledFrom(all), func(o addr.Object) addr.Object { return o }).Draw(t, "gone") {
			e.Put(o, nil)
		}
		next := e.Done()
		there := map[addr.Resource]bool{}
		for o := range next.Objects() {
			there[o.Resource()] = true
		}
		for o, entry := range next.Objects() {
			after := naiveClosure(next, o.Resource(), entry.Recorded)
			for _, d := range naiveClosure(s, o.Resource(), s.Get(o).Recorded) {
				if there[d] && !slices.Contains(after, d) && byEditing(s, next, s.Get(o).Recorded, d) {
					t.Fatalf("%s forgot %s", o, d)
				}
			}
		}
	})
}

// byEditing reports whether d can be reached from the list through resources of which all objects, or no objects, were
// removed. If one of several instances is removed, the dependencies that it recorded are lost.
func byEditing(s, next *Snapshot, list []addr.Resource, d addr.Resource) bool {
	seen := map[addr.Resource]bool{}
	var walk func([]addr.Resource) bool
	walk = func(list []addr.Resource) bool {
		for _, r := range list {
			if r == d {
				return true
			}
			if seen[r] {
				continue
			}
			seen[r] = true
			before, after := objectsOf(s, r), objectsOf(next, r)
			if len(after) != 0 && len(after) != len(before) {
				continue
			}
			for _, e := range before {
				if walk(e.Recorded) {
					return true
				}
			}
		}
		return false
	}
	return walk(list)
}

func objectsOf(s *Snapshot, r addr.Resource) []*Entry {
	var out []*Entry
	for o, e := range s.Objects() {
		if o.Resource() == r {
			out = append(out, e)
		}
	}
	return out
}

// TestMoveAgainstMap checks that moved objects keep their entries, and that the dependencies on them refer to their new
// addresses.
func TestMoveAgainstMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := genSnapshot.Draw(t, "snapshot")
		model := map[addr.Object]addr.Object{} // the old address of each object, by new address
		for o := range s.Objects() {
			model[o] = o
		}
		moves := map[addr.Object]addr.Object{}
		for from := range s.Objects() {
			if rapid.Bool().Draw(t, "stays") {
				continue
			}
			to := genObject.Draw(t, "to")
			to.Mode, to.Deposed = from.Mode, from.Deposed
			if _, ok := model[to]; ok {
				continue
			}
			delete(model, from)
			moves[from], model[to] = to, from
		}
		next, err := s.Move(moves)
		if err != nil {
			t.Fatal(err)
		}
		homes := map[addr.Resource][]addr.Resource{}
		for now, was := range model {
			if a, b := was.Resource(), now.Resource(); !slices.Contains(homes[a], b) {
				homes[a] = append(homes[a], b)
			}
		}
		if next.Len() != len(model) {
			t.Fatalf("%d objects, %d in the model", next.Len(), len(model))
		}
		for now, was := range model {
			before, after := s.Get(was), next.Get(now)
			if after == nil || after.Provider != before.Provider || string(after.Attrs) != string(before.Attrs) {
				t.Fatalf("%s came to %s as %v", was, now, after)
			}
			want := map[addr.Resource]bool{}
			for _, d := range before.Recorded {
				for _, h := range homes[d] {
					want[h] = true
				}
				if homes[d] == nil {
					want[d] = true
				}
			}
			got := map[addr.Resource]bool{}
			for _, d := range after.Recorded {
				got[d] = true
			}
			if !maps.Equal(want, got) {
				t.Fatalf("%s records %v, should record %v", now, got, want)
			}
		}
	})
}

func parse(t *testing.T, a string) addr.Object {
	t.Helper()
	i, err := addr.ParseInstance(a)
	if err != nil {
		t.Fatal(err)
	}
	return i.Current()
}

func target(t *testing.T, a string) addr.Target {
	t.Helper()
	out, err := addr.ParseTarget(a)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// with returns a snapshot of objects. Each may list its dependencies: "a.b <- c.d e.f".
func with(t *testing.T, objects ...string) *Snapshot {
	t.Helper()
	e := (*Snapshot)(nil).Edit()
	for _, line := range objects {
		name, deps, _ := strings.Cut(line, " <- ")
		name, deposed, _ := strings.Cut(name, "#")
		o := parse(t, name)
		o.Deposed = deposed
		entry := &Entry{Attrs: []byte(fmt.Sprintf(`{"id":%q}`, line)), Provider: genProvider}
		for _, d := range strings.Fields(deps) {
			entry.Recorded = append(entry.Recorded, target(t, d).Resource())
		}
		e.Put(o, entry)
	}
	return e.Done()
}

// list is the inverse of with, without attributes.
func list(s *Snapshot) []string {
	var out []string
	for o, e := range s.Objects() {
		line := o.Instance.String()
		if o.IsDeposed() {
			line += "#" + o.Deposed
		}
		for i, d := range e.Recorded {
			if i == 0 {
				line += " <-"
			}
			line += " " + d.String()
		}
		out = append(out, line)
	}
	return out
}

func TestMoveRefuses(t *testing.T) {
	s := with(t, "a.x", "a.y", "a.z", "data.a.d")
	for _, tt := range []struct{ moves, want string }{
		{"a.none>a.q", "a.none cannot be moved: it is not in the state"},
		{"a.x>a.y", "a.x cannot be moved to a.y: there is already an object at that address"},
		{"a.x>a.q a.y>a.q", "a.x and a.y cannot both be moved to a.q"},
		{"a.x>data.a.q", "different kinds"},
	} {
		moves := map[addr.Object]addr.Object{}
		for _, m := range strings.Fields(tt.moves) {
			from, to, _ := strings.Cut(m, ">")
			moves[parse(t, from)] = parse(t, to)
		}
		if _, err := s.Move(moves); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, should say %q", tt.moves, err, tt.want)
		}
	}
	swapped, err := s.Move(map[addr.Object]addr.Object{parse(t, "a.x"): parse(t, "a.y"), parse(t, "a.y"): parse(t, "a.x")})
	if err != nil || swapped.Get(parse(t, "a.x")) != s.Get(parse(t, "a.y")) {
		t.Errorf("changing places: %v", err)
	}
}

// TestMoveChecks checks that check results move together with their objects.
func TestMoveChecks(t *testing.T) {
	s := with(t, `module.m["a"].x.y`, `module.m["a"].module.n.x.y`, `module.m["b"].x.y`, "r.s[0]", "r.s[1]")
	e := s.Edit()
	one := func(kind, config string, objects ...string) Check {
		c := Check{Kind: kind, Addr: config, Status: Pass}
		for _, o := range objects {
			st := Pass
			o, bad := strings.CutSuffix(o, "!")
			if bad {
				st, c.Status = Fail, Fail
			}
			c.Objects = append(c.Objects, CheckedObject{Addr: o, Status: st})
		}
		return c
	}
	e.Head().Checks = []Check{
		one("check", "module.m.check.c", `module.m["a"].check.c!`, `module.m["b"].check.c`),
		one("output", "module.m.module.n.output.o", `module.m["a"].module.n.output.o`),
		one("resource", "module.m.x.y", `module.m["a"].x.y`, `module.m["b"].x.y`),
		one("resource", "r.s", "r.s[0]", "r.s[1]!"),
		one("var", "var.v", "var.v"),
		{Kind: "resource", Addr: "r.unknown", Status: Unknown},
	}
	next, err := e.Done().Move(map[addr.Object]addr.Object{
		parse(t, `module.m["a"].x.y`):          parse(t, `module.z.x.y`),
		parse(t, `module.m["a"].module.n.x.y`): parse(t, `module.z.module.n.x.y`),
		parse(t, "r.s[1]"):                     parse(t, "r.t"),
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []Check{
		one("check", "module.m.check.c", `module.m["b"].check.c`),
		one("check", "module.z.check.c", `module.z.check.c!`),
		one("output", "module.z.module.n.output.o", `module.z.module.n.output.o`),
		one("resource", "module.m.x.y", `module.m["b"].x.y`),
		one("resource", "module.z.x.y", `module.z.x.y`),
		one("resource", "r.s", "r.s[0]"),
		one("resource", "r.t", "r.t!"),
		{Kind: "resource", Addr: "r.unknown", Status: Unknown},
		one("var", "var.v", "var.v"),
	}
	if diff := cmp.Diff(want, next.Checks); diff != "" {
		t.Error(diff)
	}
}

// TestMv checks the rules of "state mv", as observed in Terraform 1.11.4.
func TestMv(t *testing.T) {
	base := []string{
		"a.one", "a.two[0]", "a.two[1]", "a.two[1]#00000001", `a.each["k"]`, "data.a.d", "b.dep <- a.one a.two module.m.a.in",
		"module.m.a.in", "module.m.module.n.a.in", `module.k["x"].a.in`, `module.k["y"].a.in`, "module.taken.a.in",
	}
	tests := []struct {
		from, to string
		want     string // the new objects, or the error
		lines    string
	}{
		{"a.one", "a.new", "a.new", "a.one>a.new"},
		{"a.two", "a.new", "a.new[0] a.new[1] a.new[1]#00000001", "a.two>a.new"},
		{"a.one", "a.two[2]", "a.two[2]", "a.one>a.two[2]"},
		{"a.one", "a.one[0]", "a.one[0]", "a.one>a.one[0]"},
		{"a.two[1]", `a.two["k"]`, `a.two["k"] a.two["k"]#00000001`, `a.two[1]>a.two["k"]`},
		{"a.two[0]", "a.new", "a.new", "a.two[0]>a.new"},
		{"a.one", "module.new.a.one", "module.new.a.one", "a.one>module.new.a.one"},
		{`module.k["x"].a.in`, "a.in", "a.in", `module.k["x"].a.in>a.in`},
		{"data.a.d", "data.a.e", "data.a.e", "data.a.d>data.a.e"},
		{"module.m", "module.new", "module.new.a.in module.new.module.n.a.in", "module.m>module.new module.m.module.n>module.new.module.n"},
		{"module.m", "module.m.module.n", "module.m.module.n.module.n.a.in", "module.m>module.m.module.n module.m.module.n>module.m.module.n.module.n"},
		{`module.k["x"]`, "module.new[3]", "module.new[3].a.in", `module.k["x"]>module.new[3]`},
		{"module.k", "module.new", `module.new["x"].a.in module.new["y"].a.in`, `module.k["x"]>module.new["x"] module.k["y"]>module.new["y"]`},
		{"a.none", "a.new", "Invalid source address; Cannot move a.none: does not match anything in the current state. Did you mean \"a.one\"?", ""},
		{"a.two", "a.two[5]", "Invalid source address; Cannot move a.two: does not match anything in the current state. The state has a.two[0], a.two[1].", ""},
		{"module.none", "module.new", "Invalid source address; Cannot move module.none: does not match anything in the current state.", ""},
		{"a.one", "a.two", "Invalid target address; Cannot move to a.two: there is already a resource instance at that address in the current state.", ""},
		{"a.one", "a.one", "Invalid target address; Cannot move to a.one: there is already a resource instance at that address in the current state.", ""},
		{"a.one", "a.two[0]", "Invalid target address; Cannot move to a.two[0]: there is already a resource instance at that address in the current state.", ""},
		{"a.one", "c.one", "Invalid state move request; Cannot move a.one to c.one: resource types don't match.", ""},
		{"a.one", "data.a.one", "Invalid state move request; Cannot move a.one to data.a.one: a managed resource can be moved only to another managed resource address.", ""},
		{"data.a.d", "a.d", "Invalid state move request; Cannot move data.a.d to a.d: a data resource can be moved only to another data resource address.", ""},
		{"a.one", "module.new", "Invalid target address; Cannot move a.one to module.new: the target must also be a resource instance.", ""},
		{"module.m", "a.new", "Invalid target address; Cannot move module.m to a.new: the target must also be a module.", ""},
		{"module.m", "module.taken", "Invalid target address; Cannot move to module.taken: there is already a module instance at that address in the current state.", ""},
		{`module.k["x"]`, `module.k["y"]`, `Invalid target address; Cannot move to module.k["y"]: there is already a module instance at that address in the current state.`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.from+" to "+tt.to, func(t *testing.T) {
			s := with(t, base...)
			var bag diag.Bag
			next, _, done, ok := s.Mv(target(t, tt.from), target(t, tt.to), nil, &bag)
			if !ok {
				if got := bag.List()[0].Error(); got != tt.want {
					t.Errorf("error %q, want %q", got, tt.want)
				}
				return
			}
			var fresh, lines []string
			for o := range next.Objects() {
				if s.Get(o) == nil {
					text := o.Instance.String()
					if o.IsDeposed() {
						text += "#" + o.Deposed
					}
					fresh = append(fresh, text)
				}
			}
			for _, d := range done {
				lines = append(lines, d.From+">"+d.To)
			}
			if got := strings.Join(fresh, " "); got != tt.want {
				t.Errorf("new objects: %s", got)
			}
			if got := strings.Join(lines, " "); got != tt.lines {
				t.Errorf("lines: %s", got)
			}
			if next.Len() != s.Len() {
				t.Errorf("%d objects became %d", s.Len(), next.Len())
			}
		})
	}
}

func TestMvRenamesDependencies(t *testing.T) {
	s := with(t, "a.x[0]", "a.x[1]", "b.y <- a.x c.z")
	var bag diag.Bag
	next, _, _, ok := s.Mv(target(t, "a.x[1]"), target(t, "a.new"), nil, &bag)
	if !ok {
		t.Fatal(bag.List())
	}
	if diff := cmp.Diff([]string{"a.new", "a.x[0]", "b.y <- a.new a.x c.z"}, list(next)); diff != "" {
		t.Error(diff)
	}
}

func TestMvBetweenStates(t *testing.T) {
	s, other := with(t, "a.x", "b.y <- a.x"), with(t, "a.z")
	var bag diag.Bag
	src, dst, _, ok := s.Mv(target(t, "a.x"), target(t, "a.w"), other, &bag)
	if !ok {
		t.Fatal(bag.List())
	}
	if diff := cmp.Diff([][]string{{"b.y <- a.x"}, {"a.w", "a.z"}}, [][]string{list(src), list(dst)}); diff != "" {
		t.Error(diff)
	}
	if _, _, _, ok = s.Mv(target(t, "a.x"), target(t, "a.z"), other, &bag); ok {
		t.Error("an object of the other state was overwritten")
	}
}

// TestMvJoinsProvider checks that an object that joins a resource gets the provider configuration of that resource, and
// that the other objects of the resource keep theirs. Terraform does the same.
func TestMvJoinsProvider(t *testing.T) {
	const provider = `"provider[\"registry.terraform.io/hashicorp/a\"]%s"`
	text := func(name, alias string, key int) string {
		return fmt.Sprintf(`{"mode":"managed","type":"a","name":%q,"provider":%s,"instances":[{"index_key":%d,"attributes":{"id":"x"}}]}`, name, fmt.Sprintf(provider, alias), key)
	}
	read := func(resources ...string) *Snapshot {
		var bag diag.Bag
		s, ok := Read([]byte(`{"version":4,"serial":1,"lineage":"l","outputs":{},"resources":[`+strings.Join(resources, ",")+`]}`), &bag)
		if !ok {
			t.Fatal(bag.List())
		}
		return s
	}
	for _, between := range []bool{false, true} {
		var bag diag.Bag
		s := read(text("x", "", 0), text("y", ".west", 1))
		var into *Snapshot
		if between {
			into = read(text("y", ".west", 1))
		}
		source, dest, _, ok := s.Mv(target(t, "a.x[0]"), target(t, "a.y[0]"), into, &bag)
		if !ok {
			t.Fatal(bag.List())
		}
		if !between {
			dest = source
		}
		out, err := dest.Bytes()
		if want := fmt.Sprintf(provider, ".west"); err != nil || strings.Count(string(out), `"provider": `) != 1 || !strings.Contains(string(out), want) {
			t.Errorf("between states %t: %v\n%s", between, err, out)
		}
	}
}

func TestListed(t *testing.T) {
	want := []string{
		"data.z.x", "a.x", "b.x", "b_b.x", "b_b.x[2]", "b_b.x[10]", `b_b.x["2"]`, "module.a.b.x", "module.a[9].b.x", "module.a[10].b.x",
		`module.a["9"].b.x`, "module.a-b.b.x", "module.b.b.x", "module.a.module.c.b.x",
	}
	var got []addr.Object
	for o := range with(t, want...).Objects() {
		got = append(got, o)
	}
	slices.SortFunc(got, Listed)
	for i, o := range got {
		if o.String() != want[i] {
			t.Errorf("place %d is taken by %s, not %s", i, o, want[i])
		}
	}
}

func TestRemove(t *testing.T) {
	s := with(t, "a.x[0]", "a.x[1]", "a.x[1]#00000001", "module.m[0].a.x", "module.m[1].a.x", "b.y <- a.x", "c.z <- b.y")
	for _, tt := range []struct{ targets, left string }{
		{"a.x", "b.y <- a.x c.z <- b.y module.m[0].a.x module.m[1].a.x"},
		{"a.x[1]", "a.x[0] b.y <- a.x c.z <- b.y module.m[0].a.x module.m[1].a.x"},
		{"module.m", "a.x[0] a.x[1] a.x[1]#00000001 b.y <- a.x c.z <- b.y"},
		{"module.m[0] a.x[0] b.y", "a.x[1] a.x[1]#00000001 c.z <- b.y a.x module.m[1].a.x"},
		{"a.none", ""},
	} {
		var targets []addr.Target
		for _, a := range strings.Fields(tt.targets) {
			targets = append(targets, target(t, a))
		}
		var bag diag.Bag
		next, removed, ok := s.Remove(targets, &bag)
		if !ok {
			if tt.left != "" {
				t.Errorf("%s: %v", tt.targets, bag.List())
			}
			continue
		}
		if got := strings.Join(list(next), " "); got != tt.left || len(removed) != s.Len()-next.Len() {
			t.Errorf("without %s: %s", tt.targets, got)
		}
	}
}

func TestTaint(t *testing.T) {
	s := with(t, "a.x", "a.dep#00000001", "data.a.d")
	var bag diag.Bag
	tainted, ok := s.Taint(parse(t, "a.x").Instance, &bag)
	if !ok || !tainted.Get(parse(t, "a.x")).Tainted || s.Get(parse(t, "a.x")).Tainted {
		t.Fatalf("taint: %v", bag.List())
	}
	whole, ok := tainted.Untaint(parse(t, "a.x").Instance, &bag)
	if !ok || !Equal(whole, s) {
		t.Errorf("untaint: %v", bag.List())
	}
	for _, tt := range []struct {
		do   func(addr.Instance, *diag.Bag) (*Snapshot, bool)
		name string
		want string
	}{
		{s.Taint, "a.none", "No such resource instance"},
		{s.Taint, "a.dep", "The create_before_destroy replacement"},
		{s.Taint, "data.a.d", "cannot be tainted"},
		{s.Untaint, "a.x", "Resource instance is not tainted"},
		{s.Untaint, "a.none", "No such resource instance"},
	} {
		var bag diag.Bag
		if _, ok := tt.do(parse(t, tt.name).Instance, &bag); ok || !strings.Contains(bag.List()[0].Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, bag.List(), tt.want)
		}
	}
}

func withProviders(t *testing.T, providers ...string) *Snapshot {
	t.Helper()
	e := (*Snapshot)(nil).Edit()
	for i, p := range providers {
		parsed, err := addr.ParseProviderInstance(`provider["` + p + `"].al`)
		if err != nil {
			t.Fatal(err)
		}
		e.Put(parse(t, fmt.Sprintf("a.x%d", i)), &Entry{Attrs: []byte("{}"), Provider: parsed})
	}
	return e.Done()
}

func TestReplaceProvider(t *testing.T) {
	to := addr.Provider{Host: "example.com", Namespace: "acme", Type: "null"}
	for _, tt := range []struct {
		from addr.Provider
		want int
	}{
		{addr.Provider{Host: addr.DefaultHost, Namespace: "hashicorp", Type: "null"}, 1},
		{addr.Provider{Host: addr.TerraformHost, Namespace: "hashicorp", Type: "null"}, 2},
		{addr.Provider{Host: addr.DefaultHost, Namespace: "hashicorp", Type: "aws"}, 1}, // stored under the other host
		{addr.Provider{Host: addr.TerraformHost, Namespace: "-", Type: "null"}, 0},
		{addr.Provider{Host: addr.DefaultHost, Namespace: "hashicorp", Type: "none"}, 0},
	} {
		s := withProviders(t, "registry.opentofu.org/hashicorp/null", "registry.terraform.io/hashicorp/null", "registry.terraform.io/hashicorp/null", "registry.terraform.io/hashicorp/aws")
		next, changed := s.ReplaceProvider(tt.from, to)
		n := 0
		for _, e := range next.Objects() {
			if e.Provider.Provider == to && e.Provider.Alias == "al" {
				n++
			}
		}
		if n != tt.want || len(changed) != tt.want {
			t.Errorf("%s: %d changed, %v", tt.from, n, changed)
		}
	}
}

func TestHostFor(t *testing.T) {
	tf, tofu, own := "registry.terraform.io/", "registry.opentofu.org/", "example.com/"
	for _, tt := range []struct {
		name      string
		stored    []string
		ask, want string
		reports   bool
	}{
		{"nothing stored", nil, tofu + "a/b", tofu + "a/b", false},
		{"same provider", []string{tf + "a/b", tofu + "c/d", tofu + "e/f"}, tofu + "a/b", tf + "a/b", true},
		{"other providers", []string{tf + "a/b"}, tofu + "c/d", tf + "c/d", true},
		{"the more used host", []string{tf + "a/b", tofu + "a/b", tofu + "a/b"}, tf + "a/b", tofu + "a/b", true},
		{"a tie", []string{tf + "a/b", tofu + "a/b"}, tofu + "a/b", tofu + "a/b", true},
		{"a host of its own", []string{tf + "a/b"}, own + "a/b", own + "a/b", false},
		{"only a host of its own", []string{own + "a/b"}, tofu + "a/b", tofu + "a/b", false},
		{"older than namespaces", []string{tf + "-/b"}, tofu + "hashicorp/b", tf + "hashicorp/b", true},
		{"built in", []string{tf + "a/b"}, "terraform.io/builtin/terraform", "terraform.io/builtin/terraform", false},
	} {
		p, err := addr.ParseProvider(tt.ask)
		if err != nil {
			t.Fatal(err)
		}
		s := withProviders(t, tt.stored...)
		if got, equal := s.HostFor(p); got.String() != tt.want || equal != tt.reports {
			t.Errorf("%s: %s, %v", tt.name, got, equal)
		}
		if got, equal := (*Snapshot)(nil).HostFor(p); got != p || equal {
			t.Errorf("without a state: %s", got)
		}
		if got, equal := s.Edit().Head().HostFor(p); got.String() != tt.want || equal != tt.reports {
			t.Errorf("%s, unfinished: %s", tt.name, got)
		}
	}
}

func TestEqual(t *testing.T) {
	base := func() *Snapshot {
		s := with(t, "a.x <- b.y", "b.y <- c.z", "c.z")
		e := s.Edit()
		e.Output("o", Output{Value: markPlain(cty.StringVal("v")), Type: cty.String})
		e.Head().Lineage = "l"
		return e.Done()
	}
	x := parse(t, "a.x")
	change := func(f func(*Entry)) func(*Edit) {
		return func(e *Edit) {
			entry := *e.Get(x)
			f(&entry)
			e.Put(x, &entry)
		}
	}
	cz := target(t, "c.z").Resource()
	for _, tt := range []struct {
		name string
		edit func(*Edit)
		want bool
	}{
		{"nothing", func(*Edit) {}, true},
		{"serial", func(e *Edit) { e.Head().Serial = 9 }, true},
		{"version", func(e *Edit) { e.Head().Version = "9" }, true},
		{"white space", change(func(n *Entry) { n.Attrs = []byte("{ \"id\" :\n \"a.x \\u003c- b.y\" }") }), true},
		{"closed dependencies", change(func(n *Entry) { n.Recorded = append([]addr.Resource{cz}, n.Recorded...) }), true},
		{"removed and put back", func(e *Edit) { n := e.Get(x); e.Put(x, nil); e.Put(x, n) }, true},
		{"lineage", func(e *Edit) { e.Head().Lineage = "m" }, false},
		{"other dependencies", change(func(n *Entry) { n.Recorded = []addr.Resource{cz} }), false},
		{"attributes", change(func(n *Entry) { n.Attrs = []byte(`{"id":"b"}`) }), false},
		{"more attributes", change(func(n *Entry) { n.Attrs = []byte(`{"id":"a.x <- b.y","x":1}`) }), false},
		{"taint", change(func(n *Entry) { n.Tainted = true }), false},
		{"private", change(func(n *Entry) { n.Private = []byte("p") }), false},
		{"schema", change(func(n *Entry) { n.Schema = 2 }), false},
		{"identity", change(func(n *Entry) { n.Identity = []byte("{}") }), false},
		{"sensitive", change(func(n *Entry) { n.Sensitive = []cty.Path{cty.GetAttrPath("id")} }), false},
		{"create first", change(func(n *Entry) { n.CreateFirst = true }), false},
		{"skip destroy", change(func(n *Entry) { n.SkipDestroy = true }), false},
		{"prevent destroy", change(func(n *Entry) { n.Protected = true }), false},
		{"provider", change(func(n *Entry) { n.Provider.Alias = "x" }), false},
		{"unknown field", change(func(n *Entry) { n.Extra = []byte(`{"a":1}`) }), false},
		{"gone", func(e *Edit) { e.Put(x, nil) }, false},
		{"elsewhere", func(e *Edit) { n := e.Get(x); e.Put(x, nil); e.Put(parse(t, "a.w"), n) }, false},
		{"output", func(e *Edit) { e.Output("o", Output{Value: markPlain(cty.StringVal("w")), Type: cty.String}) }, false},
		{"output sensitive", func(e *Edit) {
			e.Output("o", Output{Value: markPlain(cty.StringVal("v")), Type: cty.String, Sensitive: true})
		}, false},
		{"output gone", func(e *Edit) { e.DropOutput("o") }, false},
		{"check", func(e *Edit) { e.Head().Checks = []Check{{Kind: "check", Addr: "check.c"}} }, false},
		{"unknown top-level field", func(e *Edit) { e.Head().Extra = []byte(`{"a":1}`) }, false},
	} {
		e := base().Edit()
		tt.edit(e)
		if got := Equal(base(), e.Done()); got != tt.want {
			t.Errorf("%s: equal is %v", tt.name, got)
		}
	}
	if !Equal(nil, &Snapshot{}) || !Equal(nil, nil) {
		t.Error("nothing is not equal to nothing")
	}
}

func TestNext(t *testing.T) {
	if _, changed := Next(nil, &Snapshot{}, "1.12.0"); changed {
		t.Error("an empty first state is written")
	}
	first, changed := Next(nil, with(t, "a.x"), "1.12.0")
	if !changed || first.Serial != 1 || len(first.Lineage) != 36 || first.Version != "1.12.0" {
		t.Errorf("first: %v %+v", changed, first)
	}
	if same, changed := Next(first, first.Edit().Done(), "1.12.1"); changed || same != first {
		t.Error("an unchanged state is written again")
	}
	var bag diag.Bag
	tainted, _ := first.Taint(parse(t, "a.x").Instance, &bag)
	second, changed := Next(first, tainted, "1.12.1")
	if !changed || second.Serial != 2 || second.Lineage != first.Lineage || second.Version != "1.12.1" {
		t.Errorf("second: %v %+v", changed, second)
	}
	if a, b := NewLineage(), NewLineage(); a == b {
		t.Error("two lineages are equal")
	}
}
