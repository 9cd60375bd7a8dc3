package mark

import (
	"fmt"
	"slices"
	"testing"

	"github.com/zclconf/go-cty/cty"
	"pgregory.net/rapid"
)

func TestJoinTwoTagsAtOnePath(t *testing.T) {
	why := &Origin{What: "var.e"}
	in := Value{
		Raw: cty.ObjectVal(map[string]cty.Value{"a": cty.ListVal([]cty.Value{cty.StringVal("x"), cty.StringVal("y")}), "b": cty.True}),
		Marks: []At{
			{Path: cty.GetAttrPath("a").IndexInt(1), Tag: Sensitive},
			{Path: cty.GetAttrPath("a").IndexInt(1), Tag: Ephemeral, Why: why},
			{Path: cty.GetAttrPath("b"), Tag: Ephemeral, Why: why},
		},
	}
	joined := in.Join()
	e := joined.GetAttr("a").Index(cty.NumberIntVal(1))
	if !Is(e, Sensitive) || !Is(e, Ephemeral) {
		t.Errorf("a[1] = %#v, and was to have both marks", e)
	}
	if first := joined.GetAttr("a").Index(cty.Zero); first.IsMarked() {
		t.Errorf("a[0] = %#v, and was to have no mark", first)
	}
	out := Split(joined)
	if !out.Raw.RawEquals(in.Raw) || len(out.Marks) != len(in.Marks) {
		t.Fatalf("split again: %v, want %v", out, in)
	}
	for i, m := range in.Marks {
		if got := out.Marks[i]; !got.Path.Equals(m.Path) || got.Tag != m.Tag || got.Why != m.Why {
			t.Errorf("split again: mark %d is %v, want %v", i, got, m)
		}
	}
}

// TestJoinElsewhere checks that a mark is kept if the value has nothing at its path.
func TestJoinElsewhere(t *testing.T) {
	paths := []cty.Path{cty.GetAttrPath("nosuch"), cty.GetAttrPath("l").IndexInt(7), cty.GetAttrPath("s").Index(cty.StringVal("x")), cty.GetAttrPath("u").GetAttr("deep"), cty.GetAttrPath("n").IndexInt(0)}
	raw := cty.ObjectVal(map[string]cty.Value{
		"l": cty.ListValEmpty(cty.String), "s": cty.SetVal([]cty.Value{cty.StringVal("x")}), "u": cty.UnknownVal(cty.DynamicPseudoType), "n": cty.NullVal(cty.List(cty.String)),
	})
	for _, p := range paths {
		if v := (Value{Raw: raw, Marks: []At{{Path: p, Tag: Sensitive}}}).Join(); !Anywhere(v, Sensitive) {
			t.Errorf("the mark at %s is lost", PathString(p))
		}
	}
}

// TestSplitJoin checks that Join restores the value that Split has separated.
func TestSplitJoin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := anyValue(t, 3)
		if back := Split(v).Join(); !back.RawEquals(v) {
			t.Fatalf("got %#v\nwant %#v", back, v)
		}
	})
}

// anyValue draws a value that contains marks. Marks of elements of a set are marks of the set.
func anyValue(t *rapid.T, depth int) cty.Value {
	var v cty.Value
	switch k := rapid.IntRange(0, 5).Draw(t, "kind"); {
	case depth == 0 || k == 0:
		v = cty.StringVal(rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "text"))
	case k == 1:
		v = cty.UnknownVal(cty.Number)
	case k == 2:
		v = cty.TupleVal(several(t, depth))
	case k == 3:
		vals := map[string]cty.Value{}
		for i, e := range several(t, depth) {
			vals[fmt.Sprint("k", i)] = e
		}
		v = cty.ObjectVal(vals)
	case k == 4:
		v = cty.ListVal([]cty.Value{marked(t, cty.StringVal("x")), marked(t, cty.StringVal("y"))})
	default:
		v = cty.SetVal([]cty.Value{cty.StringVal("x"), cty.StringVal("y")})
	}
	return marked(t, v)
}

func several(t *rapid.T, depth int) []cty.Value {
	vals := make([]cty.Value, rapid.IntRange(0, 3).Draw(t, "length"))
	for i := range vals {
		vals[i] = anyValue(t, depth-1)
	}
	return vals
}

func marked(t *rapid.T, v cty.Value) cty.Value {
	m := rapid.IntRange(0, 3).Draw(t, "marks")
	if m&1 != 0 {
		v = With(v, Sensitive, nil)
	}
	if m&2 != 0 {
		v = With(v, Ephemeral, nil)
	}
	return v
}

