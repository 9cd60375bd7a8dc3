package plan

import (
	"fmt"
	"math/rand"
	"os"
	"slices"
	"strconv"
	"testing"
)

// plans returns the number of random plans in a test run: LETHE_TEST_PLANS, or 20,000 if it is not set.
func plans(t *testing.T) int {
	s := os.Getenv("LETHE_TEST_PLANS")
	if s == "" {
		return 20000
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestRandomPlans orders random plans and verifies the rules that users may rely on. The plans have stale and even
// cyclic dependencies in the state, values (locals, outputs), and holds (providers, leases) that need other holds. The
// verifier (verify_test.go) shares no code with Order.
func TestRandomPlans(t *testing.T) {
	count := struct{ plans, steps, fallback, cyclic, soft, two int }{}
	n := plans(t)
	for seed := range int64(n) {
		in := randomPlan(rand.New(rand.NewSource(seed)))
		steps := Order(in)
		v := verify(in, steps)
		if v.wrong != nil {
			t.Fatalf("seed %d: %v\n%s", seed, v.wrong, graphText(steps))
		}
		count.plans++
		count.steps += len(steps.List)
		count.fallback += bit(v.fallback)
		count.cyclic += bit(steps.Cyclic != nil)
		count.soft += bit(v.contradicted > 0)
		count.two += bit(v.twoSessions)
	}
	t.Logf("%+v", count)
	if n >= 2000 && (count.fallback == 0 || count.cyclic == 0 || count.soft == 0 || count.two < n/40) {
		t.Errorf("the random plans have become too tame: %+v", count)
	}
}

// item is a group (resource), value or hold (provider or lease) of a random configuration. It refers to earlier items
// only.
type item struct {
	vertex Vertex // the vertex of a group or value
	hold   int32  // the index of a hold
	kind   int    // 0 group, 1 value, 2 hold
}

// dice draws a random plan.
type dice struct {
	*rand.Rand
	in    *Input
	items []item // the drawn items; the references of an item lead to earlier items
	stale bool   // references in the state may have the opposite direction of references in the configuration, and may form cycles
}

func (d *dice) in1(n int) bool { return d.Intn(n) == 0 }

func randomPlan(r *rand.Rand) *Input {
	d := &dice{Rand: r, in: &Input{Destroy: r.Intn(6) == 0}, stale: r.Intn(2) == 0}
	values := 0
	n := 3 + d.Intn(9)
	if d.in1(6) {
		n += d.Intn(16)
	}
	for ; n > 0; n-- {
		switch k := d.Intn(8); {
		case k < 4:
			d.group()
		case k < 6:
			values++
			d.items = append(d.items, item{kind: 1, vertex: -Vertex(values)})
		default:
			d.hold()
		}
	}
	if !d.in.Destroy && d.in1(3) {
		d.last()
	}
	groups := len(d.in.Groups)
	d.in.Gates = values
	fix := func(v Vertex) Vertex { // fix computes the final vertex: values come after groups, whose number is known only now
		if v < 0 {
			return Vertex(groups) - v - 1
		}
		return v
	}
	for i := range d.items {
		d.items[i].vertex = fix(d.items[i].vertex)
	}
	d.references()
	d.recordedGates()
	d.in.Name = func(hold bool, i int32) string {
		if hold {
			return fmt.Sprintf("H%d", i)
		}
		x := &d.in.Objects[i]
		return fmt.Sprintf("%c%d_%d", 'A'+rune(x.Group), x.Key, i)
	}
	return d.in
}

func (d *dice) group() {
	g := Vertex(len(d.in.Groups))
	declared := d.in.Destroy || !d.in1(5)
	d.in.Groups = append(d.in.Groups, Group{Declared: declared, CreateFirst: d.in1(5), Reads: d.in1(6)})
	d.items = append(d.items, item{vertex: g})
	for key := range int32([]int{0, 1, 1, 1, 1, 2, 3}[d.Intn(7)]) {
		d.object(g, key, declared)
	}
}

// last adds a group of data sources in a check block, to which no other item refers.
func (d *dice) last() {
	g := Vertex(len(d.in.Groups))
	d.in.Groups = append(d.in.Groups, Group{Declared: true, Last: true})
	d.items = append(d.items, item{vertex: g})
	for key := range int32(1 + d.Intn(2)) {
		d.in.Objects = append(d.in.Objects, Object{Group: g, Key: key, Current: -1, Existed: d.in1(2), Up: true})
	}
}

func (d *dice) object(g Vertex, key int32, declared bool) {
	o := Object{Group: g, Key: key, Current: -1, CreateFirst: d.in1(6)}
	switch a := d.Intn(8); {
	case d.in.Destroy:
		o.Existed, o.Down = true, true
	case !declared:
		o.Existed, o.Down = true, !d.in1(8)
	case a < 2:
		o.Existed = true
	case a < 3:
		o.Up = true
	case a < 4:
		o.Existed, o.Up, o.Still = true, true, d.in1(4)
	case a < 7:
		o.Existed, o.Up, o.Down = true, true, true
	default:
		o.Existed, o.Down = true, true // an object that only the state has
	}
	if d.in1(10) {
		o.Provisioners = &Provisioners{After: make([][]int32, d.Intn(3)), Before: make([][]int32, d.Intn(2))}
	}
	d.in.Objects = append(d.in.Objects, o)
	if o.Existed && d.in1(8) {
		current := int32(len(d.in.Objects) - 1)
		d.in.Objects = append(d.in.Objects, Object{Group: g, Key: key, Deposed: true, Current: current, Existed: true, Down: true})
	}
}

func (d *dice) hold() {
	k := int32(len(d.in.Holds))
	h := Hold{NoBefore: d.in1(12)}
	for _, it := range d.items {
		if it.kind == 2 && d.in1(3) {
			h.Over = append(h.Over, it.hold)
		}
	}
	d.in.Holds = append(d.in.Holds, h)
	d.items = append(d.items, item{kind: 2, hold: k})
}

// references adds random references between items, in the configuration and in the state.
func (d *dice) references() {
	for i, it := range d.items {
		earlier := d.items[:i]
		switch it.kind {
		case 2:
			for _, e := range earlier {
				if e.kind < 2 && d.in1(3) {
					d.in.Holds[it.hold].Settings = append(d.in.Holds[it.hold].Settings, Ref{e.vertex, d.at(e.vertex)})
				}
			}
		default:
			d.refers(it, earlier)
		}
	}
	rank := d.Perm(len(d.in.Groups)) // the order of groups for references in the state, which may have the opposite direction
	for g := range d.in.Groups {
		for h := range d.in.Groups {
			if d.in.Groups[g].Last || d.in.Groups[h].Last {
				continue
			}
			older := h < g
			if d.stale {
				older = rank[h] < rank[g]
			}
			if (older || d.stale && d.in1(30)) && d.in1(4) && !d.recorded(g, h) {
				d.in.Recorded = append(d.in.Recorded, Edge{From: Vertex(g), To: Vertex(h)})
			}
		}
	}
}

func (d *dice) recorded(g, h int) bool {
	return slices.Contains(d.in.Recorded, Edge{From: Vertex(g), To: Vertex(h)})
}

func (d *dice) refers(it item, earlier []item) {
	group := it.kind == 0
	for _, e := range earlier {
		if e.kind == 2 || !d.in1(3) || group && !d.in.Groups[it.vertex].Declared || e.kind == 0 && !d.in.Groups[e.vertex].Declared {
			continue
		}
		d.in.Declared = append(d.in.Declared, Edge{it.vertex, e.vertex, d.at(e.vertex)})
		if group && e.kind == 0 && !d.in.Groups[it.vertex].Last && !d.in1(4) {
			d.in.Recorded = append(d.in.Recorded, Edge{From: it.vertex, To: e.vertex})
		}
	}
	if !group {
		return
	}
	for o := range d.in.Objects {
		if x := &d.in.Objects[o]; x.Group == it.vertex {
			d.works(x, earlier)
		}
	}
}

func (d *dice) at(v Vertex) At {
	switch {
	case int(v) >= len(d.in.Groups) || d.Intn(3) > 0:
		return All
	case d.in1(2):
		return Same
	}
	return Only(int32(d.Intn(3)))
}

func (d *dice) works(x *Object, earlier []item) {
	pick := func() []int32 {
		var ks []int32
		for _, e := range earlier {
			if e.kind == 2 && d.in1(3) {
				ks = append(ks, e.hold)
			}
		}
		return ks
	}
	x.UpHolds = pick()
	x.DownHolds = x.UpHolds
	if d.in1(4) {
		x.DownHolds = pick()
	}
	if p := x.Provisioners; p != nil {
		for i := range p.After {
			p.After[i] = pick()
		}
		for i := range p.Before {
			p.Before[i] = pick()
		}
	}
}

// recordedGates replaces some dependencies in the state by a path through a gate (a vertex without objects).
func (d *dice) recordedGates() {
	var out []Edge
	for _, e := range d.in.Recorded {
		if !d.in1(6) {
			out = append(out, e)
			continue
		}
		v := Vertex(len(d.in.Groups) + d.in.Gates)
		d.in.Gates++
		out = append(out, Edge{From: e.From, To: v}, Edge{From: v, To: e.To})
	}
	d.in.Recorded = out
}
