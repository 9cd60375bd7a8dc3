package program

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/config/native"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/expr"
	"github.com/lethe-iac/lethe/internal/lang/funcs"
	"github.com/zclconf/go-cty/cty"
)

// Expressions are compiled by rewriting their syntax trees. Nodes of package expr replace the references to
// declarations, and the constructs that Lethe evaluates in another way than the HCL library. All other nodes stay nodes
// of the library. Each node of package expr embeds the library's node that it replaces, which keeps ranges and makes
// the node an hclsyntax.Expression. During evaluation, the nodes find the module instance in the root of the evaluation
// context (expr.Env).

// maxDepth is the maximum depth of nested expressions. The parser limits the depth in native syntax, and maxDepth also
// limits the depth in JSON.
const maxDepth = 2000

// expr compiles an expression in native or JSON syntax.
func (r *rewriter) expr(e hcl.Expression) hclsyntax.Expression {
	return r.node(Native(e))
}

func (r *rewriter) optional(e hcl.Expression) hclsyntax.Expression {
	if e == nil {
		return nil
	}
	return r.expr(e)
}

func (r *rewriter) node(e hclsyntax.Expression) hclsyntax.Expression {
	r.depth++
	defer func() { r.depth-- }()
	if r.depth > maxDepth {
		return r.c.tooDeep(e)
	}
	if r.content > 0 && r.depth == 1 {
		return r.deferred(e)
	}
	return r.compiled(e)
}

func (r *rewriter) compiled(e hclsyntax.Expression) hclsyntax.Expression {
	switch e := e.(type) {
	case *hclsyntax.LiteralValueExpr:
		return e
	case *hclsyntax.ScopeTraversalExpr:
		return r.traversal(e)
	case *hclsyntax.RelativeTraversalExpr:
		return r.relative(e)
	case *hclsyntax.IndexExpr:
		return r.index(e)
	case *hclsyntax.SplatExpr:
		return r.splat(e)
	case *hclsyntax.ForExpr:
		return r.forExpr(e)
	case *hclsyntax.FunctionCallExpr:
		return r.call(e)
	case *hclsyntax.ConditionalExpr:
		n := *e
		n.Condition, n.TrueResult, n.FalseResult = r.node(e.Condition), r.node(e.TrueResult), r.node(e.FalseResult)
		return &expr.Conditional{ConditionalExpr: &n}
	case *hclsyntax.BinaryOpExpr:
		n := *e
		n.LHS, n.RHS = r.node(e.LHS), r.node(e.RHS)
		if expr.TestsNull(&n) {
			return &expr.NullTest{BinaryOpExpr: &n}
		}
		return &expr.Binary{BinaryOpExpr: &n}
	case *hclsyntax.UnaryOpExpr:
		n := *e
		n.Val = r.node(e.Val)
		return expr.Fold(&expr.Unary{UnaryOpExpr: &n}, n.Val)
	case *hclsyntax.ParenthesesExpr:
		n := *e
		n.Expression = r.node(e.Expression)
		return &n
	}
	return r.composite(e)
}

// deferred compiles a whole expression in the content of a dynamic block. The dynamic block may generate no block, so
// errors in the expression must not be reported before the evaluation. If the expression has errors, deferred returns
// an expr.Deferred, whose evaluation reports them.
func (r *rewriter) deferred(e hclsyntax.Expression) hclsyntax.Expression {
	bag, failed := r.c.bag, r.c.failed
	own := &diag.Bag{}
	r.c.bag = own
	out := r.compiled(e)
	r.c.bag = bag
	if !own.HasErrors() {
		bag.Add(own.List()...)
		return out
	}
	r.c.failed = failed
	return &expr.Deferred{Expression: e, Mistakes: own.List()}
}

// traversal compiles a name with the steps after it: a loop variable or a reference. If the reference is not valid,
// traversal reports an error and returns an expression with an unknown value.
func (r *rewriter) traversal(e *hclsyntax.ScopeTraversalExpr) hclsyntax.Expression {
	if r.isLocal(e.Traversal.RootName()) {
		if loop := r.loopOver(e.Traversal.RootName()); loop != nil {
			r.selectsOutput(loop, e.Traversal[1:], true)
		}
		return expr.NewLoopVar(e)
	}
	ref, ok := r.resolve(e)
	if !ok || !r.allowed(ref) || !r.staticOnly(ref) || !r.keyed(ref) {
		return expr.UnknownAt(e.SrcRange)
	}
	if ref.Root != expr.RootLocal {
		r.c.varies()
	}
	r.note(ref, instancesOf(ref))
	r.selects(ref, ref.Rest)
	if ref.Root == expr.RootLocal {
		r.selectsOutput(ref, ref.Rest, false)
	}
	return ref
}

