// Package ctyvalue reads and makes values of package cty by direct access to their unexported fields.
//
// cty's own methods are slow. Reading an attribute takes two Unicode normalisations and three map look-ups. Reading an
// element of a list allocates a number for its index. A new object takes four maps and a new type, and a search in a
// set sorts the set. These costs are a third of the time for planning objects of forty attributes, and two thirds of
// the time for evaluating a loop over 50,000 objects (ADR 23). This is the only package that knows the layout of
// values. It never changes the contents of a value.
package ctyvalue

import (
	"math/big"
	"os"
	"reflect"
	"strconv"
	"unsafe"

	"github.com/lethe-iac/lethe/internal/shortcut"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/set"
)

// Direct is true if values are read and made by direct access. It is determined from sample values when the program
// starts: if a later version of cty has another layout, this package uses cty's methods, which are slower but correct.
// The shortcut "values" disables direct access, too. Only tests change Direct.
var Direct = layoutKnown() && !closed()

type layout struct {
	ty   cty.Type
	held any
}

// heldBy returns the internal value of v:
//
//   - nil for null;
//   - a string, bool or *big.Float;
//   - []any for a list or tuple, and map[string]any for a map or object;
//   - a type of cty for an unknown or marked value, a set or a capsule.
//
// The result must not be changed. heldBy must not be called if Direct is false.
func heldBy(v cty.Value) any { return (*layout)(unsafe.Pointer(&v)).held }

// valueOf returns a value of type ty. held must be the internal value (see heldBy) of another value of this type.
// valueOf must not be called if Direct is false.
func valueOf(ty cty.Type, held any) cty.Value {
	l := layout{ty, held}
	return *(*cty.Value)(unsafe.Pointer(&l))
}

// buckets returns the internal values of the elements of a set by their hashes. held is the internal value of the set.
// For the internal value of anything else, buckets returns false.
func buckets(held any) (map[int][]any, bool) {
	s, ok := held.(set.Set[any])
	if !ok {
		return nil, false
	}
	return *(*map[int][]any)(unsafe.Pointer(&s)), true
}

func closed() bool {
	set, err := shortcut.Parse(os.Getenv(shortcut.Variable))
	return err == nil && set.Has(shortcut.Values)
}

func layoutKnown() (ok bool) {
	defer func() { ok = recover() == nil && ok }()
	value, sets := reflect.TypeFor[cty.Value](), reflect.TypeFor[set.Set[any]]()
	vals, found := sets.FieldByName("vals")
	if value.NumField() != 2 || value.Size() != unsafe.Sizeof(layout{}) ||
		value.Field(0).Type != reflect.TypeFor[cty.Type]() || value.Field(1).Type != reflect.TypeFor[any]() ||
		!found || vals.Offset != 0 || vals.Type != reflect.TypeFor[map[int][]any]() {
		return false
	}
	a := cty.StringVal("a")
	list := cty.ListVal([]cty.Value{a})
	maps := cty.MapVal(map[string]cty.Value{"k": a})
	object := cty.ObjectVal(map[string]cty.Value{"a": a, "u": cty.UnknownVal(cty.Bool), "n": cty.NullVal(cty.Number)})
	attrs := heldBy(object).(map[string]any)
	inSet, _ := buckets(heldBy(cty.SetVal([]cty.Value{a})))
	return heldBy(a).(string) == "a" && heldBy(cty.True).(bool) && heldBy(cty.Zero).(*big.Float).Sign() == 0 &&
		heldBy(list).([]any)[0].(string) == "a" && heldBy(maps).(map[string]any)["k"].(string) == "a" &&
		len(attrs) == 3 && attrs["a"].(string) == "a" && attrs["n"] == nil && inSet[a.Hash()][0].(string) == "a" &&
		attrs["u"] == heldBy(cty.UnknownVal(cty.Bool)) && attrs["u"] == heldBy(cty.DynamicVal) &&
		valueOf(object.Type(), map[string]any{"a": "a", "u": attrs["u"], "n": nil}).RawEquals(object)
}

// FindText searches for want in v. If v is a list or tuple that contains only known, unmarked strings and no null, all
// is true, and at is the index of the first element equal to want, or -1. For any other value, and if Direct is false,
// all is false and at is meaningless.
func FindText(v cty.Value, want string) (at int, all bool) {
	if !Direct {
		return 0, false
	}
	held, all := heldBy(v).([]any)
	at = -1
	for i, h := range held {
		text, ok := h.(string)
		if !ok {
			return 0, false
		}
		if at < 0 && text == want {
			at = i
		}
	}
	return at, all
}

// Number returns the number of v, a value of type number that is known, not null and unmarked. The result must not be
// changed, because it is not a copy if Direct is true.
func Number(v cty.Value) *big.Float {
	if Direct {
		return heldBy(v).(*big.Float)
	}
	return v.AsBigFloat()
}

// ParseNumber returns the result of cty.ParseNumberVal. For integers it is faster.
func ParseNumber(s string) (cty.Value, error) {
	if i, err := strconv.ParseInt(s, 10, 64); err == nil && (i != 0 || s == "0") { // "-0" is negative zero, which an int64 cannot represent
		return cty.NumberVal(new(big.Float).SetPrec(512).SetInt64(i)), nil
	}
	return cty.ParseNumberVal(s)
}

// AppendNumber appends the shortest decimal text, without an exponent, that distinguishes f from all other numbers of
// its precision, as cty does. For integers below 2^53 the text is their digits.
func AppendNumber(b []byte, f *big.Float) []byte {
	if i, acc := f.Int64(); acc == big.Exact && -1<<53 < i && i < 1<<53 && i != 0 && f.Prec() >= 53 {
		return strconv.AppendInt(b, i, 10)
	}
	return f.Append(b, 'f', -1)
}

// String returns the result of cty.StringVal. For ASCII text it is faster, because such a text is in Unicode normal
// form already.
func String(s string) cty.Value {
	if Direct && IsASCII(s) {
		return valueOf(cty.String, s)
	}
	return cty.StringVal(s)
}

// IsASCII reports whether a text contains only ASCII. Such a text is in Unicode normal form.
func IsASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}
