package view

import (
	"bytes"
	"encoding/json"
	"io"
	"unicode/utf8"

	"github.com/lethe-iac/lethe/internal/jsontext"
	"github.com/zclconf/go-cty/cty"
)

// doc writes a document as it comes, without holding the whole. Members are written in the order in
// which they are asked for.
type doc struct {
	jsontext.Writer
	scrub func(string) string // of strings that are no names; nil: they stay
	later bool                // what is written may wait
}

func newDoc(w io.Writer) *doc {
	return &doc{Writer: jsontext.Writer{W: w, Compact: true, Quote: appendJSON}}
}

// end finishes the document with a line break.
func (d *doc) end() error {
	d.Buf = append(d.Buf, '\n')
	if p, ok := d.W.(patient); ok && d.later {
		p.Later(string(d.Buf))
		d.Buf = d.Buf[:0]
	}
	d.Flush()
	return d.Err
}

// object writes an object as a member or an element.
func (d *doc) object(inside func()) {
	d.Open('{')
	inside()
	d.Close('}')
}

func (d *doc) array(inside func()) {
	d.Open('[')
	inside()
	d.Close(']')
}

func (d *doc) str(s string) {
	if d.scrub != nil {
		s = d.scrub(s)
	}
	d.Text(s)
}

func (d *doc) keyStr(name, s string) {
	d.Key(name)
	d.str(s)
}

func (d *doc) strings(name string, l []string) {
	d.Key(name)
	d.array(func() {
		for _, s := range l {
			d.str(s)
		}
	})
}

const hexDigits = "0123456789abcdef"

// verbatim are the bytes of ASCII that stand for themselves in a string. As with the peers, what
// would begin a tag or an entity in a page of HTML is not among them.
var verbatim = func() (t [utf8.RuneSelf]bool) {
	for c := byte(0x20); c < 0x7f; c++ {
		t[c] = true
	}
	for _, c := range []byte(`"\<>&`) {
		t[c] = false
	}
	return t
}()

// appendJSON writes a string. What a terminal would obey is escaped, also where JSON does not ask
// for it.
func appendJSON(b []byte, s string) []byte {
	b = append(b, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if verbatim[c] {
				i++
				continue
			}
			b = append(b, s[from:i]...)
			b = appendEscape(b, c)
			i++
			from = i
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			b = append(append(b, s[from:i]...), `\ufffd`...)
			from = i + 1
		case unsafeRune(r):
			b = append(b, s[from:i]...)
			b = appendRune(b, r)
			from = i + n
		}
		i += n
	}
	return append(append(b, s[from:]...), '"')
}

func appendEscape(b []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(b, '\\', c)
	case '\n':
		return append(b, '\\', 'n')
	case '\r':
		return append(b, '\\', 'r')
	case '\t':
		return append(b, '\\', 't')
	case '\b':
		return append(b, '\\', 'b')
	case '\f':
		return append(b, '\\', 'f')
	}
	return append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
}

// appendRune writes a rune as one or two escapes.
func appendRune(b []byte, r rune) []byte {
	if r >= 0x10000 {
		r -= 0x10000
		b = appendRune(b, 0xd800+r>>10)
		r = 0xdc00 + r&0x3ff
	}
	return append(b, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
}

// value writes a value. Unknown ones are left out of objects and maps, and null elsewhere.
func (d *doc) value(v cty.Value) {
	switch {
	case v == cty.NilVal || !v.IsKnown() || v.IsNull():
		d.Word("null")
		return
	}
	switch ty := v.Type(); {
	case ty == cty.String:
		d.str(v.AsString())
	case ty == cty.Number:
		d.number(v)
	case ty == cty.Bool:
		d.Bool(v.True())
	case ty.IsObjectType() || ty.IsMapType():
		d.object(func() {
			for it := v.ElementIterator(); it.Next(); {
				k, ev := it.Element()
				if !ev.IsKnown() {
					continue
				}
				d.Key(k.AsString())
				d.value(ev)
			}
		})
	case ty.IsListType() || ty.IsSetType() || ty.IsTupleType():
		d.array(func() {
			for it := v.ElementIterator(); it.Next(); {
				_, ev := it.Element()
				d.value(ev)
			}
		})
	default:
		d.Word("null")
	}
}

// ready writes valid JSON that comes from elsewhere, without its white space.
func (d *doc) ready(text []byte) {
	d.Next()
	b := bytes.NewBuffer(d.Buf)
	_ = json.Compact(b, text) // fails only for what is not valid
	d.Buf = b.Bytes()
}

// number writes a number as exactly as it is known. JSON has no infinity.
func (d *doc) number(v cty.Value) {
	if f := v.AsBigFloat(); f.IsInf() {
		d.Word("null")
	} else {
		d.Word(numberText(f))
	}
}

// unknowns writes where a value is not known yet: true for such a value, false for others that
// have no parts; false is left out of objects and maps.
func (d *doc) unknowns(v cty.Value) {
	d.flags(v, func(v cty.Value) (bool, bool) {
		return !v.IsKnown(), !v.IsKnown() || v.IsNull()
	})
}

// flags writes booleans in the shape of a value. what says what a value's flag is, and whether its
// parts do not matter.
func (d *doc) flags(v cty.Value, what func(cty.Value) (flag, leaf bool)) {
	flag, leaf := what(v)
	ty := v.Type()
	switch {
	case leaf || !composite(ty):
		d.Bool(flag)
	case ty.IsObjectType() || ty.IsMapType():
		d.object(func() {
			for it := v.ElementIterator(); it.Next(); {
				k, ev := it.Element()
				if flag, leaf := what(ev); !flag && (leaf || !composite(ev.Type())) {
					continue
				}
				d.Key(k.AsString())
				d.flags(ev, what)
			}
		})
	default:
		d.array(func() {
			for it := v.ElementIterator(); it.Next(); {
				_, ev := it.Element()
				d.flags(ev, what)
			}
		})
	}
}

func composite(ty cty.Type) bool {
	return ty.IsObjectType() || ty.IsMapType() || ty.IsListType() || ty.IsSetType() || ty.IsTupleType()
}
