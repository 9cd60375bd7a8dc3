package view

import "github.com/lethe-iac/lethe/internal/view/printable"

// colored makes a line of a program's output safe to print. It keeps styling sequences only if o.Color is true and
// o.Scrub masks no secret in the line without them: a sequence within a secret would hide it from Scrub.
func (o Options) colored(s string) string {
	if plain := printable.Plain(s); !o.Color || o.scrub(plain) != plain {
		return o.free(plain)
	}
	return printable.Styled(s, o.free)
}
