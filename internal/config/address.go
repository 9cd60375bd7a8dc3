package config

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/json"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/zclconf/go-cty/cty"
)

// notResource holds reserved words. A reference that begins with one of them is not an address.
var notResource = map[string]bool{
	"var": true, "local": true, "path": true, "self": true, "each": true, "count": true,
	"terraform": true, "tofu": true, "output": true, "check": true, "run": true, "provider": true,
}

const exampleAddress = "aws_instance.web or module.net"

// endpoint reads the address in a moved or removed block. If the address is invalid, endpoint reports an error and
// returns false.
func (rd *reader) endpoint(a *hcl.Attribute) (Endpoint, bool) {
	if _, quoted := plainText(a.Expr); quoted && !json.IsJSONExpression(a.Expr) {
		rd.error(a.Expr.Range(), "Invalid expression", "The address in %q is written without quotes, such as %s. Remove the quotes.", a.Name, exampleAddress)
		return Endpoint{}, false
	}
	t, ok := rd.traversal(a.Expr, a.Name, exampleAddress)
	if !ok {
		return Endpoint{}, false
	}
	target, problem := addressOf(t)
	if problem != "" {
		rd.error(a.Expr.Range(), "Invalid address", "%s", problem)
		return Endpoint{}, false
	}
	return Endpoint{Target: target, Range: a.Expr.Range()}, true
}

// addressOf returns the address that a reference spells, and "". For an invalid address it returns the text of the
// error message as the second result.
func addressOf(t hcl.Traversal) (addr.Target, string) {
	if root := t.RootName(); notResource[root] {
		return addr.Target{}, fmt.Sprintf("The word %q is reserved and cannot be used to target a resource address. If you are targeting a resource type of that name, prefix the address with \"resource.\".", root)
	}
	var b strings.Builder
	for _, step := range t {
		if problem := writeStep(&b, step); problem != "" {
			return addr.Target{}, problem
		}
	}
	target, err := addr.ParseTarget(b.String())
	if err != nil {
		return addr.Target{}, fmt.Sprintf("The address %v. An address consists of the type and the name of a resource, or of \"module\" and the name of a module, such as %s.", err, exampleAddress)
	}
	return target, ""
}

// writeStep appends one step of a reference to an address. It returns "", or the text of an error message if the step
// is invalid.
func writeStep(b *strings.Builder, step hcl.Traverser) string {
	switch step := step.(type) {
	case hcl.TraverseRoot:
		b.WriteString(step.Name)
	case hcl.TraverseAttr:
		b.WriteString("." + step.Name)
	case hcl.TraverseIndex:
		k, ok := addr.KeyOf(step.Key)
		if !ok {
			return "An instance key must be a whole number or a string."
		}
		b.WriteString(k.String())
	default:
		return "An address must name one object, so it cannot contain a splat."
	}
	return ""
}

// skeleton returns the address that an expression spells, without its instance keys. The keys may be any expressions,
// as in import blocks. It returns false if the expression is not an address.
func skeleton(e hclsyntax.Expression) (hcl.Traversal, bool) {
	switch e := e.(type) {
	case *hclsyntax.ScopeTraversalExpr:
		return withoutKeys(e.Traversal), true
	case *hclsyntax.IndexExpr:
		return skeleton(e.Collection)
	case *hclsyntax.RelativeTraversalExpr:
		t, ok := skeleton(e.Source)
		return append(t, withoutKeys(e.Traversal)...), ok
	}
	return nil, false
}

func withoutKeys(t hcl.Traversal) hcl.Traversal {
	out := make(hcl.Traversal, 0, len(t))
	for _, step := range t {
		if _, key := step.(hcl.TraverseIndex); !key {
			out = append(out, step)
		}
	}
	return out
}

// isConstant returns the traversal of an address whose keys are all constant, and false for any other expression.
func isConstant(e hclsyntax.Expression) (hcl.Traversal, bool) {
	t, ok := e.(*hclsyntax.ScopeTraversalExpr)
	if !ok {
		return nil, false
	}
	for _, step := range t.Traversal {
		if ix, key := step.(hcl.TraverseIndex); key && (!ix.Key.IsKnown() || ix.Key.Type() == cty.DynamicPseudoType) {
			return nil, false
		}
	}
	return t.Traversal, true
}
