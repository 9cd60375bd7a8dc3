package lint

import (
	"bytes"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
)

// forms reports strings that consist of one interpolation, and forms of early versions of the language. Package config
// itself warns of quoted references and keywords.
func (c *checker) forms(m *module) {
	keys := map[hclsyntax.Node]bool{} // keys of objects, where a reference without quotes would be an error
	for _, b := range m.blocks {
		b.each(func(n hclsyntax.Node) {
			switch n := n.(type) {
			case *hclsyntax.ObjectConsKeyExpr:
				keys[n.Wrapped] = true
			case *hclsyntax.TemplateWrapExpr:
				if keys[n] {
					return
				}
				c.add(onlyTemplate, n.Range(), "The string consists of one interpolation. Write the expression without quotes and braces.")
			case *hclsyntax.ScopeTraversalExpr:
				c.oldIndex(b, n.Traversal)
			case *hclsyntax.RelativeTraversalExpr:
				c.oldIndex(b, n.Traversal)
			case *hclsyntax.SplatExpr:
				if bytes.HasPrefix(n.MarkerRange.SliceBytes(b.src), []byte(".")) {
					c.add(oldSyntax, n.MarkerRange, "The form .* is of an early version of the language. Write [*], which also selects attributes of elements.")
				}
			}
		})
	}
}

// oldIndex reports a.0, the early form of a[0].
func (c *checker) oldIndex(b *block, t hcl.Traversal) {
	for _, step := range t {
		if i, ok := step.(hcl.TraverseIndex); ok && bytes.HasPrefix(i.SrcRange.SliceBytes(b.src), []byte(".")) {
			c.add(oldSyntax, i.SrcRange, "This form of an index is of an early version of the language. Write the index in brackets, such as [0].")
		}
	}
}

// counts reports blocks whose count is the length of a list and whose arguments select elements of this list with
// count.index.
func (c *checker) counts(m *module) {
	for _, b := range m.blocks {
		a := b.Body.Attributes["count"]
		if a == nil {
			continue
		}
		call, ok := a.Expr.(*hclsyntax.FunctionCallExpr)
		if !ok || call.Name != "length" || len(call.Args) != 1 {
			continue
		}
		list := string(call.Args[0].Range().SliceBytes(b.src))
		selects := false
		b.each(func(n hclsyntax.Node) {
			switch n := n.(type) {
			case *hclsyntax.IndexExpr:
				selects = selects || string(n.Collection.Range().SliceBytes(b.src)) == list && isIndex(n.Key)
			case *hclsyntax.FunctionCallExpr:
				selects = selects || n.Name == "element" && len(n.Args) == 2 && string(n.Args[0].Range().SliceBytes(b.src)) == list && isIndex(n.Args[1])
			}
		})
		if selects {
			c.add(countOver, a.SrcRange, "Each instance has the number of its element in %s. If an element is removed from the middle, all later objects change. Use for_each with toset(%s) or with a map.", list, list)
		}
	}
}

// isIndex reports whether an expression is a reference to count, which has only the attribute index.
func isIndex(e hclsyntax.Expression) bool {
	t, ok := e.(*hclsyntax.ScopeTraversalExpr)
	return ok && t.Traversal.RootName() == "count"
}

// versions reports providers without a version constraint. A child module that uses a provider without an entry in
// required_providers leaves the version to its caller, so such providers count only in the root module. Built-in
// providers have no versions. A provider does not count if its entry may be in a part of the module that could not be
// read (Uncertain).
func (c *checker) versions(n *config.Node) {
	for _, local := range slices.Sorted(maps.Keys(n.Module.Required)) {
		r := n.Module.Required[local]
		if len(r.Versions) > 0 || r.Uncertain || r.Source.IsBuiltin() {
			continue
		}
		at := r.Range
		if at == (diag.Range{}) {
			if n.Parent != nil {
				continue
			}
			at = firstUse(n.Module, local)
		}
		c.add(unversioned, at, "The provider %s has no version constraint, so a new module or lock file gets the newest version. Add version to its entry in required_providers.", r.Source.ForDisplay())
	}
}

// firstUse returns the place of the first resource that uses the provider with the local name local, in the order of
// files and lines. It returns the zero value if no resource uses the provider.
func firstUse(m *config.Module, local string) (at diag.Range) {
	for _, r := range m.Resources {
		if r.LocalProvider().Local != local {
			continue
		}
		if at == (diag.Range{}) || r.Range.Filename < at.Filename || r.Range.Filename == at.Filename && r.Range.Start.Byte < at.Start.Byte {
			at = r.Range
		}
	}
	return at
}
