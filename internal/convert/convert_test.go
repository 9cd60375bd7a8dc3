package convert

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/convert/converttest"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"pgregory.net/rapid"
)

// TestConvertIsThatOfCty compares the conversions of this package with cty's.
func TestConvertIsThatOfCty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := converttest.Value(3).Draw(t, "value")
		want := converttest.Type(3).Draw(t, "want")
		got, err := To(v, want)
		expect, expectErr := byCty(v, want)
		if (err == nil) != (expectErr == nil) {
			t.Fatalf("%#v to %#v:\n got  %#v, %v\n want %#v, %v", v, want, got, err, expect, expectErr)
		}
		if err == nil && !(got.RawEquals(expect) || losesMarks(got, expect) || refinesNothing(got, expect)) {
			t.Fatalf("%#v to %#v:\n got  %#v\n want %#v", v, want, got, expect)
		}
	})
}

// refinesNothing reports whether two values differ only in empty refinements, which only cty's results have.
func refinesNothing(ours, theirs cty.Value) bool {
	return ours.GoString() == strings.ReplaceAll(theirs.GoString(), ".Refine().NewValue()", "")
}

// losesMarks reports whether cty lost marks of nulls in collections. Package convert keeps these marks.
func losesMarks(ours, theirs cty.Value) bool {
	a, b := mark.Split(ours), mark.Split(theirs)
	return a.Raw.RawEquals(b.Raw) && len(a.Marks) > len(b.Marks)
}

// TestUnifyIsThatOfCty compares Unify and unifyMany with cty's function UnifyUnsafe. Unify calls unifyMany only for
// many types, and the test calls it for few types, too.
func TestUnifyIsThatOfCty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		types := rapid.SliceOfN(rapid.Map(converttest.Value(3), cty.Value.Type), 1, 5).Draw(t, "types")
		expect, _ := convert.UnifyUnsafe(types)
		if got := Unify(types); got != cty.NilType && expect != cty.NilType && !got.Equals(expect) || (got == cty.NilType) != (expect == cty.NilType) {
			t.Fatalf("Unify %#v:\n got  %#v\n want %#v", types, got, expect)
		}
		ds := distinct(types)
		if len(ds) == 1 {
			return
		}
		if got := unifyMany(ds); got != cty.NilType && expect != cty.NilType && !got.Equals(expect) || (got == cty.NilType) != (expect == cty.NilType) {
			t.Fatalf("unifyMany %#v:\n got  %#v\n want %#v", ds, got, expect)
		}
	})
}

func TestDistinctTypes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		types := rapid.SliceOfN(converttest.Type(2), 0, 60).Draw(t, "types")
		ds := distinct(types)
		for _, ty := range types {
			if !slices.ContainsFunc(ds, ty.Equals) {
				t.Fatalf("%#v is not among %#v", ty, ds)
			}
		}
		for i, a := range ds {
			for _, b := range ds[:i] {
				if a.Equals(b) {
					t.Fatalf("%#v twice", a)
				}
			}
		}
	})
}

func TestConvertRefusesLongNumbers(t *testing.T) {
	huge := cty.MustParseNumberVal("1e600000000")
	for _, c := range []struct {
		v    cty.Value
		want cty.Type
	}{
		{huge, cty.String},
		{cty.NumberVal(huge.AsBigFloat().Neg(huge.AsBigFloat())), cty.String},
		{cty.MustParseNumberVal("1e-600000000"), cty.String},
		{cty.TupleVal([]cty.Value{huge}), cty.List(cty.String)},
		{cty.ObjectVal(map[string]cty.Value{"a": huge}), cty.Map(cty.String)},
	} {
		if v, err := To(c.v, c.want); err == nil {
			t.Errorf("%s: no error", fmt.Sprint(v.Type().FriendlyName()))
		}
	}
}

// TestConvertErrors checks that messages equal cty's messages, except for types that contain cty.DynamicPseudoType.
func TestConvertErrors(t *testing.T) {
	for _, c := range []struct {
		v    cty.Value
		want cty.Type
		text string
	}{
		{cty.StringVal("x"), cty.Number, "a number is required"},
		{cty.EmptyTupleVal, cty.String, "string required, but have tuple"},
		{cty.StringVal("x"), cty.List(cty.DynamicPseudoType), "list of any single type required, but have string"},
		{cty.TupleVal([]cty.Value{cty.True, cty.Zero}), cty.List(cty.DynamicPseudoType), "all list elements must have the same type"},
		{cty.TupleVal([]cty.Value{cty.True, cty.EmptyObjectVal}), cty.List(cty.Bool), "element 1: bool required, but have object"},
		{cty.EmptyObjectVal, cty.Object(map[string]cty.Type{"a": cty.Bool}), `attribute "a" is required`},
	} {
		_, err := To(c.v, c.want)
		if err == nil || err.Error() != c.text {
			t.Errorf("%#v to %s: %v, want %s", c.v, c.want.FriendlyName(), err, c.text)
		}
	}
}
