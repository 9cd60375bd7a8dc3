package funcs

import (
	"github.com/lethe-iac/lethe/internal/convert"
	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/zclconf/go-cty/cty"
)

// problem returns the error for a value whose walk (see look) ended early, because a number has too many digits, or
// because the value has too many bytes or elements.
func (c *call) problem(s ctyvalue.Contents) error {
	switch {
	case s.Refused:
		return convert.ErrManyDigits
	case s.Bytes > c.limits.Bytes:
		return c.tooLong()
	}
	return c.tooMany()
}

// isSequence reports whether ty is a list, set or tuple type.
func isSequence(ty cty.Type) bool { return ty.IsListType() || ty.IsSetType() || ty.IsTupleType() }

// listOf returns a list of vals, which must have the same type. ety is the element type, which an empty list needs.
func listOf(ety cty.Type, vals []cty.Value) cty.Value {
	if len(vals) == 0 {
		return cty.ListValEmpty(ety)
	}
	return cty.ListVal(vals)
}

func setOf(ety cty.Type, vals []cty.Value) cty.Value {
	if len(vals) == 0 {
		return cty.SetValEmpty(ety)
	}
	return cty.SetVal(vals)
}

func mapOf(ety cty.Type, vals map[string]cty.Value) cty.Value {
	if len(vals) == 0 {
		return cty.MapValEmpty(ety)
	}
	return cty.MapVal(vals)
}

// stringList returns a list of strings.
func stringList(ss []string) cty.Value {
	vals := make([]cty.Value, len(ss))
	for i, s := range ss {
		vals[i] = cty.StringVal(s)
	}
	return listOf(cty.String, vals)
}
