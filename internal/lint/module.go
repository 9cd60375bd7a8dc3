package lint

import (
	"regexp"
	"strings"
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/zclconf/go-cty/cty"
)

// module is the text of a module: the syntax of its native files (blocks), and the texts of its JSON files, of test
// files and of query files (others).
type module struct {
	*config.Module
	blocks []*block
	others []string
}

// block is a block at the top level of a native file.
type block struct {
	*hclsyntax.Block
	src []byte // the text of the file
}

// read parses the files of a module again, because compiling a program changes the syntax trees. It ignores errors,
// because package config has reported them.
func read(m *config.Module) *module {
	out := &module{Module: m}
	for _, f := range m.Files {
		if strings.HasSuffix(f.Name, ".json") {
			out.others = append(out.others, string(f.Bytes))
			continue
		}
		file, _ := hclsyntax.ParseConfig(f.Bytes, f.Name, hcl.InitialPos)
		if file == nil {
			continue
		}
		body, ok := file.Body.(*hclsyntax.Body)
		if !ok {
			continue
		}
		for _, b := range body.Blocks {
			out.blocks = append(out.blocks, &block{b, f.Bytes})
		}
	}
	return out
}

// each calls f for every expression in the block.
func (b *block) each(f func(hclsyntax.Node)) {
	_ = hclsyntax.VisitAll(b.Body, func(n hclsyntax.Node) hcl.Diagnostics {
		f(n)
		return nil
	})
}

// address returns the address by which expressions refer to the block: var.x, data.T.N. It returns "" for other blocks.
func (b *block) address() string {
	switch {
	case b.Type == "variable" && len(b.Labels) == 1:
		return "var." + b.Labels[0]
	case (b.Type == "data" || b.Type == "ephemeral") && len(b.Labels) == 2:
		return b.Type + "." + b.Labels[0] + "." + b.Labels[1]
	}
	return ""
}

// reference matches references that are strings in quotes, a form of early versions of the language.
var reference = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(var|local|data|ephemeral)\.[\w.-]+`) })

// named returns the address that a node refers to, such as var.x. It returns "" if the node is no reference to a
// variable, a local value, a data source or an ephemeral resource.
func named(n hclsyntax.Node) string {
	switch n := n.(type) {
	case *hclsyntax.ScopeTraversalExpr:
		return address(n.Traversal)
	case *hclsyntax.LiteralValueExpr:
		if text, ok := textOf(n); ok && reference().MatchString(text) {
			if t, ds := hclsyntax.ParseTraversalAbs([]byte(text), "", hcl.InitialPos); !ds.HasErrors() {
				return address(t)
			}
		}
	}
	return ""
}

// address returns the first names of a reference: two names for a variable or a local value, and three names for a data
// source or an ephemeral resource. It returns "" for any other reference.
func address(t hcl.Traversal) string {
	n := map[string]int{"var": 2, "local": 2, "data": 3, "ephemeral": 3}[t.RootName()]
	if n == 0 || len(t) < n {
		return ""
	}
	parts := []string{t.RootName()}
	for _, step := range t[1:n] {
		a, ok := step.(hcl.TraverseAttr)
		if !ok {
			return ""
		}
		parts = append(parts, a.Name)
	}
	return strings.Join(parts, ".")
}

// textOf returns the text of a literal string, and false for any other node.
func textOf(e hclsyntax.Node) (string, bool) {
	switch x := e.(type) {
	case *hclsyntax.TemplateExpr:
		if !x.IsStringLiteral() {
			return "", false
		}
	case *hclsyntax.LiteralValueExpr:
	default:
		return "", false
	}
	v, _ := e.(hclsyntax.Expression).Value(nil)
	if v.Type() != cty.String || !v.IsKnown() || v.IsNull() {
		return "", false
	}
	return v.AsString(), true
}
