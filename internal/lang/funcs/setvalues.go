package funcs

import (
	"cmp"
	"hash/crc32"
	"maps"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/set"
)

// Package cty offers one way to look into a set: to go through its elements in order. It brings them into
// that order each time, by a comparison that takes a microsecond for strings and more for objects, and even
// asking whether all elements are known, or whether one value is among them, does so: a second for
// 50,000 strings, ten for as many objects, at each question. Nothing that is said of a set needs that.
//
// So this file reads the elements from where cty has them, which is in fields that are not exported. It
// sorts them with keys made once, in a tenth of that time, and answers questions without sorting. It looks
// up the fields by name and type first, and if they are not as expected any more, all is done the slow
// way. TestSetElements holds the order against cty's.

// layout says where in a cty.Value the payload is, and in the payload of a set the buckets; ok is false
// if one of them is not where and what it is expected to be.
var layout = findLayout()

type setLayout struct {
	ok      bool
	hashes  bool    // texts are put where textHash says
	payload uintptr // of an any in cty.Value
	buckets uintptr // of a map[int][]any in set.Set[any]
}

func findLayout() setLayout {
	value, raw := reflect.TypeFor[cty.Value](), reflect.TypeFor[set.Set[any]]()
	v, ok1 := value.FieldByName("v")
	b, ok2 := raw.FieldByName("vals")
	return setLayout{
		hashes:  ok1 && v.Type == reflect.TypeFor[any]() && hashesAlike(),
		ok:      ok1 && ok2 && v.Type == reflect.TypeFor[any]() && b.Type == reflect.TypeFor[map[int][]any](),
		payload: v.Offset,
		buckets: b.Offset,
	}
}

// buckets are the payloads of the elements of a set that is known and has no mark; false if they cannot
// be had.
func buckets(v cty.Value) (map[int][]any, bool) {
	if !layout.ok {
		return nil, false
	}
	raw, ok := payload(&v).(set.Set[any])
	if !ok {
		return nil, false
	}
	return *(*map[int][]any)(unsafe.Add(unsafe.Pointer(&raw), layout.buckets)), true
}

// withPayload makes a value of what is in a set; v is any value of the element type.
func withPayload(v cty.Value, payload any) cty.Value {
	*(*any)(unsafe.Add(unsafe.Pointer(&v), layout.payload)) = payload
	return v
}

// SetElements are the elements of a set that is known, not null and has no mark, in the order in which
// cty's own iterators give them.
func SetElements(v cty.Value) []cty.Value {
	vals, ok := unordered(v)
	if !ok {
		return v.AsValueSlice()
	}
	order(v.Type().ElementType(), vals)
	return vals
}

// unordered are the elements of a set in no order that means anything, but always the same.
func unordered(v cty.Value) ([]cty.Value, bool) {
	raw, ok := buckets(v)
	ety := v.Type().ElementType()
	if !ok || !orderable(ety) {
		return nil, false
	}
	if len(raw) == 0 {
		return nil, true
	}
	vals := make([]cty.Value, 0, len(raw))
	some := cty.UnknownVal(ety)
	for _, id := range slices.Sorted(maps.Keys(raw)) {
		for _, payload := range raw[id] {
			vals = append(vals, withPayload(some, payload))
		}
	}
	return vals, true
}

// SetVal is cty.SetVal, which makes two texts, a buffer and a bucket for every element. Sets of known texts, which
// are many, are put together here.
func SetVal(vals []cty.Value) cty.Value {
	if !layout.hashes || slices.ContainsFunc(vals, func(v cty.Value) bool { _, ok := payload(&v).(string); return !ok }) {
		return cty.SetVal(vals)
	}
	out := cty.SetVal(vals[:1])
	into, ok := buckets(out)
	if !ok {
		return cty.SetVal(vals)
	}
	var quoted []byte
	all := make([]any, len(vals))
	for i := range vals[1:] {
		p := payload(&vals[1+i])
		var id int
		id, quoted = textHash(quoted, p.(string))
		if had := into[id]; had == nil {
			all[i] = p
			into[id] = all[i : i+1 : i+1]
		} else if !slices.Contains(had, p) {
			into[id] = append(had, p)
		}
	}
	return out
}

// textHash is where cty puts a text in a set; buf is for the next one.
func textHash(buf []byte, s string) (id int, next []byte) {
	buf = strconv.AppendQuote(buf[:0], s)
	return int(crc32.ChecksumIEEE(buf)), buf
}

// hashesAlike reports whether textHash and cty agree.
func hashesAlike() bool {
	for _, s := range []string{"", "plain", "\"quoted\"\n\\", "\u00e9\u4e16\U0001f600\u200b", "\x00\x7f"} {
		if id, _ := textHash(nil, s); id != cty.StringVal(s).Hash() {
			return false
		}
	}
	return true
}

