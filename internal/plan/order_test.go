package plan

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/lethe-iac/lethe/internal/walk"
)

// sketch is a plan in the form of text, with one item per line. An up creates, updates or reads an object, and a down
// destroys or forgets it. With create-first (create_before_destroy), the down comes after the up. A hold is a provider
// or an ephemeral resource:
//
//	A replace first        an object in a separate group: create, update, read, replace, destroy,
//	                       forget, nothing, record; "first" is create-first
//	A gone first           an object that goes although its resource stays: "first" is as stored, and
//	                       "firstnow" as declared
//	A#old deposed A        a deposed object of A
//	X update via P E       works through holds, both ways; "up P" and "down P" only one way
//	X after E, X before E  a provisioner that receives E is a separate step
//	X beforeup P           an action through P; also afterup, beforedown, afterdown
//	P hold from K over V   a hold with settings from K, through hold V; "nobefore"
//	v gate                 a value
//	X -> D                 refers to, in configuration and state; "=>" configuration, "~>" state
type sketch struct {
	Input
	names  map[string]Vertex // the vertices of groups and gates, by name
	object map[string]int32  // the indexes of objects, by name
	hold   map[string]int32  // the indexes of holds, by name
	labels [2][]string       // the names of the objects (0) and of the holds (1), by index
}

func draw(text string) *sketch {
	s := &sketch{names: map[string]Vertex{}, object: map[string]int32{}, hold: map[string]int32{}}
	var lines [][]string
	for line := range strings.Lines(text) {
		if w := strings.Fields(line); len(w) > 0 {
			lines = append(lines, w)
		}
	}
	for _, w := range lines { // the first pass declares the objects
		s.declare(w)
	}
	for _, w := range lines {
		if len(w) == 2 && w[1] == "gate" {
			s.names[w[0]] = Vertex(len(s.Groups) + s.Gates)
			s.Gates++
		}
	}
	for _, w := range lines {
		s.connect(w)
	}
	s.Name = func(hold bool, i int32) string { return s.labels[bit(hold)][i] }
	return s
}

func (s *sketch) declare(w []string) {
	if len(w) < 2 {
		panic("what is " + w[0])
	}
	o := Object{Current: -1}
	switch w[1] {
	case "create", "read":
		o.Up = true
	case "update":
		o.Existed, o.Up = true, true
	case "record":
		o.Existed, o.Up, o.Still = true, true, true
	case "replace":
		o.Existed, o.Up, o.Down = true, true, true
	case "destroy", "forget", "gone":
		o.Existed, o.Down = true, true
	case "nothing":
		o.Existed = true
	case "deposed":
		o.Existed, o.Down, o.Deposed, o.Current = true, true, true, s.object[w[2]]
		o.Group = s.Objects[o.Current].Group
	case "hold":
		s.hold[w[0]] = int32(len(s.Holds))
		s.labels[1] = append(s.labels[1], w[0])
		s.Holds = append(s.Holds, Hold{})
		return
	default:
		return
	}
	first := slices.Contains(w, "first")
	if !o.Deposed {
		o.Group = Vertex(len(s.Groups))
		o.CreateFirst = first
		declared := w[1] != "destroy" && w[1] != "forget"
		s.Groups = append(s.Groups, Group{Declared: declared, CreateFirst: w[len(w)-1] == "firstnow" || first && declared && w[1] != "gone"})
		s.names[w[0]] = o.Group
	}
	s.object[w[0]] = int32(len(s.Objects))
	s.labels[0] = append(s.labels[0], w[0])
	s.Objects = append(s.Objects, o)
}

func (s *sketch) connect(w []string) {
	switch w[1] {
	case "->", "=>", "~>":
		from, to := s.vertex(w[0]), s.vertex(w[2])
		if w[1] != "~>" {
			s.Declared = append(s.Declared, Edge{From: from, To: to})
		}
		if w[1] != "=>" {
			s.Recorded = append(s.Recorded, Edge{From: from, To: to})
		}
	case "gate":
	case "hold":
		s.settings(&s.Holds[s.hold[w[0]]], w[2:])
	case "after", "before":
		x := &s.Objects[s.object[w[0]]]
		if x.Provisioners == nil {
			x.Provisioners = &Provisioners{}
		}
		list := &x.Provisioners.After
		if w[1] == "before" {
			list = &x.Provisioners.Before
		}
		*list = append(*list, s.holds(w[2:]))
	case "beforeup", "afterup", "beforedown", "afterdown":
		x := &s.Objects[s.object[w[0]]]
		if x.Provisioners == nil {
			x.Provisioners = &Provisioners{}
		}
		p := x.Provisioners
		list := map[string]*[][]int32{"beforeup": &p.BeforeUp, "afterup": &p.AfterUp, "beforedown": &p.BeforeDown, "afterdown": &p.AfterDown}[w[1]]
		*list = append(*list, s.holds(w[2:]))
	default:
		s.works(&s.Objects[s.object[w[0]]], w[2:])
	}
}

