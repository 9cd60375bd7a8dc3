package rewrite

import (
	"maps"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// reading finds out whether expressions may use an attribute of a resource. In references such as a[*].password,
// a[each.key].password and values(a)[*].password, other steps come before the name of the attribute.
type reading struct {
	of    symbol
	name  string          // the name of the attribute whose use is sought
	held  map[string]bool // the names of variables, such as each, whose value has an object of the resource
	item  bool            // the elements of the splat that is being examined are objects of the resource
	found bool
}

// reads reports whether the expression around a reference to a whole resource or instance may use the attribute called
// name. s is the symbol of the resource.
func (u use) reads(s symbol, name string) bool {
	r := &reading{of: s, name: name, held: map[string]bool{}}
	if u.isAddress() {
		return false
	}
	if held := r.holds(u.whole); held && u.kind == repeat && u.name == "for_each" && len(u.path) == 0 {
		r.of, r.held["each"] = symbol{}, true // other references to the resource are separate uses, which are examined separately
		r.body(u.block.Body)
	} else if held {
		return true
	}
	return r.found
}

// isAddress reports whether a reference only names a resource, such as in depends_on, and reads no value.
func (u use) isAddress() bool {
	switch u.block.Type {
	case "import", "moved", "removed":
		return u.name == "to" || u.name == "from"
	case "run", "override_resource", "mock_provider": // blocks of test files
		return u.name == "target" || u.name == "replace" || u.name == "expect_failures"
	}
	return u.kind == order || u.name == "replace_triggered_by"
}

// readsSelf reports whether a block uses an attribute of the resource that it declares.
func readsSelf(b *hclsyntax.Block, name string) bool {
	r := &reading{name: name, held: map[string]bool{"self": true}}
	r.body(b.Body)
	return r.found
}

// body examines the expressions of a body.
func (r *reading) body(b *hclsyntax.Body) {
	for _, a := range b.Attributes {
		r.all(a.Expr)
	}
	for _, inner := range b.Blocks {
		r.body(inner.Body)
	}
}

// all examines expressions of which the whole value is used.
func (r *reading) all(list ...hclsyntax.Expression) {
	for _, e := range list {
		if e != nil && r.holds(e) {
			r.found = true
		}
	}
}

// The functions whose results contain the objects in their arguments, and the functions whose results contain no values
// of these objects.
var (
	passing = map[string]bool{"concat": true, "element": true, "flatten": true, "merge": true, "one": true, "slice": true, "tolist": true, "try": true, "values": true}
	sizing  = map[string]bool{"keys": true, "length": true}
)

// holds reports whether the value of an expression is an object of the resource, or a collection of such objects.
func (r *reading) holds(e hclsyntax.Expression) bool {
	switch e := e.(type) {
	case *hclsyntax.ScopeTraversalExpr:
		return r.reference(e.Traversal)
	case *hclsyntax.RelativeTraversalExpr:
		return r.holds(e.Source) && r.steps(e.Traversal)
	case *hclsyntax.IndexExpr:
		r.all(e.Key)
		return r.holds(e.Collection)
	case *hclsyntax.SplatExpr:
		outer := r.item
		r.item = r.holds(e.Source)
		held := r.holds(e.Each)
		r.item = outer
		return held
	case *hclsyntax.AnonSymbolExpr:
		return r.item
	case *hclsyntax.ParenthesesExpr:
		return r.holds(e.Expression)
	case *hclsyntax.ConditionalExpr:
		r.all(e.Condition)
		yes, no := r.holds(e.TrueResult), r.holds(e.FalseResult)
		return yes || no
	case *hclsyntax.ForExpr:
		outer := r.held
		held := r.holds(e.CollExpr)
		r.held = maps.Clone(outer)
		r.held[e.KeyVar], r.held[e.ValVar] = false, held
		r.all(e.KeyExpr, e.CondExpr)
		held = r.holds(e.ValExpr)
		r.held = outer
		return held
	case *hclsyntax.FunctionCallExpr:
		held := false
		for _, a := range e.Args {
			switch {
			case !r.holds(a) || sizing[e.Name]:
			case passing[e.Name]:
				held = true
			default:
				r.found = true
			}
		}
		return held
	case *hclsyntax.BinaryOpExpr:
		r.all(e.LHS, e.RHS)
	case *hclsyntax.UnaryOpExpr:
		r.all(e.Val)
	case *hclsyntax.TemplateExpr:
		r.all(e.Parts...)
	case *hclsyntax.TemplateWrapExpr:
		return r.holds(e.Wrapped)
	case *hclsyntax.TemplateJoinExpr:
		r.all(e.Tuple)
	case *hclsyntax.TupleConsExpr:
		r.all(e.Exprs...)
	case *hclsyntax.ObjectConsExpr:
		for _, item := range e.Items {
			r.all(item.KeyExpr, item.ValueExpr)
		}
	case *hclsyntax.ObjectConsKeyExpr:
		if hcl.ExprAsKeyword(e) == "" {
			r.all(e.Wrapped)
		}
	}
	return false
}

// reference reports whether a reference leads to an object of the resource.
func (r *reading) reference(t hcl.Traversal) bool {
	root := t.RootName()
	held, local := r.held[root]
	switch s, ok := symbolOf(t); {
	case local && root == "each": // each.key is a key, not an object
		return len(t) > 1 && isName(t[1], "value") && r.steps(t[2:])
	case local:
		return held && r.steps(t[1:])
	case !ok || s != r.of:
		return false
	case root == "resource":
		return r.steps(t[3:])
	}
	return r.steps(t[2:])
}

func isName(s hcl.Traverser, name string) bool {
	a, ok := s.(hcl.TraverseAttr)
	return ok && a.Name == name
}

// steps follows the steps after an object, and reports whether they lead to an object again.
func (r *reading) steps(t hcl.Traversal) bool {
	for _, step := range t {
		switch s := step.(type) {
		case hcl.TraverseAttr:
			r.found = r.found || s.Name == r.name
			return false
		case hcl.TraverseIndex:
			if s.Key.Type() == cty.String && s.Key.AsString() == r.name {
				r.found = true
			}
		}
	}
	return true
}
