package lang

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/lethe-iac/lethe/internal/addr"
)

// References lists what an expression refers to, as `show -json` prints configurations: for each
// reference its text, then each shorter form down to the whole object.
func References(e hcl.Expression) []string {
	var out []string
	add := func(s string) {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	for _, t := range native(e).Variables() {
		for _, s := range prefixes(t) {
			add(s)
		}
	}
	return out
}

// prefixes lists a traversal and what leads to it, longest first.
func prefixes(t hcl.Traversal) []string {
	whole := 2
	switch t.RootName() {
	case "data", "ephemeral", "resource":
		whole = 3
	case "self", "each", "count", "path", "terraform", "tofu", "var", "local":
		return []string{traversalText(t[:min(len(t), 2)])}
	}
	if len(t) <= whole {
		return []string{traversalText(t)}
	}
	out := []string{}
	end := len(t)
	for i := whole; i < end; i++ { // stop before what is not constant
		if ix, ok := t[i].(hcl.TraverseIndex); ok {
			if _, ok := addr.KeyOf(ix.Key); !ok {
				end = i
			}
		}
	}
	first := min(whole+1, end)
	if _, ok := t[whole].(hcl.TraverseIndex); ok {
		first = min(whole+2, end)
	}
	for i := first; i >= whole; i-- {
		out = append(out, traversalText(t[:i]))
	}
	return out
}