func (s *sketch) settings(h *Hold, words []string) {
	mode := ""
	for _, w := range words {
		switch {
		case w == "from", w == "over":
			mode = w
		case w == "nobefore":
			h.NoBefore = true
		case mode == "from":
			h.Settings = append(h.Settings, Ref{To: s.vertex(w)})
		default:
			h.Over = append(h.Over, s.holds([]string{w})...)
		}
	}
}

func (s *sketch) works(x *Object, words []string) {
	for i, w := range words {
		switch w {
		case "via":
			x.UpHolds = s.holds(words[i+1:])
			x.DownHolds = x.UpHolds
			return
		case "up":
			x.UpHolds = s.holds(words[i+1 : i+2])
		case "down":
			x.DownHolds = s.holds(words[i+1 : i+2])
		}
	}
}

func (s *sketch) vertex(name string) Vertex {
	v, ok := s.names[name]
	if !ok {
		panic("nothing is called " + name)
	}
	return v
}

func (s *sketch) holds(names []string) []int32 {
	out := []int32{}
	for _, n := range names {
		k, ok := s.hold[n]
		if !ok {
			panic("no hold is called " + n)
		}
		out = append(out, k)
	}
	return out
}

// TestTable checks the exact order of the steps of small plans, among them the examples in the design. Terraform and
// OpenTofu stop with a cycle at (†) and destroy through the wrong provider at (‡).
func TestTable(t *testing.T) {
	for _, c := range []struct{ what, plan, want string }{
		{"create both", "A create\nB create\nB -> A", "+A +B"},
		{"destroy both", "destroy\nA destroy\nB destroy\nB -> A", "-B -A"},
		{"replace both", "A replace\nB replace\nB -> A", "-B -A +A +B"},
		{"replace A, update B", "A replace\nB update\nB -> A", "-A +A +B"},
		{"update A, destroy B", "A update\nB destroy\nB ~> A", "-B +A"},
		{"replace both, A create-first", "A replace first\nB replace\nB -> A", "-B +A +B -A"},
		{"replace both, both create-first", "A replace first\nB replace first\nB -> A", "+A +B -B -A"},
		{"replace create-first A, update B", "A replace first\nB update\nB -> A", "+A +B -A"},
		{"destroy create-first A, update B", "A destroy first\nB update\nB ~> A", "+B -A"},
		{"X create-first, replaced, drops its reference to D; D removed (†)", "D destroy\nX replace first\nX ~> D", "+X -X -D"},
		{"create-first X removed, its dependency D replaced (†)", "D replace\nX destroy first\nX ~> D", "+D -X -D"},
		{"C destroyed, B nothing, A updated", "A update\nB nothing\nC destroy\nC ~> B\nB -> A", "-C +A"},
		{"A goes, stored create-first; B updated", "A gone first\nB update\nB ~> A", "+B -A"},
		{"A goes, declared create-first only now; B updated", "A gone firstnow\nB update\nB ~> A", "-A +B"},
		{"A goes, and its dependant is create-first only now; B updated", "A gone\nB update first\nB -> A", "-A +B"},
		{"B create-first, updated, drops its reference to A; A replaced", "A replace\nB update first\nB ~> A", "-A +A +B"},
		{"the same, but B is replaced (†)", "A replace\nB replace first\nB ~> A", "+A +B -B -A"},
		{"the same with something unchanged between them (†)", "A replace\nM nothing\nC replace first\nM -> A\nC ~> M", "+A +C -C -A"},
		{"deposed A#old, B updated", "A nothing\nB update\nA#old deposed A\nB -> A", "+B -A#old"},
		{"destroy all, provider P configured from K", "destroy\nK destroy\nX destroy via P\nP hold from K", "+P' -X -P' -K"},
		{"K replaced, P from K; X updated, Y replaced, Z removed (‡)",
			"K replace\nX update via P\nY replace via P\nZ destroy via P\nP hold from K",
			"+P' -Y -Z -P' -K +K +P +X +Y -P"},
		{"K updated, Z removed through P", "K update\nX update via P\nZ destroy via P\nP hold from K", "+P' -Z -P' +K +P +X -P"},

		{"through a value: create-first A replaced, B updated", "A replace first\nv gate\nB update\nv => A\nB => v\nB ~> A", "+A +B -A"},
		{"the same, nothing recorded", "A replace first\nv gate\nB update\nv => A\nB => v", "+A +B -A"},
		{"through a value: B destroyed, A updated", "A update\nv gate\nB replace\nv => A\nB => v", "-B +A +B"},
		{"create-first spreads through a value", "A replace\nv gate\nB replace first\nv => A\nB => v\nB ~> A", "+A +B -B -A"},
		{"create-first spreads through a hold", "K replace\nX replace first via P\nP hold from K", "+K +P +X -P +P' -X -P' -K"},
		{"K replaced create-first, P from K", "K replace first\nX update via P\nY replace first via P\nP hold from K",
			"+K +P +Y +P' -Y -P' +X -P -K"},
		{"K created: no settings before, Z goes through P after", "K create\nX create via P\nZ destroy via P\nP hold from K", "+K +P +X -Z -P"},
		{"the same closes a cycle: Z is create-first", "K create\nK => Z\nZ update\nY replace via P\nY ~> Z\nP hold from K",
			"+Z +K +P +Y -Y -P"},
		{"the state says that K depended on X: the recorded order wins", "K replace\nX destroy via P\nK ~> X\nP hold from K",
			"-K +P' -X -P' +K"},
		{"unchanged hold: one session", "X replace via P\nY update via P\nP hold", "+P -X +X +Y -P"},
		{"session over session", "K replace\nX update via P\nZ destroy via P\nE hold from K\nP hold over E",
			"+E' +P' -Z -P' -E' -K +K +E +P +X -P -E"},
		{"hold unused by what has work", "X nothing via P\nY update\nP hold", "+Y"},
		{"provisioner with a lease", "X create via P\nX after E\nX after E2\nY create via P\nY -> X\nP hold\nE hold\nE2 hold",
			"+P +X +E +X.1 -E +E2 +X.2 -E2 +Y -P"},
		{"destroy-time provisioner with a lease", "destroy\nK destroy\nX destroy via P\nX before E\nP hold\nE hold from K\nX ~> K",
			"+E' -X.1 -E' +P' -X -P' -K"},
		{"actions around a replacement", "X replace via P\nX beforeup Q\nX after E\nX afterup Q\nX beforedown Q\nX afterdown Q\nY update via P\nY -> X\nP hold\nQ hold\nE hold",
			"+Q -X!1 +P -X -X!2 +X!1 +X +E +X.1 -E +X!2 -Q +Y -P"},
		{"a record changes nothing for holds", "K record\nX destroy via P\nP hold from K", "+P -X -P +K"},
		{"recorded cycle", "A destroy\nB destroy\nC destroy\nA ~> B\nB ~> A\nC ~> A", "-C -A -B"},
	} {
		s := draw(strings.TrimPrefix(c.plan, "destroy\n"))
		s.Destroy = strings.HasPrefix(c.plan, "destroy\n")
		steps := Order(&s.Input)
		if diff := cmp.Diff(c.want, steps.String()); diff != "" {
			t.Errorf("%s: %s\n%s", c.what, diff, graphText(steps))
		}
	}
}

