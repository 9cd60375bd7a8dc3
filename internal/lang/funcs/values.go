package funcs

import (
	"encoding/binary"
	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"math/big"
	"slices"

	"github.com/zclconf/go-cty/cty"
)

// valueSet holds known values of one type without marks, each once. Package cty's sets find the place
// of a number by its first ten digits, so that they slow down with long ones; this one is exact.
type valueSet map[string]struct{}

func newValueSet(vals []cty.Value) valueSet {
	s := make(valueSet, len(vals))
	for _, v := range vals {
		s.add(v)
	}
	return s
}

// add puts v into the set; false if it was there.
func (s valueSet) add(v cty.Value) bool {
	k := appendKey(nil, v)
	if _, ok := s[string(k)]; ok {
		return false
	}
	s[string(k)] = struct{}{}
	return true
}

func (s valueSet) has(v cty.Value) bool {
	_, ok := s[string(appendKey(nil, v))]
	return ok
}

// appendKey writes a text that equal values of one type share and different ones do not.
func appendKey(b []byte, v cty.Value) []byte {
	if v.IsNull() {
		return append(b, '~')
	}
	switch ty := v.Type(); {
	case ty == cty.String:
		return appendText(append(b, 's'), v.AsString())
	case ty == cty.Number:
		return append(appendNumberKey(b, v.AsBigFloat()), ';')
	case ty == cty.Bool && v.True():
		return append(b, 'T')
	case ty == cty.Bool:
		return append(b, 'F')
	case ty.IsSetType():
		return appendSet(b, v)
	}
	b = append(b, '(')
	for it := v.ElementIterator(); it.Next(); {
		k, e := it.Element()
		if k.Type() == cty.String { // of a map or an object
			b = appendText(b, k.AsString())
		}
		b = appendKey(b, e)
	}
	return append(b, ')')
}

// appendNumberKey follows cty: whole numbers are equal if they are the same, others if they are written the
// same way, of any precision.
func appendNumberKey(b []byte, f *big.Float) []byte {
	switch {
	case f.Sign() == 0:
		return append(b, '0') // there is a negative zero
	case f.IsInt():
		return f.Append(b, 'p', 0)
	}
	return f.Append(b, 'f', -1)
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// appendSet brings the keys of the elements into an order of its own.
func appendSet(b []byte, v cty.Value) []byte {
	var keys []string
	for _, e := range ctyvalue.Elements(v) {
		keys = append(keys, string(appendKey(nil, e)))
	}
	slices.Sort(keys)
	b = append(b, '{')
	for _, k := range keys {
		b = append(b, k...)
	}
	return append(b, '}')
}