func TestBareDeep(t *testing.T) {
	v := cty.TupleVal([]cty.Value{With(cty.StringVal("a"), Sensitive, nil), cty.TupleVal([]cty.Value{With(cty.True, Ephemeral, nil)})})
	unmarked, remark := UnmarkDeep(v)
	if unmarked.ContainsMarked() {
		t.Errorf("%#v has marks", unmarked)
	}
	if r := remark(cty.True); !Is(r, Sensitive) || !Is(r, Ephemeral) {
		t.Errorf("%#v was to have both marks", r)
	}
	if _, remark := UnmarkDeep(cty.True); remark(cty.False).IsMarked() {
		t.Error("a mark from nowhere")
	}
}

// TestJoinIsLinear compares the allocations for two sizes, because time is unreliable on a busy machine.
func TestJoinIsLinear(t *testing.T) {
	work := func(n int) float64 {
		vals := make([]cty.Value, n)
		marks := make([]At, n)
		for i := range n {
			vals[i], marks[i] = cty.NumberIntVal(int64(i)), At{Path: cty.IndexIntPath(i), Tag: Sensitive}
		}
		v := Value{Raw: cty.TupleVal(vals), Marks: marks}
		return testing.AllocsPerRun(2, func() { v.Join() })
	}
	small, large := work(1000), work(10_000)
	if large > 15*small {
		t.Errorf("ten times the size takes %.0f instead of %.0f allocations", large, small)
	}
}

func BenchmarkJoin(b *testing.B) {
	for _, n := range []int{1000, 50_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			vals := make([]cty.Value, n)
			for i := range n {
				vals[i] = With(cty.NumberIntVal(int64(i)), Sensitive, nil)
			}
			v := Split(cty.TupleVal(vals))
			for b.Loop() {
				v.Join()
			}
		})
	}
}

// TestJoinRisesFromBelow checks that a mark rises if it is below a key or an index that the value does not have.
func TestJoinRisesFromBelow(t *testing.T) {
	x := cty.ObjectVal(map[string]cty.Value{"x": cty.StringVal("s"), "y": cty.TupleVal([]cty.Value{cty.True})})
	for name, raw := range map[string]cty.Value{
		"map": cty.MapVal(map[string]cty.Value{"b": x}), "object": cty.ObjectVal(map[string]cty.Value{"b": x}),
		"list": cty.ListVal([]cty.Value{x}), "tuple": cty.TupleVal([]cty.Value{x}),
		"empty map": cty.MapValEmpty(x.Type()), "empty list": cty.ListValEmpty(x.Type()),
	} {
		for _, at := range []cty.Path{
			cty.IndexStringPath("a"), cty.IndexStringPath("a").GetAttr("x"), cty.IndexStringPath("a").GetAttr("y").IndexInt(0),
			cty.IndexIntPath(3), cty.IndexIntPath(3).GetAttr("x"), cty.IndexIntPath(3).GetAttr("y").IndexInt(0), cty.GetAttrPath("a").GetAttr("x").GetAttr("z"),
		} {
			v := Value{Raw: raw, Marks: []At{{Path: at, Tag: Sensitive}}}.Join()
			if !Is(v, Sensitive) {
				t.Errorf("%s: the mark at %s is lost: %#v", name, PathString(at), v)
			}
		}
	}
}

// TestUnion checks that a list has at most one mark for each path and tag, with all kinds of steps.
func TestUnion(t *testing.T) {
	member := cty.ObjectVal(map[string]cty.Value{"a": cty.StringVal("x")})
	paths := []cty.Path{
		nil, cty.GetAttrPath("a"), cty.GetAttrPath("ab"), cty.GetAttrPath("a").GetAttr("b"), cty.IndexStringPath("a"), cty.IndexStringPath("1"), cty.IndexIntPath(1),
		cty.GetAttrPath("s").Index(member), cty.GetAttrPath("s").Index(cty.StringVal("x")), cty.GetAttrPath("s").Index(cty.NumberFloatVal(1.5)), cty.GetAttrPath("s").Index(cty.NumberFloatVal(-1)),
	}
	var all []At
	for _, p := range paths {
		all = append(all, At{Path: p, Tag: Sensitive}, At{Path: p, Tag: Ephemeral})
	}
	if got := Union(nil, append(all, all...)); len(got) != len(all) {
		t.Errorf("%d marks, want %d", len(got), len(all))
	}
	if got := Union(all[:5], all); len(got) != len(all) || got[4].Path.Equals(got[5].Path) && got[4].Tag == got[5].Tag {
		t.Errorf("%d marks, want %d", len(got), len(all))
	}
}

