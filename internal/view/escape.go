package view

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A terminal obeys what it is sent. Names, values, messages of providers and file names come from
// anywhere, so none of them may hold a control character when they are printed: no C0 but line
// breaks and tabs, no DEL, no C1, nothing that changes the direction of text, and nothing that is
// not UTF-8. What may not be printed is shown as an escape (reliability rule R9).

// escape makes text safe for a terminal. Line breaks and tabs stay.
func escape(s string) string {
	i := unsafeAt(s, true)
	if i < 0 {
		return s
	}
	return escapeFrom(s, i, true)
}

// escapeLine makes text safe that must stay on one line.
func escapeLine(s string) string {
	i := unsafeAt(s, false)
	if i < 0 {
		return s
	}
	return escapeFrom(s, i, false)
}

// unsafeAt finds the first byte that cannot be printed as it is, -1 if there is none.
func unsafeAt(s string, lines bool) int {
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if unsafeASCII(c, lines) {
				return i
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 || unsafeRune(r) {
			return i
		}
		i += n
	}
	return -1
}

func unsafeASCII(c byte, lines bool) bool {
	return c < 0x20 && !(lines && (c == '\n' || c == '\t')) || c == 0x7f
}

// unsafeRune reports whether a rune above ASCII is a control character or changes how text around
// it is shown.
func unsafeRune(r rune) bool {
	switch {
	case r >= 0x80 && r <= 0x9f, r == 0x061c, r >= 0x200b && r <= 0x200f, r >= 0x2028 && r <= 0x202e,
		r >= 0x2060 && r <= 0x206f, r == 0xfeff, r >= 0xfff9 && r <= 0xfffb, r >= 0xe0000 && r <= 0xe007f:
		return true
	}
	return false
}

func escapeFrom(s string, i int, lines bool) string {
	var b strings.Builder
	b.Grow(len(s) + 16)
	b.WriteString(s[:i])
	for i < len(s) {
		c := s[i]
		if c < utf8.RuneSelf {
			i++
			switch {
			case !unsafeASCII(c, lines):
				b.WriteByte(c)
			case c == '\r':
				b.WriteString(`\r`)
			case c == '\n':
				b.WriteString(`\n`)
			case c == '\t':
				b.WriteString(`\t`)
			default:
				fmt.Fprintf(&b, `\u{%02x}`, c)
			}
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, c)
		case unsafeRune(r):
			fmt.Fprintf(&b, `\u{%x}`, r)
		default:
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	return b.String()
}

// quote is a string as values are shown: in double quotes, on one line, everything that cannot be
// printed as an escape.
func quote(s string) string { return strconv.Quote(s) }
