package plan

import (
	"fmt"
	"testing"
)

// shape returns the input of Order for n objects in groups (resources). A tenth of the objects are alone in their
// groups, which refer to three earlier groups each. The rest are instances of a few groups, which refer to each other
// at the same index. All objects except the first use one provider (a hold), whose settings refer to the first object.
// The function what sets the changes of each object.
func shape(n int, what func(o *Object)) *Input {
	in := &Input{Holds: []Hold{{Settings: []Ref{{To: 0}}}}}
	provider := []int32{0}
	add := func(g Vertex, key int32) {
		o := Object{Group: g, Key: key, Current: -1}
		what(&o)
		if len(in.Objects) > 0 {
			o.UpHolds, o.DownHolds = provider, provider
		}
		in.Objects = append(in.Objects, o)
	}
	refer := func(from, to int, at At) {
		in.Declared = append(in.Declared, Edge{Vertex(from), Vertex(to), at})
		in.Recorded = append(in.Recorded, Edge{From: Vertex(from), To: Vertex(to)})
	}
	group := func() int {
		in.Groups = append(in.Groups, Group{Declared: true})
		return len(in.Groups) - 1
	}
	for i := range n / 10 {
		g := group()
		add(Vertex(g), 0)
		for k := range 3 {
			if to := g - 1 - (i*7919+k*104729)%500; to > 0 {
				refer(g, to, All)
			}
		}
	}
	for last := 0; len(in.Objects) < n; {
		g := group()
		for key := range n / 20 {
			add(Vertex(g), int32(key))
		}
		if last > 0 {
			refer(g, last, Same)
		}
		last = g
	}
	return in
}

func BenchmarkOrder(b *testing.B) {
	for _, s := range []struct {
		name string
		what func(o *Object)
	}{
		{"create", func(o *Object) { o.Up = true }},
		{"destroy", func(o *Object) { o.Existed, o.Down = true, true }},
		{"replace", func(o *Object) { o.Existed, o.Up, o.Down = true, true, true }},
		{"one update", func(o *Object) { o.Existed, o.Up = true, o.Key == 7 }},
		{"nothing", func(o *Object) { o.Existed = true }},
	} {
		for _, n := range []int{10_000, 100_000} {
			in := shape(n, s.what)
			in.Destroy = s.name == "destroy"
			b.Run(fmt.Sprintf("%s/objects=%d", s.name, n), func(b *testing.B) {
				b.ReportAllocs()
				steps := 0
				for b.Loop() {
					steps = len(Order(in).List)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/object")
				b.ReportMetric(float64(steps), "steps")
			})
		}
	}
}

// TestLinear compares the numbers of steps and edges for 100 and 1,000 instances. They must grow linearly if the
// instances of one group refer to instances in another group, through a value or not.
func TestLinear(t *testing.T) {
	for _, values := range []bool{false, true} {
		for _, at := range []At{All, Same} {
			size := func(n int32) int {
				in := &Input{Groups: []Group{{Declared: true}, {Declared: true}, {Declared: true}}, Gates: 1}
				for g := range Vertex(3) {
					for k := range n {
						in.Objects = append(in.Objects, Object{Group: g, Key: k, Current: -1, Existed: true, Up: true, Down: k%2 == 0})
					}
				}
				in.Declared = []Edge{{1, 0, at}, {2, 1, All}}
				if values {
					in.Declared = []Edge{{1, 3, All}, {3, 0, All}, {2, 1, at}}
				}
				in.Recorded = []Edge{{From: 1, To: 0}, {From: 2, To: 1}}
				s := Order(in)
				return len(s.List) + len(s.deps)
			}
			if small, large := size(100), size(1000); large > 11*small {
				t.Errorf("ten times the objects are %d steps and edges instead of %d", large, small)
			}
		}
	}
}
