package addr

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/zclconf/go-cty/cty"
)

// Key distinguishes the instances of a resource, module call or provider configuration. It is a count index, a for_each
// key, or empty. The zero value is NoKey.
type Key struct {
	kind   keyKind
	n      int
	s      string
	hidden bool
}

type keyKind uint8

const (
	noKey keyKind = iota
	intKey
	stringKey
)

// NoKey is the key of the only instance of a declaration without count and for_each.
var NoKey = Key{}

// IntKey returns the key of the instance with the count index n.
func IntKey(n int) Key { return Key{kind: intKey, n: n} }

// StringKey returns the key of the instance with the for_each key s.
func StringKey(s string) Key { return Key{kind: stringKey, s: s} }

// IsNone reports whether k is NoKey.
func (k Key) IsNone() bool { return k.kind == noKey }

// Int returns the count index. It returns false if k is not a count index.
func (k Key) Int() (int, bool) { return k.n, k.kind == intKey }

// Str returns the for_each key. It returns false if k is not a for_each key.
func (k Key) Str() (string, bool) { return k.s, k.kind == stringKey }

// Value returns the key as a value of the language. It returns cty.NilVal for NoKey.
func (k Key) Value() cty.Value {
	switch k.kind {
	case intKey:
		return cty.NumberIntVal(int64(k.n))
	case stringKey:
		return cty.StringVal(k.s)
	}
	return cty.NilVal
}

// KeyOf returns the key for a value that is a whole number of 0 or more, or a string. It returns NoKey and false for
// other values, and for null and unknown values. v must be unmarked.
func KeyOf(v cty.Value) (Key, bool) {
	if v.IsNull() || !v.IsKnown() {
		return NoKey, false
	}
	switch v.Type() {
	case cty.String:
		return StringKey(v.AsString()), true
	case cty.Number:
		n, acc := v.AsBigFloat().Int64()
		if acc == 0 && n >= 0 {
			return IntKey(int(n)), true
		}
	}
	return NoKey, false
}

// Hide returns a copy of k for a key that is made from a secret. The text of the copy, and the text of addresses that
// contain it, do not show the key. The copy is not equal to k with ==. Hide returns NoKey for NoKey.
func (k Key) Hide() Key {
	k.hidden = !k.IsNone()
	return k
}

// Hidden reports whether k must not be shown.
func (k Key) Hidden() bool { return k.hidden }

// String returns `[0]`, `["a"]`, or "" for NoKey. It returns `[(ephemeral value)]` for a hidden key.
func (k Key) String() string {
	var b strings.Builder
	k.write(&b)
	return b.String()
}

func (k Key) write(b *strings.Builder) {
	if k.hidden {
		b.WriteString("[(ephemeral value)]")
		return
	}
	switch k.kind {
	case intKey:
		b.WriteByte('[')
		b.WriteString(strconv.Itoa(k.n))
		b.WriteByte(']')
	case stringKey:
		b.WriteByte('[')
		writeQuoted(b, k.s)
		b.WriteByte(']')
	}
}

// writeQuoted writes s as a string literal of the configuration language. It escapes invisible characters, so that the
// text can be copied into a configuration.
func writeQuoted(b *strings.Builder, s string) {
	b.WriteByte('"')
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case (r == '$' || r == '%') && strings.HasPrefix(s[i+1:], "{"):
			b.WriteRune(r)
			b.WriteRune(r)
		case unicode.IsPrint(r) || r == utf8.RuneError:
			b.WriteString(s[i : i+n])
		case r < 0x10000:
			fmt.Fprintf(b, `\u%04x`, r)
		default:
			fmt.Fprintf(b, `\U%08x`, r)
		}
		i += n
	}
	b.WriteByte('"')
}

// Compare orders keys: NoKey, then numbers, then strings. It ignores whether a key is hidden.
func (k Key) Compare(o Key) int {
	return cmp.Or(cmp.Compare(k.kind, o.kind), cmp.Compare(k.n, o.n), strings.Compare(k.s, o.s))
}
