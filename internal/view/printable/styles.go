package printable

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// styling matches the sequences that set colours and styles on a terminal.
var styling = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("\x1b\\[[0-9;:]*m") })

// reset is the sequence that ends all styles.
const reset = "\x1b[0m"

// Plain returns a text without the sequences that style it.
func Plain(s string) string { return styling().ReplaceAllLiteralString(s, "") }

// Styled applies part to the parts of a text between the escape sequences that style the text. If the text has such
// sequences, Styled adds a sequence that ends all styles.
func Styled(s string, part func(string) string) string {
	var b strings.Builder
	at := 0
	for _, m := range styling().FindAllStringIndex(s, -1) {
		b.WriteString(part(s[at:m[0]]) + s[m[0]:m[1]])
		at = m[1]
	}
	b.WriteString(part(s[at:]))
	if at > 0 {
		b.WriteString(reset)
	}
	return b.String()
}

// Grouped formats a number with commas between groups of three digits.
func Grouped(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
