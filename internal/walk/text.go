package walk

import (
	"slices"
	"strings"
)

// Text lists the nodes as they were added, one on a line, by their labels, with their traits and what they
// come after:
//
//	+S
//	+P late; needs +E
//	+X; needs +S +P
//	-P closer; waits +P +X
func (g *Graph) Text(label func(Node) string) string {
	var b strings.Builder
	f := g.freeze()
	for n := range g.traits {
		b.WriteString(label(Node(n)))
		for i, word := range []string{" late", " closer", " gate"} {
			if g.traits[n]&(1<<i) != 0 {
				b.WriteString(word)
			}
		}
		deps := slices.Compact(slices.Sorted(slices.Values(f.before(Node(n)))))
		list(&b, label, "; needs", deps, true)
		list(&b, label, "; waits", deps, false)
		b.WriteByte('\n')
	}
	return b.String()
}

func list(b *strings.Builder, label func(Node) string, word string, deps []arc, needs bool) {
	for _, d := range deps {
		if d.needs() != needs {
			continue
		}
		b.WriteString(word)
		b.WriteByte(' ')
		b.WriteString(label(d.node()))
		word = ""
	}
}
