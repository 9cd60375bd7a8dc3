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

// Key tells instances of one resource, module call or provider configuration apart: nothing, a
// count index, or a for_each key. The zero value is NoKey.
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

// NoKey is the key of the only instance of something that is not repeated.
var NoKey = Key{}

// IntKey is the key of the n-th instance by count.
func IntKey(n int) Key { return Key{kind: intKey, n: n} }

// StringKey is the key of an instance by for_each.
func StringKey(s string) Key { return Key{kind: stringKey, s: s} }

// IsNone reports whether k is NoKey.
func (k Key) IsNone() bool { return k.kind == noKey }

// Int gives a count index.
func (k Key) Int() (int, bool) { return k.n, k.kind == intKey }

// Str gives a for_each key.
func (k Key) Str() (string, bool) { return k.s, k.kind == stringKey }

// Value is the key as a language value; NoKey is cty.NilVal.
func (k Key) Value() cty.Value {
	switch k.kind {
	case intKey:
		return cty.NumberIntVal(int64(k.n))
	case stringKey:
		return cty.StringVal(k.s)
	}
	return cty.NilVal
}

// KeyOf is the key that a known, unmarked language value stands for: a whole number of 0 or more,
// or a string.
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

// Hide is k as a key that is made of something secret: what writes it or an address with it
// writes that it is ephemeral, and not which it is.
func (k Key) Hide() Key {
	k.hidden = !k.IsNone()
	return k
}

// Hidden reports whether k is not to be shown.
func (k Key) Hidden() bool { return k.hidden }

// String is `[0]`, `["a"]`, or ""; `[(ephemeral value)]` for a hidden key.
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

// writeQuoted writes s as a string literal of the configuration language. Characters that cannot be seen are escaped, so
// that the text can be pasted back.
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

// Compare orders keys as they are listed: none, then numbers, then strings. Whether a key is hidden
// makes no difference.
func (k Key) Compare(o Key) int {
	return cmp.Or(cmp.Compare(k.kind, o.kind), cmp.Compare(k.n, o.n), strings.Compare(k.s, o.s))
}