// index compiles collection[key]. If the collection is a repeated declaration, the result evaluates only the selected
// instance. If the key is not valid, index reports an error and returns an expression with an unknown value.
func (r *rewriter) index(e *hclsyntax.IndexExpr) hclsyntax.Expression {
	n := *e
	n.Key = r.node(e.Key)
	target := r.indexable(e.Collection)
	if target == nil {
		n.Collection = r.node(e.Collection)
		return &expr.Index{IndexExpr: &n}
	}
	if !r.noteIndexed(target, n.Key, e.SrcRange) {
		return expr.UnknownAt(e.SrcRange)
	}
	n.Collection = target
	return &expr.Index{IndexExpr: &n, Target: target}
}

// relative compiles source.rest. If source is one instance of a module, the result evaluates only the selected output.
func (r *rewriter) relative(e *hclsyntax.RelativeTraversalExpr) hclsyntax.Expression {
	n := *e
	if ix, ok := e.Source.(*hclsyntax.IndexExpr); ok {
		if target := r.indexable(ix.Collection); target != nil && target.Root == expr.RootCall {
			return r.outputOf(target, ix, &n)
		}
	}
	n.Source = r.node(e.Source)
	if ix, ok := n.Source.(*expr.Index); ok {
		if ix.Target != nil {
			r.noteSelection(selection{Target: ix.Target, Rest: n.Traversal, Any: ix.Target.Repeated})
		} else if whole, ok := ix.Collection.(*expr.Ref); ok && len(whole.Rest) == 0 {
			r.selectsOutput(whole, n.Traversal, true)
		}
	}
	return &expr.Relative{RelativeTraversalExpr: &n}
}

// outputOf compiles module.c[key].output.rest. target is the module call, ix is module.c[key], and n is the whole
// expression. If no output follows the key, all outputs of the instance are evaluated. If the key is not valid,
// outputOf reports an error and returns an expression with an unknown value.
func (r *rewriter) outputOf(target *expr.Ref, ix *hclsyntax.IndexExpr, n *hclsyntax.RelativeTraversalExpr) hclsyntax.Expression {
	key := r.node(ix.Key)
	name, rest, ok := expr.Attribute(n.Traversal)
	if !ok {
		n.Source = r.node(n.Source)
		return &expr.Relative{RelativeTraversalExpr: n}
	}
	target.Output, target.Rest = name, rest
	if !r.noteIndexed(target, key, n.SrcRange) {
		return expr.UnknownAt(n.SrcRange)
	}
	inner := *ix
	inner.Key, inner.Collection = key, target
	n.Source = &inner
	return &expr.OutputOf{RelativeTraversalExpr: n, Target: target, Key: key, KeyAt: ix.BracketRange}
}

// composite compiles constructors, templates and syntax errors.
func (r *rewriter) composite(e hclsyntax.Expression) hclsyntax.Expression {
	switch e := e.(type) {
	case *hclsyntax.TupleConsExpr:
		n := *e
		n.Exprs = r.nodes(e.Exprs)
		return expr.Fold(&n, n.Exprs...)
	case *hclsyntax.ObjectConsExpr:
		n := *e
		n.Items = make([]hclsyntax.ObjectConsItem, len(e.Items))
		parts := make([]hclsyntax.Expression, 0, 2*len(e.Items))
		for i, item := range e.Items {
			n.Items[i] = hclsyntax.ObjectConsItem{KeyExpr: r.node(item.KeyExpr), ValueExpr: r.node(item.ValueExpr)}
			parts = append(parts, n.Items[i].KeyExpr, n.Items[i].ValueExpr)
		}
		return expr.Fold(expr.NewObject(&n), parts...)
	case *hclsyntax.ObjectConsKeyExpr:
		return r.objectKey(e)
	case *hclsyntax.TemplateExpr:
		n := *e
		n.Parts = r.nodes(e.Parts)
		return expr.Fold(&expr.Template{TemplateExpr: &n}, n.Parts...)
	case *hclsyntax.TemplateWrapExpr:
		n := *e
		n.Wrapped = r.node(e.Wrapped)
		return &n
	case *hclsyntax.TemplateJoinExpr:
		n := *e
		n.Tuple = r.node(e.Tuple)
		return &expr.TemplateJoin{TemplateJoinExpr: &n}
	}
	if bad, ok := e.(*hclsyntax.ExprSyntaxError); ok {
		r.c.hcl(bad.ParseDiags)
		return expr.UnknownAt(bad.SrcRange)
	}
	return e // the symbol that represents the element in a splat
}