// TestCarryIsLinear compares the allocations for two sizes, because time is unreliable on a busy machine.
func TestCarryIsLinear(t *testing.T) {
	shapes := map[string]func(n int) (cty.Value, func(int) cty.Path){
		"list": func(n int) (cty.Value, func(int) cty.Path) {
			vals := make([]cty.Value, n)
			for i := range vals {
				vals[i] = cty.NumberIntVal(int64(i))
			}
			return cty.ListVal(vals), cty.IndexIntPath
		},
		"map": func(n int) (cty.Value, func(int) cty.Path) {
			vals := make(map[string]cty.Value, n)
			for i := range n {
				vals[fmt.Sprint(i)] = cty.NumberIntVal(int64(i))
			}
			return cty.MapVal(vals), func(i int) cty.Path { return cty.IndexStringPath(fmt.Sprint(i)) }
		},
	}
	for name, shape := range shapes {
		work := func(n int) float64 {
			raw, at := shape(n)
			v := Value{Raw: raw}
			for i := range n {
				v.Marks = append(v.Marks, At{Path: at(i), Tag: Sensitive})
			}
			if got := Carry(v, raw); len(got) != n || len(got[n-1].Path) != 1 {
				t.Fatalf("%s: %d marks are left of %d", name, len(got), n)
			}
			return testing.AllocsPerRun(2, func() { Carry(v, raw) })
		}
		small, large := work(500), work(5000)
		if large > 15*small {
			t.Errorf("%s: ten times the size takes %.0f instead of %.0f allocations", name, large, small)
		}
	}
}

// TestPlaces checks that Touch finds marks at a path, above it and below it.
func TestPlaces(t *testing.T) {
	p := NewPlaces([]At{{Path: cty.GetAttrPath("a").IndexInt(1), Tag: Sensitive}, {Path: cty.GetAttrPath("b"), Tag: Ephemeral}})
	for _, c := range []struct {
		path                 cty.Path
		sensitive, ephemeral bool
	}{
		{nil, true, true},
		{cty.GetAttrPath("a"), true, false},
		{cty.GetAttrPath("a").IndexInt(1), true, false},
		{cty.GetAttrPath("a").IndexInt(1).GetAttr("x"), true, false},
		{cty.GetAttrPath("a").IndexInt(11), false, false},
		{cty.GetAttrPath("ab"), false, false},
		{cty.GetAttrPath("b").IndexString("x"), false, true},
	} {
		if s, e := p.Touch(c.path, Sensitive), p.Touch(c.path, Ephemeral); s != c.sensitive || e != c.ephemeral {
			t.Errorf("%s: sensitive %v, ephemeral %v", PathString(c.path), s, e)
		}
	}
}

func TestSamePaths(t *testing.T) {
	a, b, c := cty.GetAttrPath("a"), cty.GetAttrPath("b"), cty.GetAttrPath("a").IndexInt(0)
	for _, x := range []struct {
		a, b []cty.Path
		same bool
	}{
		{nil, nil, true},
		{[]cty.Path{a, b, c}, []cty.Path{c, a, b}, true},
		{[]cty.Path{a, b}, []cty.Path{a, c}, false},
		{[]cty.Path{a}, []cty.Path{a, b}, false},
		{[]cty.Path{a}, nil, false},
	} {
		if got := SamePaths(x.a, x.b); got != x.same {
			t.Errorf("%v %v: %v", x.a, x.b, got)
		}
	}
}

// TestUnionShares checks that two unions of one list do not share the memory behind its elements.
func TestUnionShares(t *testing.T) {
	at := func(name string) []At { return SensitiveAt([]cty.Path{cty.GetAttrPath(name)}) }
	list := append(make([]At, 0, 4), at("a")...)
	x, y := Union(list, at("x")), Union(list, at("y"))
	if !x[1].Path.Equals(cty.GetAttrPath("x")) || !y[1].Path.Equals(cty.GetAttrPath("y")) {
		t.Errorf("%v, %v", x, y)
	}
}

// TestUnionPieces checks that the union of two marks at one path has the pieces of both, and that neither list changes.
func TestUnionPieces(t *testing.T) {
	piece := func(text string) At {
		m, _ := Split(Piece(With(cty.StringVal(text), Sensitive, nil))).Find(Sensitive)
		return m
	}
	a, b := []At{piece("first piece")}, []At{piece("second piece"), piece("third piece")}
	for i, got := range [][]At{Union(a, b), Union(nil, append(slices.Clone(b), a...))} {
		var texts []string
		for _, m := range got {
			m.Pieces.Each(func(text string) { texts = append(texts, text) })
		}
		if len(got) != 1 || len(texts) != 3 {
			t.Errorf("%d: %d marks with the pieces %q", i, len(got), texts)
		}
	}
	if a[0].Pieces.a != nil || a[0].Pieces.b != nil {
		t.Error("a list has changed")
	}
}
