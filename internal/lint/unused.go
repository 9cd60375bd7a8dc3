package lint

import (
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// unused reports variables, locals and data sources to which no expression of their module refers. References in the
// variable's own block, such as in its validations, do not count. A name that occurs in the text of a JSON file, a test
// file or a query file counts as used. A data source in a check block, or with conditions, is not reported, because it
// is read for the sake of the conditions.
func (c *checker) unused(m *module) {
	used := map[string]bool{}
	for _, b := range m.blocks {
		own := b.address()
		b.each(func(n hclsyntax.Node) {
			if name := named(n); name != "" && name != own {
				used[name] = true
			}
		})
	}
	is := func(name string) bool {
		for _, text := range m.others {
			if strings.Contains(text, name) {
				return true
			}
		}
		return used[name]
	}
	for _, b := range m.blocks {
		name := b.address()
		switch {
		case b.Type == "locals":
			for _, a := range b.Body.Attributes {
				if !is("local." + a.Name) {
					c.add(unused, a.NameRange, "Nothing in this module uses local.%s. Remove it.", a.Name)
				}
			}
		case b.Type == "variable" && name != "" && !is(name):
			c.add(unused, b.DefRange(), "Nothing in this module uses %s. Remove the variable, and its value where the module is called.", name)
		case b.Type == "data" && name != "" && !is(name) && !conditional(b):
			c.add(unused, b.DefRange(), "Nothing in this module uses %s, which is read in every plan. Remove the block.", name)
		}
	}
}

// conditional reports whether a data block has preconditions or postconditions: the only blocks that its lifecycle
// block may contain.
func conditional(b *block) bool {
	for _, inner := range b.Body.Blocks {
		if inner.Type == "lifecycle" && len(inner.Body.Blocks) > 0 {
			return true
		}
	}
	return false
}