func (r *rewriter) nodes(es []hclsyntax.Expression) []hclsyntax.Expression {
	out := make([]hclsyntax.Expression, len(es))
	for i, e := range es {
		out[i] = r.node(e)
	}
	return out
}

// objectKey compiles the key in an object constructor. A name without quotes and parentheses is a string, not a
// reference.
func (r *rewriter) objectKey(e *hclsyntax.ObjectConsKeyExpr) hclsyntax.Expression {
	if name := hcl.ExprAsKeyword(e.Wrapped); !e.ForceNonLiteral && name != "" {
		return &hclsyntax.LiteralValueExpr{Val: cty.StringVal(name), SrcRange: e.Range()}
	}
	if _, ok := e.Wrapped.(*hclsyntax.ScopeTraversalExpr); ok && !e.ForceNonLiteral {
		return e // the evaluation returns the library's error "Ambiguous attribute key"
	}
	n := *e
	n.Wrapped = r.node(e.Wrapped)
	return &n
}

func (r *rewriter) forExpr(e *hclsyntax.ForExpr) hclsyntax.Expression {
	n := *e
	n.CollExpr = r.node(e.CollExpr)
	names := locals{e.ValVar: nil}
	if loop, ok := n.CollExpr.(*expr.Ref); ok && len(loop.Rest) == 0 && (loop.Root == expr.RootLocal || loop.Repeated && !loop.HasKey) {
		names[e.ValVar] = loop
	}
	if e.KeyVar != "" {
		names[e.KeyVar] = nil
	}
	r.within(names, func() {
		if e.KeyExpr != nil {
			n.KeyExpr = r.node(e.KeyExpr)
		}
		n.ValExpr = r.node(e.ValExpr)
		if e.CondExpr != nil {
			n.CondExpr = r.node(e.CondExpr)
		}
	})
	return &expr.For{ForExpr: &n}
}

func (r *rewriter) splat(e *hclsyntax.SplatExpr) hclsyntax.Expression {
	n := &hclsyntax.SplatExpr{Source: r.node(e.Source), Each: r.node(e.Each), Item: e.Item, SrcRange: e.SrcRange, MarkerRange: e.MarkerRange}
	r.selectsEach(n.Source, n.Each)
	return &expr.Splat{SplatExpr: n}
}

// arguments compiles the arguments of a function call. The second argument of convert is a type, so names in it are not
// references. In try and can, wrong references are not errors before the evaluation. In ephemeralasnull, references
// have the reason ByNull.
func (r *rewriter) arguments(e *hclsyntax.FunctionCallExpr) []hclsyntax.Expression {
	if strings.TrimPrefix(e.Name, "core::") == "convert" && len(e.Args) > 1 {
		out := r.nodes(append([]hclsyntax.Expression{e.Args[0]}, e.Args[2:]...))
		return slices.Insert(out, 1, e.Args[1])
	}
	switch strings.TrimPrefix(e.Name, "core::") {
	case "try", "can":
		r.lenient++
		defer func() { r.lenient-- }()
	case "ephemeralasnull":
		defer func(why Use) { r.why = why }(r.why)
		r.why = ByNull
	}
	return r.nodes(e.Args)
}

func (r *rewriter) call(e *hclsyntax.FunctionCallExpr) hclsyntax.Expression {
	if !funcs.Pure(e.Name) {
		r.c.varies()
	}
	n := *e
	n.Args = r.arguments(e)
	if !r.staticFunction(&n) {
		return expr.UnknownAt(e.Range())
	}
	if provided := r.providerFunction(&n); provided != nil {
		return provided
	}
	if !r.checkFunction(&n) {
		return expr.UnknownAt(e.Range())
	}
	return expr.NewCall(&n)
}

// Native returns the syntax tree of an expression in native or JSON syntax. If the expression cannot be parsed, Native
// returns a node for the syntax error, which is reported when the tree is compiled.
func Native(e hcl.Expression) hclsyntax.Expression {
	if n, ok := e.(hclsyntax.Expression); ok {
		return n
	}
	n, diags := native.Expression(e)
	if diags.HasErrors() {
		return &hclsyntax.ExprSyntaxError{Placeholder: cty.DynamicVal, ParseDiags: diags, SrcRange: e.Range()}
	}
	return n
}
