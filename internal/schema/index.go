package schema

import (
	"encoding/binary"
	"math/big"

	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/zclconf/go-cty/cty"
)

// Elements of sets have no names, so rules find the counterpart of one by its content. An index
// keeps that from being a comparison of each with each: elements are found by a key of those
// attributes that must be equal.

// appendKey writes v such that two known values of one type have the same key if and only if they
// are equal.
func appendKey(b []byte, v cty.Value) []byte {
	switch {
	case !v.IsKnown():
		return append(b, '?')
	case v.IsNull():
		return append(b, '~')
	}
	switch ty := v.Type(); {
	case ty == cty.String:
		return appendText(append(b, 's'), v.AsString())
	case ty == cty.Number:
		return appendExact(append(b, 'n'), ctyvalue.Number(v))
	case ty == cty.Bool:
		if v.True() {
			return append(b, 'T')
		}
		return append(b, 'F')
	case ty.IsObjectType() || ty.IsMapType():
		b = append(b, '{')
		for k, ev := range ctyvalue.Members(v) {
			b = appendKey(appendText(b, k), ev)
		}
		return append(b, '}')
	case ty.IsListType() || ty.IsSetType() || ty.IsTupleType():
		b = append(b, '[')
		for _, ev := range ctyvalue.Items(v) {
			b = appendKey(b, ev)
		}
		return append(b, ']')
	}
	return b
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// appendExact writes a number in the same way in every precision.
func appendExact(b []byte, f *big.Float) []byte {
	if i, acc := f.Int64(); acc == big.Exact {
		return binary.AppendVarint(append(b, 'i'), i)
	}
	return append(f.Append(b, 'p', 0), ';')
}

// index finds those elements of a set that may be what another became: equal in all attributes of
// it that are known.
type index struct {
	elems []cty.Value
	names []string // of the attributes that count, if the elements are objects
	all   []int
	by    map[string]map[string][]int // by which of them are known, and their values
}

func newIndex(elems []cty.Value, names []string) *index {
	x := &index{elems: elems, names: names, all: make([]int, len(elems)), by: map[string]map[string][]int{}}
	for i := range elems {
		x.all[i] = i
	}
	return x
}

func (x *index) candidates(v cty.Value) []int {
	which := x.known(v)
	if which == "" {
		return x.all
	}
	keys := x.by[which]
	if keys == nil {
		keys = map[string][]int{}
		for i, ev := range x.elems {
			k := x.key(ev, which)
			keys[k] = append(keys[k], i)
		}
		x.by[which] = keys
	}
	return keys[x.key(v, which)]
}

// known is one letter for each attribute that counts, k for those that are known; a single k for
// another known value; nothing where nothing is known.
func (x *index) known(v cty.Value) string {
	if !known(v) || !v.Type().IsObjectType() {
		if v.IsWhollyKnown() {
			return "k"
		}
		return ""
	}
	which, some := make([]byte, len(x.names)), false
	for i, name := range x.names {
		which[i] = '-'
		if av, _ := ctyvalue.Attribute(v, name); av.IsWhollyKnown() {
			which[i], some = 'k', true
		}
	}
	if !some {
		return ""
	}
	return string(which)
}

func (x *index) key(v cty.Value, which string) string {
	if !known(v) || !v.Type().IsObjectType() {
		return string(appendKey(nil, v))
	}
	var key []byte
	for i, name := range x.names {
		if i < len(which) && which[i] == 'k' {
			av, _ := ctyvalue.Attribute(v, name)
			key = appendKey(key, av)
		}
	}
	return string(key)
}
