package funcs

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// object is one of many of a type, whose parts are of any kind.
func object(i int) cty.Value {
	id := cty.NumberIntVal(int64(i))
	switch {
	case i%5 == 1:
		id = mark.With(id, mark.Sensitive, nil)
	case i%5 == 2:
		id = cty.UnknownVal(cty.Number)
	case i%5 == 3:
		id = cty.NullVal(cty.Number)
	}
	v := cty.ObjectVal(map[string]cty.Value{"id": id, "tags": cty.ObjectVal(map[string]cty.Value{"a": cty.StringVal(fmt.Sprint(i))})})
	switch {
	case i%7 == 1:
		v = mark.With(v, mark.Ephemeral, nil)
	case i%7 == 2:
		v = cty.UnknownVal(v.Type())
	case i%7 == 3:
		v = cty.NullVal(v.Type())
	}
	return v
}

func types(vals []cty.Value) (distinct int) {
	var seen []cty.Type
	for _, v := range vals {
		if !slices.ContainsFunc(seen, func(t cty.Type) bool { return identical(t, v.Type()) }) {
			seen = append(seen, v.Type())
		}
	}
	return len(seen)
}

// Values stay what they are, with one type.
func TestAlike(t *testing.T) {
	var list []cty.Value
	in := map[string]cty.Value{}
	for i := range 3 * fewAlike {
		list, in[fmt.Sprint(i)] = append(list, object(i)), object(i)
		if Due(len(list)) { // as a collection that is being made
			Alike(list)
			AlikeIn(in)
		}
	}
	before, beforeIn := slices.Clone(list), maps.Clone(in)
	Alike(list)
	AlikeIn(in)
	if n, m := types(list), types(slices.Collect(maps.Values(in))); n != 1 || m != 1 {
		t.Errorf("%d and %d types", n, m)
	}
	for i, v := range list {
		if !v.RawEquals(before[i]) {
			t.Errorf("%d: %#v became %#v", i, before[i], v)
		}
	}
	for name, v := range in {
		if !v.RawEquals(beforeIn[name]) {
			t.Errorf("%s: %#v became %#v", name, beforeIn[name], v)
		}
	}
}

// What is not of one type stays as it is.
func TestNotAlike(t *testing.T) {
	deep := cty.ObjectVal(map[string]cty.Value{"a": cty.True})
	for range 64 { // its type has more parts than anybody can look at
		deep = cty.ObjectVal(map[string]cty.Value{"l": deep, "r": deep})
	}
	for name, odd := range map[string]cty.Value{
		"string": cty.StringVal("x"), "null": cty.NullVal(cty.DynamicPseudoType), "attributes": cty.EmptyObjectVal,
		"type": cty.ObjectVal(map[string]cty.Value{"id": cty.StringVal("1"), "tags": cty.EmptyObjectVal}), "large": deep,
	} {
		for _, at := range []int{0, fewAlike / 2, fewAlike} {
			list, in := make([]cty.Value, fewAlike+1), map[string]cty.Value{}
			for i := range list {
				if list[i] = object(0); i == at {
					list[i] = odd
				}
				in[fmt.Sprint(i)] = list[i]
			}
			before := slices.Clone(list)
			Alike(list)
			AlikeIn(in)
			for i, v := range list {
				if i != at && !v.RawEquals(before[i]) { // the odd one can be too large to be looked at
					t.Errorf("%s: %#v became %#v", name, before[i], v)
				}
			}
		}
	}
}