// TestLeases checks the steps of leases, and the steps that still run after a failure.
func TestLeases(t *testing.T) {
	s := draw(`S create
		X create via P
		X -> S
		Y create
		Y -> X
		V hold
		E hold over V
		P hold over E`)
	steps := Order(&s.Input)
	want := `+S
+X; needs +S +P
+Y; needs +X
+P late; needs +E
-P closer; waits +X +P
+E late; needs +V
-E closer; waits -P +E
+V late
-V closer; waits -E +V
`
	if diff := cmp.Diff(want, graphText(steps)); diff != "" {
		t.Error(diff)
	}
	for _, c := range []struct{ fail, want string }{
		{"", "+S +V +E +P +X -P -E -V +Y"},
		{"+S", "+S"},
		{"+X", "+S +V +E +P +X -P -E -V"},
		{"+E", "+S +V +E -E -V"},
	} {
		var log []string
		steps.Graph().Run(context.Background(), walk.RunOptions{Workers: 1, Run: func(_ context.Context, n walk.Node, _ *walk.Fan) bool {
			log = append(log, steps.Label(int(n)))
			return steps.Label(int(n)) != c.fail
		}})
		if got := strings.Join(log, " "); got != c.want {
			t.Errorf("when %q fails: got %s, want %s", c.fail, got, c.want)
		}
	}
}

