// Package native converts expressions in JSON into the syntax tree of expressions in native syntax.
package native

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/syntax"
	"github.com/zclconf/go-cty/cty"
)

// Expression returns the syntax tree of an expression in either syntax, so that package lang compiles only one kind of
// tree. It returns expressions in native syntax unchanged. The diagnostics report invalid templates, and a constant key
// that occurs twice in an object. The tree is complete even then: an invalid template evaluates to an unknown value.
//
// Expression converts JSON as follows:
//
//   - A string is a template.
//   - An array is a tuple.
//   - An object is an object whose keys are templates, too.
//   - Numbers, booleans and null are constants.
//
// Positions inside a string are counted from its opening quote. They are correct if no escape sequence precedes them.
//
// Bodies are not converted, because in JSON only a schema distinguishes arguments from blocks. Callers read the content
// of a body with a schema and convert the resulting expressions.
func Expression(e hcl.Expression) (hclsyntax.Expression, hcl.Diagnostics) {
	if n, ok := e.(hclsyntax.Expression); ok {
		return n, nil
	}
	if list, ok := e.(interface{ ExprList() []hcl.Expression }); ok {
		if items := list.ExprList(); items != nil {
			return nativeTuple(e, items)
		}
	}
	if obj, ok := e.(interface{ ExprMap() []hcl.KeyValuePair }); ok {
		if pairs := obj.ExprMap(); pairs != nil {
			return nativeObject(e, pairs)
		}
	}
	return nativeScalar(e)
}

func nativeTuple(e hcl.Expression, items []hcl.Expression) (hclsyntax.Expression, hcl.Diagnostics) {
	out := &hclsyntax.TupleConsExpr{Exprs: make([]hclsyntax.Expression, len(items)), SrcRange: e.Range(), OpenRange: e.StartRange()}
	var all hcl.Diagnostics
	for i, item := range items {
		n, ds := Expression(item)
		out.Exprs[i] = n
		all = append(all, ds...)
	}
	return out, all
}

func nativeObject(e hcl.Expression, pairs []hcl.KeyValuePair) (hclsyntax.Expression, hcl.Diagnostics) {
	out := &hclsyntax.ObjectConsExpr{Items: make([]hclsyntax.ObjectConsItem, len(pairs)), SrcRange: e.Range(), OpenRange: e.StartRange()}
	var all hcl.Diagnostics
	seen := make(map[string]hcl.Range, len(pairs))
	for i, p := range pairs {
		key, ds := Expression(p.Key)
		value, more := Expression(p.Value)
		out.Items[i] = hclsyntax.ObjectConsItem{KeyExpr: &hclsyntax.ObjectConsKeyExpr{Wrapped: key, ForceNonLiteral: true}, ValueExpr: value}
		all = append(append(all, ds...), more...)
		all = append(all, duplicateKey(p.Key, seen)...)
	}
	return out, all
}

// duplicateKey returns an error for a constant key that occurred before in the object. Without the error, the last
// value would win, as in native syntax.
func duplicateKey(key hcl.Expression, seen map[string]hcl.Range) hcl.Diagnostics {
	v, ds := key.Value(nil)
	if ds.HasErrors() || v.Type() != cty.String || syntax.HasSequence(v.AsString()) {
		return nil
	}
	name := v.AsString()
	if first, again := seen[name]; again {
		r := key.Range()
		return hcl.Diagnostics{{
			Severity: hcl.DiagError,
			Summary:  "Duplicate object attribute",
			Detail:   fmt.Sprintf("An attribute named %q was already defined at %s. Remove one of them.", name, first),
			Subject:  &r,
		}}
	}
	seen[name] = key.Range()
	return nil
}

func nativeScalar(e hcl.Expression) (hclsyntax.Expression, hcl.Diagnostics) {
	v, ds := e.Value(nil) // without variables, the library returns strings without interpreting templates
	r := e.Range()
	if ds.HasErrors() || v.Type() != cty.String || v.IsNull() || !v.IsKnown() {
		return &hclsyntax.LiteralValueExpr{Val: v, SrcRange: r}, ds
	}
	text := v.AsString()
	if !syntax.HasSequence(text) {
		lit := &hclsyntax.LiteralValueExpr{Val: v, SrcRange: r}
		return &hclsyntax.TemplateExpr{Parts: []hclsyntax.Expression{lit}, SrcRange: r}, nil
	}
	tmpl, ds := hclsyntax.ParseTemplate([]byte(text), r.Filename, Inside(r))
	if ds.HasErrors() {
		return &hclsyntax.ExprSyntaxError{Placeholder: cty.DynamicVal, ParseDiags: ds, SrcRange: r}, ds
	}
	return tmpl, ds
}

// Inside returns the position after the opening quote of a string in JSON.
func Inside(r hcl.Range) hcl.Pos {
	p := r.Start
	p.Byte++
	p.Column++
	return p
}

// Key returns the expression for a constant key of an object, for use in Object. name is the key, and r is its range in
// the source, for diagnostics.
func Key(name string, r hcl.Range) hclsyntax.Expression {
	lit := &hclsyntax.LiteralValueExpr{Val: cty.StringVal(name), SrcRange: r}
	return &hclsyntax.ObjectConsKeyExpr{Wrapped: &hclsyntax.TemplateExpr{Parts: []hclsyntax.Expression{lit}, SrcRange: r}}
}

// Object returns the expression of an object with one element. key is an expression that the function Key has returned.
// r is the range that diagnostics report for the whole object.
func Object(r hcl.Range, key, value hclsyntax.Expression) hclsyntax.Expression {
	return &hclsyntax.ObjectConsExpr{Items: []hclsyntax.ObjectConsItem{{KeyExpr: key, ValueExpr: value}}, SrcRange: r, OpenRange: r}
}
