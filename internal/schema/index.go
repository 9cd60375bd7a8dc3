package schema

import (
	"encoding/binary"

	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/zclconf/go-cty/cty"
)

// Elements of sets have no names, so the rules of this package find the element of another set that corresponds to an
// element by its content. Without an index, each element would have to be compared with each other element. An index
// groups the elements by a key, which consists of the attributes that must be equal.

// appendKey appends the hash of a value to the key b. Equal values have the same hash; different values rarely do.
func appendKey(b []byte, v cty.Value) []byte { return binary.AppendVarint(b, int64(v.Hash())) }

// index finds the elements of a set that may correspond to a value v: for each attribute in names that is known in v,
// the element has an equal attribute.
type index struct {
	elems []cty.Value
	names []string // the names of the attributes in the key, if the elements are objects
	all   []int
	by    map[string]map[string][]int // the indexes of elements, by the result of known and by the key
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

// known returns a text that tells which attributes of v are known. It has a letter for each of x.names: "k" if the
// attribute is known, and "-" otherwise. For a known value that is not an object it returns "k". It returns "" if
// nothing in v is known.
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
