package view

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/lethe-iac/lethe/internal/view/jsondoc"
)

// A terminal obeys control characters. Names, values, messages of providers and file names come from anywhere, so none
// of them may be printed with a control character: no C0 except line breaks and tabs, no DEL, no C1, no character that
// changes the direction of text, and no invalid UTF-8. Such characters are shown as escapes (reliability rule R9).

// escape makes text safe for a terminal. Line breaks and tabs stay.
func escape(s string) string {
	return escapeRunes(s, func(r rune) bool { return r != '\n' && r != '\t' && isControl(r) })
}

// hasControl reports whether escape changes a text.
func hasControl(s string) bool { return escape(s) != s }

func doubleBackslashes(s string) string { return strings.ReplaceAll(s, `\`, `\\`) }

// EscapeLine makes text safe that must stay on one line.
func EscapeLine(s string) string { return escapeRunes(s, isControl) }

// isControl reports whether a terminal obeys a rune.
func isControl(r rune) bool { return r < 0x20 || r == 0x7f || jsondoc.Unsafe(r) }

func escapeRunes(s string, unsafe func(rune) bool) string {
	if utf8.ValidString(s) && strings.IndexFunc(s, unsafe) < 0 {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case !unsafe(r):
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

// quote is a string as values are shown: in double quotes, on one line, everything that cannot be
// printed as an escape.
func quote(s string) string { return strconv.Quote(s) }