func TestFirst(t *testing.T) {
	s := draw(`A replace
		v gate
		v => A
		B replace
		B => v
		C replace first
		C -> B
		D update
		D -> C
		K replace
		P hold from K
		E nothing first via P
		F destroy first
		G destroy
		F ~> G`)
	steps := Order(&s.Input)
	got := map[string]string{}
	for o, first := range steps.First {
		if first {
			got[s.labels[0][o]] = "itself"
			if g := steps.FirstFor[o]; g >= 0 {
				got[s.labels[0][o]] = s.labels[0][g] // the groups of this test have one object each, so the indexes are equal
			}
		}
	}
	want := map[string]string{"A": "C", "B": "C", "C": "itself", "K": "E", "F": "itself", "G": "F"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestFallback(t *testing.T) {
	s := draw("K create\nK => Z\nZ update\nY replace via P\nY ~> Z\nP hold from K")
	if steps := Order(&s.Input); !steps.First[2] || steps.FirstFor[2] != -1 {
		t.Errorf("Y is create-first because P has no settings before: %v, %v", steps.First, steps.FirstFor)
	}
}

func TestRecordedCycles(t *testing.T) {
	s := draw("A destroy\nB destroy\nC destroy\nD update\nE update\nA ~> B\nB ~> A\nC ~> A\nD ~> D\nE ~> D")
	if diff := cmp.Diff([][]Vertex{{0, 1}, {3}}, Order(&s.Input).Cyclic); diff != "" {
		t.Error(diff)
	}
}

// Objects that do not refer to each other are not ordered. An order would make them run one after the other, and a
// failure of one would stop the other.
func TestUnordered(t *testing.T) {
	two := func(o Object) []Object { // two returns the instances 0 and 1 of a group
		p := o
		p.Key = 1
		return []Object{o, p}
	}
	replace := Object{Existed: true, Up: true, Down: true, Current: -1}
	create := Object{Up: true, Current: -1}
	inGroup := func(g Vertex, os []Object) []Object {
		for i := range os {
			os[i].Group = g
		}
		return os
	}
	siblings := draw("B nothing\nC destroy\nD update\nC ~> B\nD -> B").Input
	brothers := draw("V gate\nA replace\nB replace\nA => V\nB => V").Input
	for _, c := range []struct {
		what  string
		in    Input
		pairs []string
	}{
		{"users of an unchanged thing", siblings, []string{"-C +D"}},
		{"users of a value", brothers, []string{"-A +B", "-B +A"}},
		{"instances of one resource", Input{Groups: []Group{{Declared: true}}, Objects: inGroup(0, two(replace))},
			[]string{"-0 +1", "-1 +0"}},
		{"a[count.index]", Input{Groups: []Group{{Declared: true}, {Declared: true}},
			Objects:  append(inGroup(0, two(create)), inGroup(1, two(create))...),
			Declared: []Edge{{1, 0, Same}}}, []string{"+0 +3", "+1 +2"}},
		{"a[1]", Input{Groups: []Group{{Declared: true}, {Declared: true}},
			Objects:  append(inGroup(0, two(create)), inGroup(1, two(create))...),
			Declared: []Edge{{1, 0, Only(1)}}}, []string{"+0 +2", "+0 +3"}},
	} {
		s := Order(&c.in)
		v := &verifier{in: &c.in, s: s}
		v.close()
		for _, pair := range c.pairs {
			at := map[string]int{}
			for i := range s.List {
				at[s.Label(i)] = i
			}
			a, b, _ := strings.Cut(pair, " ")
			if v.done(at[a], at[b]) || v.done(at[b], at[a]) {
				t.Errorf("%s: %s and %s are ordered:\n%s", c.what, a, b, graphText(s))
			}
		}
	}
}

func (f Face) String() string { return [...]string{"before", "after"}[f] }

// Edges returns the predecessors of a step: needs must succeed before it, waits must only end before it.
func (s *Steps) Edges(step int) (needs, waits []int) {
	for _, d := range s.deps[s.start[step]:s.start[step+1]] {
		if d&1 != 0 {
			needs = append(needs, int(d>>1))
		} else {
			waits = append(waits, int(d>>1))
		}
	}
	return needs, waits
}

// String returns the order in which a single worker runs the steps, such as "+P' -X -P' -K": + begins or creates, -
// ends or destroys.
func (s *Steps) String() string {
	var names []string
	s.Graph().Run(context.Background(), walk.RunOptions{Workers: 1, Run: func(_ context.Context, n walk.Node, _ *walk.Fan) bool {
		names = append(names, s.Label(int(n)))
		return true
	}})
	return strings.Join(names, " ")
}

// graphText lists the steps of s with the predecessors of each step.
func graphText(s *Steps) string {
	return s.Graph().Text(func(n walk.Node) string { return s.Label(int(n)) })
}
