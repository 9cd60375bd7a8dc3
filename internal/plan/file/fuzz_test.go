package file

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/zclconf/go-cty/cty"
	"pgregory.net/rapid"
)

// FuzzBody reads bodies and values of plans. A body that can be read can be written, and the written body reads as an
// equal plan.
func FuzzBody(f *testing.F) {
	c := full(f)
	encode := func(p *plan.Plan) (body, values []byte, err error) {
		var b bytes.Buffer
		parts, err := encode(&b, p)
		return b.Bytes(), bytes.Join(parts, nil), err
	}
	body, values, err := encode(c.Plan)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(body, values)
	f.Add(body[:len(body)/2], values)
	f.Add(body, values[1:])
	empty, _, _ := encode(&plan.Plan{})
	f.Add(empty, values)
	f.Fuzz(func(t *testing.T, body, values []byte) {
		p := &plan.Plan{Previous: c.Plan.Previous, Refreshed: c.Plan.Refreshed}
		if decode(body, values, p) != nil {
			return
		}
		once, had, err := encode(p)
		if err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		q := &plan.Plan{Previous: c.Plan.Previous, Refreshed: c.Plan.Refreshed}
		if err := decode(once, had, q); err != nil {
			t.Fatalf("what was written cannot be read: %v", err)
		}
		if twice, have, _ := encode(q); !bytes.Equal(once, twice) || !bytes.Equal(had, have) {
			t.Fatalf("written differently:\n%s", cmp.Diff(p, q, same))
		}
	})
}

// FuzzRead reads whole plan files: the data itself, and a correctly sealed archive whose member tfplan is the data.
func FuzzRead(f *testing.F) {
	f.Add(write(f, full(f)))
	f.Add(sealed(f, member{"tfplan", firstLine("1.12.0")}))
	f.Add([]byte("PK\x03\x04"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, data := range [][]byte{data, sealed(t, member{"tfplan", string(data)})} {
			var bag diag.Bag
			c, ok := Read("a.plan", data, nil, &bag)
			if ok != (c != nil) || ok == bag.HasErrors() {
				t.Fatalf("result and errors do not agree: %v, %v", c, bag.List())
			}
		}
	})
}

// TestValues writes random values of random types and reads them back.
func TestValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := randomValue(t, randomType(t, 3))
		w := &encoder{number: map[string]int{}}
		written := w.raw("x", v)
		if w.err != nil {
			t.Fatal(w.err)
		}
		r := &decoder{values: bytes.Join(w.values, nil)}
		if back := r.raw(written); r.err != nil || !back.RawEquals(v) {
			t.Fatalf("%#v came back as %#v, %v", v, back, r.err)
		}
	})
}

func randomType(t *rapid.T, depth int) cty.Type {
	k := rapid.IntRange(0, 8).Draw(t, "kind")
	if depth == 0 {
		k %= 3
	}
	switch k {
	case 0:
		return cty.String
	case 1:
		return cty.Number
	case 2:
		return cty.Bool
	case 3:
		return cty.List(randomType(t, depth-1))
	case 4:
		return cty.Set(randomType(t, depth-1))
	case 5:
		return cty.Map(randomType(t, depth-1))
	case 6:
		parts := make([]cty.Type, rapid.IntRange(0, 3).Draw(t, "parts"))
		for i := range parts {
			parts[i] = randomType(t, depth-1)
		}
		return cty.Tuple(parts)
	case 7:
		return cty.DynamicPseudoType
	}
	attrs := map[string]cty.Type{}
	for range rapid.IntRange(0, 3).Draw(t, "attrs") {
		attrs[rapid.SampledFrom([]string{"a", "b", "ü"}).Draw(t, "name")] = randomType(t, depth-1)
	}
	return cty.Object(attrs)
}

func randomValue(t *rapid.T, ty cty.Type) cty.Value {
	switch form := rapid.IntRange(0, 9).Draw(t, "form"); {
	case form == 0:
		return cty.NullVal(ty)
	case form == 1 || ty == cty.DynamicPseudoType:
		return cty.UnknownVal(ty)
	case form == 2:
		return cty.UnknownVal(ty).RefineNotNull()
	case form == 3:
		return restricted(t, ty)
	}
	n := rapid.IntRange(0, 3).Draw(t, "length")
	switch {
	case ty == cty.String:
		return cty.StringVal(rapid.String().Draw(t, "string"))
	case ty == cty.Number:
		return cty.NumberFloatVal(rapid.Float64Range(-1e15, 1e15).Draw(t, "number"))
	case ty == cty.Bool:
		return cty.BoolVal(rapid.Bool().Draw(t, "bool"))
	case ty.IsTupleType():
		var vals []cty.Value
		for _, e := range ty.TupleElementTypes() {
			vals = append(vals, randomValue(t, e))
		}
		return cty.TupleVal(vals)
	case ty.IsObjectType():
		vals := map[string]cty.Value{}
		for name, e := range ty.AttributeTypes() {
			vals[name] = randomValue(t, e)
		}
		return cty.ObjectVal(vals)
	}
	if ty.ElementType().HasDynamicTypes() {
		n = 0
	}
	vals, byKey := []cty.Value{}, map[string]cty.Value{}
	for i := range n {
		v := randomValue(t, ty.ElementType())
		vals = append(vals, v)
		byKey[string(rune('a'+i))] = v
	}
	switch {
	case ty.IsMapType() && n == 0:
		return cty.MapValEmpty(ty.ElementType())
	case ty.IsMapType():
		return cty.MapVal(byKey)
	case ty.IsSetType() && n == 0:
		return cty.SetValEmpty(ty.ElementType())
	case ty.IsSetType():
		return cty.SetVal(vals)
	case n == 0:
		return cty.ListValEmpty(ty.ElementType())
	}
	return cty.ListVal(vals)
}

// restricted returns an unknown value with refinements.
func restricted(t *rapid.T, ty cty.Type) cty.Value {
	b := cty.UnknownVal(ty).Refine()
	parts := ty == cty.String || ty == cty.Number || ty.IsCollectionType()
	if !parts || rapid.Bool().Draw(t, "not null") { // the value needs at least one refinement
		b = b.NotNull()
	}
	switch {
	case ty == cty.String:
		b = b.StringPrefixFull(rapid.StringMatching(`[a-z]{1,5}`).Draw(t, "prefix"))
	case ty == cty.Number:
		b = b.NumberRangeLowerBound(cty.NumberIntVal(1), rapid.Bool().Draw(t, "inclusive"))
		if rapid.Bool().Draw(t, "upper") {
			b = b.NumberRangeUpperBound(cty.MustParseNumberVal("7.5"), rapid.Bool().Draw(t, "inclusive"))
		}
	case ty.IsCollectionType():
		b = b.CollectionLengthLowerBound(rapid.IntRange(1, 2).Draw(t, "low"))
		if rapid.Bool().Draw(t, "upper") {
			b = b.CollectionLengthUpperBound(9)
		}
	}
	return b.NewValue()
}
