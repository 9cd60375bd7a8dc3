// Package ctyvalue reads and makes values of package cty where cty has them, in fields that are not exported.
//
// Through cty's own methods an attribute costs two Unicode normalisations and three map look-ups, an element of a
// list an allocated number for its index, a new object four maps and a type of its own, and a question to a set
// sorts the set. That is a third of planning objects of forty attributes and two thirds of evaluating a loop over
// 50,000 objects (ADR 23). This is the only package that knows the layout; nothing that is in a value is ever
// changed.
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

// Direct says that values are read and made in place. It is found out on samples when the program starts: should
// a later version of cty have another layout, everything goes through its own methods again, slower and not wrong.
// The shortcut "values" closes it as well. Only tests change it.
var Direct = layoutKnown() && !closed()

type layout struct {
	ty   cty.Type
	held any
}

// heldBy is what a value holds: nil for null, a string, bool or *big.Float, []any for a list or tuple, map[string]any
// for a map or object; of what is unknown, marked, a set or a capsule something of cty's own. It must not be
// changed, and not be asked for unless Direct.
func heldBy(v cty.Value) any { return (*layout)(unsafe.Pointer(&v)).held }

// valueOf makes a value of type ty of what another value of that type held. Not unless Direct.
func valueOf(ty cty.Type, held any) cty.Value {
	l := layout{ty, held}
	return *(*cty.Value)(unsafe.Pointer(&l))
}

// buckets are what the elements of a set hold, by their hashes; false for anything else.
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

// FindText is the index of the first element that is want in a list or tuple of nothing but known texts without marks, -1
// if there is none. all is false for any other value, and for all values unless Direct.
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

// Number is a number that is known, not null and has no mark, and not a copy of it: it must not be changed.
func Number(v cty.Value) *big.Float {
	if Direct {
		return heldBy(v).(*big.Float)
	}
	return v.AsBigFloat()
}

// ParseNumber is cty.ParseNumberVal, with a short way to the same value for the whole numbers that most are.
func ParseNumber(s string) (cty.Value, error) {
	if i, err := strconv.ParseInt(s, 10, 64); err == nil && (i != 0 || s == "0") { // text can say minus zero
		return cty.NumberVal(new(big.Float).SetPrec(512).SetInt64(i)), nil
	}
	return cty.ParseNumberVal(s)
}

// AppendNumber writes the shortest decimal text that tells f from all others of its precision, which for integers
// below 2^53 is their digits. It is how cty writes numbers.
func AppendNumber(b []byte, f *big.Float) []byte {
	if i, acc := f.Int64(); acc == big.Exact && -1<<53 < i && i < 1<<53 && i != 0 && f.Prec() >= 53 {
		return strconv.AppendInt(b, i, 10)
	}
	return f.Append(b, 'f', -1)
}

// String is cty.StringVal, which normalizes the text, without looking twice at one that is ASCII.
func String(s string) cty.Value {
	if Direct && IsASCII(s) {
		return valueOf(cty.String, s)
	}
	return cty.StringVal(s)
}

// IsASCII reports whether a text is in Unicode normal form in any case.
func IsASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}
