package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/json"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// typeTree returns the syntax tree of a type expression. In JSON it parses the string. If the expression is not a type,
// or its defaults are too large, typeTree reports an error and returns false.
func (rd *reader) typeTree(e hcl.Expression) (hclsyntax.Expression, bool) {
	n, ok := e.(hclsyntax.Expression)
	if text, quoted := plainText(e); quoted && json.IsJSONExpression(e) {
		n = rd.parseInside(e, text)
		ok = n != nil
	}
	if !ok {
		rd.error(e.Range(), "Invalid type specification", "A type specification is either a primitive type keyword (bool, number, string) or a complex type constructor call, like list(string).")
		return nil, false
	}
	if defaultsIn(n) > maxTypeDefaults {
		rd.error(e.Range(), "Constant expression too large", "The defaults of the optional attributes in this type may be larger than the limit for constants. Make them smaller.")
		return nil, false
	}
	return n, true
}

// maxTypeDefaults is the maximum number of elements in the defaults of optional attributes of one type. The HCL library
// converts these defaults while it reads the type, and compares each pair of elements.
const maxTypeDefaults = 10_000

// defaultsIn counts the elements in the defaults of optional attributes. For loops it returns an upper bound. It counts
// up to 2*maxTypeDefaults.
func defaultsIn(e hclsyntax.Expression) int {
	n := 0
	_ = hclsyntax.VisitAll(e, func(node hclsyntax.Node) hcl.Diagnostics {
		if call, ok := node.(*hclsyntax.FunctionCallExpr); ok && call.Name == "optional" && len(call.Args) > 1 {
			_ = hclsyntax.VisitAll(call.Args[1], func(part hclsyntax.Node) hcl.Diagnostics {
				switch part.(type) {
				case *hclsyntax.ForExpr, *hclsyntax.SplatExpr:
					n *= max(n, 2)
				}
				n = min(n+1, 2*maxTypeDefaults)
				return nil
			})
		}
		return nil
	})
	return n
}

var typeNames = []string{"string", "number", "bool", "any", "list", "set", "map", "object", "tuple", "optional"}

// elsewhere maps type names of other languages to the type names of this language.
var elsewhere = map[string]string{
	"str": "string", "text": "string", "int": "number", "integer": "number", "int64": "number", "float": "number", "double": "number",
	"boolean": "bool", "array": "list", "slice": "list", "vector": "list", "dict": "map", "hash": "map", "struct": "object", "record": "object",
}

// withTypeNames adds a suggestion to each error about an unknown word in a type.
func withTypeNames(e hclsyntax.Expression, ds hcl.Diagnostics) hcl.Diagnostics {
	words := map[hcl.Range]string{}
	_ = hclsyntax.VisitAll(e, func(n hclsyntax.Node) hcl.Diagnostics {
		switch n := n.(type) {
		case *hclsyntax.ScopeTraversalExpr:
			words[n.Range()] = n.Traversal.RootName()
		case *hclsyntax.FunctionCallExpr:
			words[n.Range()] = n.Name
		}
		return nil
	})
	for _, d := range ds {
		if d.Subject == nil || slices.Contains(typeNames, words[*d.Subject]) {
			continue
		}
		word := words[*d.Subject]
		if meant := elsewhere[strings.ToLower(word)]; meant != "" {
			d.Detail += fmt.Sprintf(" Did you mean %q?", meant)
		} else if word != "" {
			d.Detail += suggestion(word, typeNames)
		}
	}
	return ds
}

// conversion returns the text of a conversion error, with the path inside the value.
func conversion(err error) string {
	pe, ok := err.(cty.PathError)
	if !ok || len(pe.Path) == 0 {
		return err.Error()
	}
	return mark.PathString(pe.Path) + ": " + err.Error()
}
