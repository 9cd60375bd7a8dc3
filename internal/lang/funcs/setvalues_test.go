package funcs

import (
	"testing"

	"github.com/zclconf/go-cty/cty"
	"pgregory.net/rapid"
)

// The elements come out in cty's order, or jsonencode of a set would be another text than it was.
func TestSetElements(t *testing.T) {
	if !layout.ok {
		t.Fatal("package cty keeps its sets elsewhere now: see findLayout")
	}
	rapid.Check(t, func(t *rapid.T) {
		v, err := Convert(cty.TupleVal(rapid.SliceOfN(genValue(2), 1, 12).Draw(t, "elements")), anySet)
		if err != nil || v.IsMarked() {
			return
		}
		got, want := SetElements(v), v.AsValueSlice()
		for i := range want {
			if len(got) != len(want) || !got[i].RawEquals(want[i]) {
				t.Fatalf("got  %#v\nwant %#v", got, want)
			}
		}
		if open(v) != !v.IsWhollyKnown() {
			t.Fatalf("open(%#v)", v)
		}
		if sized(v) != v.Length().IsKnown() {
			t.Fatalf("sized(%#v)", v)
		}
		for _, e := range want {
			if e.IsWhollyKnown() && !has(v, e) {
				t.Fatalf("%#v does not have %#v", v, e)
			}
		}
		other := genKnown(1).Draw(t, "other")
		if !open(v) && other.Type().Equals(v.Type().ElementType()) && has(v, other) != v.HasElement(other).True() {
			t.Fatalf("%#v has %#v", v, other)
		}
	})
}

// Everything works without looking into cty's fields, too.
func TestSetElementsTheSlowWay(t *testing.T) {
	was := layout
	defer func() { layout = was }()
	layout.ok = false
	ctx := peerContext(t)
	for expr, want := range map[string]string{
		`join(",", toset(["b", "a"]))`: `"a,b"`, `contains(toset(["b", "a"]), "a")`: "true", `contains(toset(["b", "a"]), "c")`: "false",
		`jsonencode(setunion([{a = 2}], [{a = 1}]))`: `"[{\"a\":1},{\"a\":2}]"`, `length(toset([local.us, "a"])) > 3`: "false",
	} {
		v, diags := eval(ctx, expr)
		if diags.HasErrors() || consoleText(v) != want {
			t.Errorf("%s: %s %v", expr, consoleText(v), diags)
		}
	}
}
