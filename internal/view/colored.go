package view

import (
	"regexp"
	"strings"
)

// styling matches the sequences that set colours and styles on a terminal.
var styling = regexp.MustCompile("\x1b\\[[0-9;:]*m")

// colored makes a line of a program's output safe. Colours stay where colours are wanted, and are left out elsewhere.
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
