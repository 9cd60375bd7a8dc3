package view

import (
	"regexp"
	"strings"
)

// styling matches the sequences that set colours and styles on a terminal.
var styling = regexp.MustCompile("\x1b\\[[0-9;:]*m")

// colored makes a line of a program's output safe to print. It keeps the styling sequences of the line only if o.Color
// is true, and if the line without them has nothing to scrub: within a secret, a sequence would hide the secret from
// Scrub.
func (o Options) colored(s string) string {
	if plain := styling.ReplaceAllLiteralString(s, ""); !o.Color || o.scrub(plain) != plain {
		return o.free(plain)
	}
	var b strings.Builder
	at := 0
	for _, m := range styling.FindAllStringIndex(s, -1) {
		b.WriteString(o.free(s[at:m[0]]) + s[m[0]:m[1]])
		at = m[1]
	}
	b.WriteString(o.free(s[at:]))
	if at > 0 {
		b.WriteString(reset)
	}
	return b.String()
}
