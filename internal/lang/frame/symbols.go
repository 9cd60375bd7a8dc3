package frame

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/lang/expr"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// symbols evaluates count, each and self for the instance to which the evaluation s belongs.
type symbols struct{ s *scope }

// value returns the value of count.index, each.key, each.value or self. The value is unknown if the evaluation belongs
// to no instance, or has no self. If for_each no longer has the key of the instance, each.value is an error.
func (y symbols) value(e *expr.Ref) (cty.Value, hcl.Diagnostics) {
	if e.Root == expr.RootSelf {
		if y.s.self == nil {
			return cty.DynamicVal, nil
		}
		return *y.s.self, nil
	}
	if y.s.pair != nil && e.Root == expr.RootEach {
		return y.s.pair.of(e.Field), nil
	}
	if y.s.key.IsNone() {
		return y.unknownSymbol(e), nil
	}
	if e.Root == expr.RootEach && e.Field == "value" {
		if v, ok := y.eachValue(); ok {
			return v, nil
		}
		return cty.DynamicVal, expr.ErrorAt("each.value cannot be used in this context", `There is no "each.value" here, for example because "for_each" no longer contains this key. Remove this reference to each.value.`, e.SrcRange)
	}
	return y.hidden(y.s.key.Value()), nil
}

// hidden returns v, a key, with the ephemeral mark if the key comes from ephemeral values.
func (y symbols) hidden(v cty.Value) cty.Value {
	if y.s.d == nil || y.s.d.Kind != program.Resource || y.s.d.Src.Res.Mode != addr.Ephemeral || y.s.d.Repetition == nil {
		return v
	}
	if r := y.own(); r.Hidden {
		y.s.Marked = true
		return mark.With(v, mark.Ephemeral, originOf(y.s.f, y.s.d))
	}
	return v
}

// unknownSymbol returns the value of count or each in an evaluation that belongs to no instance: an unknown value of
// the right type.
func (y symbols) unknownSymbol(e *expr.Ref) cty.Value {
	switch {
	case e.Root == expr.RootCount:
		return cty.UnknownVal(cty.Number).RefineNotNull()
	case e.Field == "key":
		return cty.UnknownVal(cty.String).RefineNotNull()
	}
	return y.unknownEach()
}

// unknownEach returns the unknown each.value in an evaluation that belongs to no instance.
func (y symbols) unknownEach() cty.Value {
	if y.s.d == nil || y.s.d.Repetition == nil {
		return cty.DynamicVal
	}
	r := y.own()
	y.s.Marked = y.s.Marked || r.marked
	for _, v := range r.each { // if there is one known element, it determines the type and the marks
		if len(r.each) == 1 {
			unmarked, remark := mark.UnmarkDeep(v)
			return remark(cty.UnknownVal(unmarked.Type()))
		}
	}
	return anyOf(r.each)
}

// anyOf returns an unknown value of unknown type with the marks of all values in vs.
func anyOf(vs map[string]cty.Value) cty.Value {
	out := cty.DynamicVal
	for _, v := range vs {
		_, remark := mark.UnmarkDeep(v)
		out = remark(out)
	}
	return out
}

// eachValue returns each.value of the instance to which the evaluation belongs. It returns false if the repetition has
// no such key. If the keys were set (see Frame.SetKeys), the repetition may not be evaluated yet, so eachValue
// evaluates it.
func (y symbols) eachValue() (cty.Value, bool) {
	r := y.own()
	y.s.Marked, y.s.early = y.s.Marked || r.marked, y.s.early || r.early != 0
	name, _ := y.s.key.Str()
	if v, ok := r.each[name]; ok {
		return v, true
	}
	if r.Status == Failed {
		for _, d := range r.diags {
			y.s.Error(d)
		}
		y.s.Failed = y.s.Failed || !y.s.Broken
	}
	return cty.DynamicVal, r.Status != Known || y.s.face == Before // in the prior state (the face Before), for_each may lack the key
}

// own returns the evaluated repetition of the declaration to which the evaluation belongs.
func (y symbols) own() *repeated {
	return y.s.f.repeat(y.s.d, y.s.face, y.s)
}