// anyOrder are the elements of a set in an order that is always the same, but not that of elements for those of
// which it does not matter: equal texts are one.
func anyOrder(v cty.Value) []cty.Value {
	if v.Type().ElementType() == cty.String {
		if vals, ok := unordered(v); ok {
			return vals
		}
	}
	return elements(v)
}

// open reports whether a set that is known and has no mark has an unknown value in it, at any depth.
func open(v cty.Value) bool {
	ety := v.Type().ElementType()
	raw, ok := buckets(v)
	switch {
	case !ok:
		return !v.IsWhollyKnown()
	case ety.IsPrimitiveType():
		return len(raw[cty.UnknownVal(ety).Hash()]) > 0
	}
	for _, bucket := range raw {
		for _, payload := range bucket {
			if !withPayload(cty.UnknownVal(ety), payload).IsWhollyKnown() {
				return true
			}
		}
	}
	return false
}

// atLeast is about the number of elements of a set: cty counts them each time it is asked.
func atLeast(v cty.Value) int {
	if raw, ok := buckets(v); ok {
		return len(raw)
	}
	return v.LengthInt()
}

// has reports whether a set that is known and has no mark has an element that equals v, which is of
// its element type, known, and has no marks.
func has(s, v cty.Value) bool {
	raw, ok := buckets(s)
	if !ok {
		return s.HasElement(v).RawEquals(cty.True)
	}
	for _, payload := range raw[v.Hash()] {
		if withPayload(v, payload).Equals(v).RawEquals(cty.True) {
			return true
		}
	}
	return false
}

// orderable types are those whose order is known here: all but capsules.
func orderable(ty cty.Type) bool {
	switch {
	case ty.IsCapsuleType():
		return false
	case ty.IsCollectionType():
		return orderable(ty.ElementType())
	case ty.IsTupleType():
		return !slices.ContainsFunc(ty.TupleElementTypes(), func(t cty.Type) bool { return !orderable(t) })
	case ty.IsObjectType():
		for _, aty := range ty.AttributeTypes() {
			if !orderable(aty) {
				return false
			}
		}
	}
	return true
}

// order sorts as cty does: null after what is not null, unknown after what is known, strings and numbers
// by what they are, structures by a text that cty makes of them. What is equal in that stays in place.
func order(ety cty.Type, vals []cty.Value) {
	keys := make([]sortKey, len(vals))
	for i, v := range vals {
		keys[i] = sortKey{v: v, at: i, rank: rank(v)}
		if keys[i].rank == 0 {
			keys[i].set(ety)
		}
	}
	slices.SortFunc(keys, compareKeys)
	for i := range keys {
		vals[i] = keys[i].v
	}
}

// sortKey is an element with what it is sorted by, looked up once.
type sortKey struct {
	v      cty.Value
	rank   int // known, unknown, null
	text   string
	number *big.Float
	at     int
}

func (k *sortKey) set(ety cty.Type) {
	switch {
	case ety == cty.String:
		k.text = k.v.AsString()
	case ety == cty.Number:
		k.number = k.v.AsBigFloat()
	default: // false before true, too
		k.text = string(ctyKey(nil, k.v))
	}
}

func compareKeys(a, b sortKey) int {
	if a.rank != b.rank {
		return a.rank - b.rank
	}
	if a.number != nil && b.number != nil {
		if c := a.number.Cmp(b.number); c != 0 {
			return c
		}
	}
	return cmp.Or(strings.Compare(a.text, b.text), a.at-b.at)
}

func rank(v cty.Value) int {
	switch {
	case !v.IsKnown():
		return 1
	case v.IsNull():
		return 2
	}
	return 0
}

// ctyKey is the text by which cty sorts structures.
func ctyKey(b []byte, v cty.Value) []byte {
	switch ty := v.Type(); {
	case !v.IsKnown():
		return append(b, '?')
	case v.IsNull():
		return append(b, '~')
	case ty == cty.Number:
		return v.AsBigFloat().Append(b, 'g', 10)
	case ty == cty.Bool && v.True():
		return append(b, 'T')
	case ty == cty.Bool:
		return append(b, 'F')
	case ty == cty.String:
		return strconv.AppendQuote(b, v.AsString())
	case ty.IsMapType():
		b = append(b, '{')
		for it := v.ElementIterator(); it.Next(); {
			k, e := it.Element()
			b = append(ctyKey(append(ctyKey(b, k), ':'), e), ';')
		}
		return append(b, '}')
	case ty.IsListType(), ty.IsSetType():
		return append(ctyKeys(append(b, '['), elements(v)), ']')
	}
	return append(ctyKeys(append(b, '<'), elements(v)), '>') // a tuple, or an object by attribute names
}

func ctyKeys(b []byte, vals []cty.Value) []byte {
	for _, v := range vals {
		b = append(ctyKey(b, v), ';')
	}
	return b
}
