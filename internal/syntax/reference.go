package syntax

import (
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/lethe-iac/lethe/internal/addr"
)

// ReferenceText returns a reference as users write it, with [...] for an index that is not an instance key.
func ReferenceText(t hcl.Traversal) string {
	var b strings.Builder
	for _, s := range t {
		switch s := s.(type) {
		case hcl.TraverseRoot:
			b.WriteString(s.Name)
		case hcl.TraverseAttr:
			b.WriteString("." + s.Name)
		case hcl.TraverseIndex:
			if k, ok := addr.KeyOf(s.Key); ok {
				b.WriteString(k.String())
			} else {
				b.WriteString("[...]")
			}
		case hcl.TraverseSplat:
			b.WriteString("[*]")
		}
	}
	return b.String()
}
