// Package printable replaces the characters with which a text can control a terminal.
package printable

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/lethe-iac/lethe/internal/view/jsondoc"
)

// Control reports whether a character can control a terminal.
func Control(r rune) bool { return r < 0x20 || r == 0x7f || jsondoc.Unsafe(r) }

// Escape returns s with escapes in place of the characters for which unsafe returns true, and of invalid UTF-8. It does
// not call unsafe with printable ASCII characters, because most texts have only these.
func Escape(s string, unsafe func(rune) bool) string {
	if safe(s, unsafe) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case printableASCII(s[0]), !unsafe(r):
			b.WriteString(s[:n])
		case strings.ContainsRune("\r\n\t", r):
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		default:
			fmt.Fprintf(&b, `\u{%02x}`, r)
		}
		s = s[n:]
	}
	return b.String()
}

// safe reports whether Escape returns s unchanged.
func safe(s string, unsafe func(rune) bool) bool {
	for i := 0; i < len(s); {
		if printableASCII(s[i]) {
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 || unsafe(r) {
			return false
		}
		i += n
	}
	return true
}

func printableASCII(c byte) bool { return c >= 0x20 && c < 0x7f }
