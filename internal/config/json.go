package config

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/json"
	"github.com/lethe-iac/lethe/internal/syntax"
	"github.com/zclconf/go-cty/cty"
)

// Native gives the syntax tree of an expression in either syntax, so that package lang compiles
// one kind of tree. What is in native syntax already is returned as it is.
//
// In JSON syntax a string is a template, an array a tuple, and an object an object whose keys are
// templates too; numbers, booleans and null are themselves. Places inside a string are counted
// from its opening quote, so they are right where the string has no escapes before them.
//
// Bodies are not converted: in JSON only a schema tells arguments from blocks. Ask them for their
// content with the schema, and convert the expressions that come out.
func Native(e hcl.Expression) (hclsyntax.Expression, hcl.Diagnostics) {
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

func isJSON(e hcl.Expression) bool { return json.IsJSONExpression(e) }

func nativeTuple(e hcl.Expression, items []hcl.Expression) (hclsyntax.Expression, hcl.Diagnostics) {
	out := &hclsyntax.TupleConsExpr{Exprs: make([]hclsyntax.Expression, len(items)), SrcRange: e.Range(), OpenRange: e.StartRange()}
	var all hcl.Diagnostics
	for i, item := range items {
		n, ds := Native(item)
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
		key, ds := Native(p.Key)
		value, more := Native(p.Value)
		out.Items[i] = hclsyntax.ObjectConsItem{KeyExpr: &hclsyntax.ObjectConsKeyExpr{Wrapped: key, ForceNonLiteral: true}, ValueExpr: value}
		all = append(append(all, ds...), more...)
		all = append(all, duplicateKey(p.Key, seen)...)
	}
	return out, all
}

// duplicateKey refuses a constant key that came before: in native syntax the last one would win.
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
	v, ds := e.Value(nil) // without variables the library takes strings as they are
	r := e.Range()
	if ds.HasErrors() || v.Type() != cty.String || v.IsNull() || !v.IsKnown() {
		return &hclsyntax.LiteralValueExpr{Val: v, SrcRange: r}, ds
	}
	text := v.AsString()
	if !syntax.HasSequence(text) {
		lit := &hclsyntax.LiteralValueExpr{Val: v, SrcRange: r}
		return &hclsyntax.TemplateExpr{Parts: []hclsyntax.Expression{lit}, SrcRange: r}, nil
	}
	tmpl, ds := hclsyntax.ParseTemplate([]byte(text), r.Filename, inside(r))
	if ds.HasErrors() {
		return &hclsyntax.ExprSyntaxError{Placeholder: cty.DynamicVal, ParseDiags: ds, SrcRange: r}, ds
	}
	return tmpl, ds
}

// inside is the position after the opening quote of a string.
func inside(r hcl.Range) hcl.Pos {
	p := r.Start
	p.Byte++
	p.Column++
	return p
}

// textKey is the key of an object, as a constant.
func textKey(name string, r hcl.Range) hclsyntax.Expression {
	lit := &hclsyntax.LiteralValueExpr{Val: cty.StringVal(name), SrcRange: r}
	return &hclsyntax.ObjectConsKeyExpr{Wrapped: &hclsyntax.TemplateExpr{Parts: []hclsyntax.Expression{lit}, SrcRange: r}}
}

func objectOf(r hcl.Range, key, value hclsyntax.Expression) hclsyntax.Expression {
	return &hclsyntax.ObjectConsExpr{Items: []hclsyntax.ObjectConsItem{{KeyExpr: key, ValueExpr: value}}, SrcRange: r, OpenRange: r}
}
