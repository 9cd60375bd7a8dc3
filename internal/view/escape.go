package view

import (
	"strconv"
	"strings"

	"github.com/lethe-iac/lethe/internal/view/printable"
)

// A terminal obeys control characters. Names, values, messages of providers and file names are not trusted. In them, C0
// characters except line breaks and tabs, DEL, C1 characters, characters that change the direction of text, and invalid
// UTF-8 are shown as escapes (reliability rule R9).

// escape makes text safe for a terminal. It keeps line breaks and tabs.
func escape(s string) string {
	return printable.Escape(s, func(r rune) bool { return r != '\n' && r != '\t' && printable.Control(r) })
}

// hasControl reports whether escape changes a text.
func hasControl(s string) bool { return escape(s) != s }

func doubleBackslashes(s string) string { return strings.ReplaceAll(s, `\`, `\\`) }

// EscapeLine makes text safe for a terminal, and escapes line breaks and tabs too, so that the text stays on one line.
func EscapeLine(s string) string { return printable.Escape(s, printable.Control) }

// quote returns a string in double quotes on one line. Characters that cannot be printed are escaped.
func quote(s string) string { return strconv.Quote(s) }
