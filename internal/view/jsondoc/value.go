package jsondoc

import (
	"math/big"
	"strconv"

	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/lethe-iac/lethe/internal/jsontext"
	"github.com/zclconf/go-cty/cty"
)

// Value is a value as documents have it. Unknown parts are left out of objects and maps and null elsewhere;
// numbers are as exact as they are known, but JSON has no infinity. The zero value is null.
type Value cty.Value

// Present is a value that documents omit if it is null.
func Present(v cty.Value) Value {
	if v != cty.NilVal && v.IsNull() {
		v = cty.NilVal
	}
	return Value(v)
}

// WriteJSON writes the value.
func (j Value) WriteJSON(w *jsontext.Writer) {
	v := cty.Value(j)
	ty := v.Type()
	switch {
	case v == cty.NilVal || !v.IsKnown() || v.IsNull():
		w.Word("null")
	case ty == cty.String:
		w.Text(v.AsString())
	case ty == cty.Number && !ctyvalue.Number(v).IsInf():
		w.Word(Number(ctyvalue.Number(v)))
	case ty == cty.Bool:
		w.Bool(v.True())
	case IsDict(ty):
		w.Open('{')
		for name, e := range ctyvalue.Members(v) {
			if e.IsKnown() {
				w.Key(name)
				Value(e).WriteJSON(w)
			}
		}
		w.Close('}')
	case IsSequence(ty):
		w.Open('[')
		for _, e := range ctyvalue.Items(v) {
			Value(e).WriteJSON(w)
		}
		w.Close(']')
	default:
		w.Word("null")
	}
}

// Number is a number without exponent, as JSON has it.
func Number(f *big.Float) string {
	if f.IsInt() {
		if i, acc := f.Int64(); acc == big.Exact {
			return strconv.FormatInt(i, 10)
		}
	}
	return f.Text('f', -1)
}

// IsDict reports whether values of a type have named parts.
func IsDict(ty cty.Type) bool { return ty.IsObjectType() || ty.IsMapType() }

// IsSequence reports whether values of a type have parts in an order.
func IsSequence(ty cty.Type) bool { return ty.IsListType() || ty.IsSetType() || ty.IsTupleType() }
