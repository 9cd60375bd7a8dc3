package jsondoc

import (
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/lethe-iac/lethe/internal/jsontext"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// Value is a value in a document. Unknown members of objects and maps are omitted, and other unknown values are null.
// Numbers have all digits of the value. Infinity is written as null, because JSON has no infinite numbers. The zero
// value is null.
type Value cty.Value

// Present returns a value that documents omit if it is null.
func Present(v cty.Value) Value {
	if v != cty.NilVal && v.IsNull() {
		v = cty.NilVal
	}
	return Value(v)
}

// WriteJSON writes the value. Unknown, null, missing and infinite values are null, and unknown members of an object or
// map are omitted.
func (j Value) WriteJSON(w *jsontext.Writer) {
	v := cty.Value(j)
	ty := v.Type()
	switch {
	case v == cty.NilVal || !v.IsKnown() || v.IsNull():
		w.Word("null")
	case ty == cty.String:
		w.Text(v.AsString())
	case ty == cty.Number && !ctyvalue.Number(v).IsInf():
		w.Word(ctyvalue.NumberText(ctyvalue.Number(v)))
	case ty == cty.Bool:
		w.Bool(v.True())
	case ctyvalue.IsDict(ty):
		w.Open('{')
		for name, e := range ctyvalue.Members(v) {
			if e.IsKnown() {
				w.Key(name)
				Value(e).WriteJSON(w)
			}
		}
		w.Close('}')
	case ctyvalue.IsSequence(ty):
		w.Open('[')
		for _, e := range ctyvalue.Items(v) {
			Value(e).WriteJSON(w)
		}
		w.Close(']')
	default:
		w.Word("null")
	}
}

// Key is the key of an instance in a document. It is null if the declaration has no count and no for_each.
type Key addr.Key

// WriteJSON writes the key.
func (i Key) WriteJSON(w *jsontext.Writer) {
	k := addr.Key(i)
	if k.Hidden() {
		w.Text(mark.Ephemeral.Mask())
	} else if n, ok := k.Int(); ok {
		w.Int(int64(n))
	} else if s, ok := k.Str(); ok {
		w.Text(s)
	} else {
		w.Word("null")
	}
}
