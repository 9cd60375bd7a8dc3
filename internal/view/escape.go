package view

import (
	"strconv"
	"strings"

	"github.com/lethe-iac/lethe/internal/view/printable"
)

// A terminal obeys control characters. Names, values, messages of providers and file names come from anywhere, so none
// of them may be printed with a control character: no C0 except line breaks and tabs, no DEL, no C1, no character that
// changes the direction of text, and no invalid UTF-8. Such characters are shown as escapes (reliability rule R9).

// escape makes text safe for a terminal. Line breaks and tabs stay.
func escape(s string) string {
	return printable.Escape(s, func(r rune) bool { return r != '\n' && r != '\t' && printable.Control(r) })
}

// hasControl reports whether escape changes a text.
func hasControl(s string) bool { return escape(s) != s }

func doubleBackslashes(s string) string { return strings.ReplaceAll(s, `\`, `\\`) }

// EscapeLine makes text safe that must stay on one line.
func EscapeLine(s string) string { return printable.Escape(s, printable.Control) }

// quote is a string as values are shown: in double quotes, on one line, everything that cannot be
// printed as an escape.
func quote(s string) string { return strconv.Quote(s) }
