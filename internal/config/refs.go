package config

import (
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/json"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/syntax"
	"github.com/zclconf/go-cty/cty"
)

// Some arguments take references rather than values. In native syntax they are written bare, and
// in quotes, as of old, with a warning; in JSON syntax they are strings.

// plainText is the text of a quoted string without template sequences.
func plainText(e hcl.Expression) (string, bool) {
	if json.IsJSONExpression(e) {
		v, ds := e.Value(nil)
		if ds.HasErrors() || v.Type() != cty.String || v.IsNull() {
			return "", false
		}
		return v.AsString(), true
	}
	t, ok := e.(*hclsyntax.TemplateExpr)
	if !ok || len(t.Parts) != 1 {
		return "", false
	}
	lit, ok := t.Parts[0].(*hclsyntax.LiteralValueExpr)
	if !ok || lit.Val.Type() != cty.String || lit.Val.IsNull() {
		return "", false
	}
	return lit.Val.AsString(), true
}

// bare gives the syntax tree of what stands in a reference argument, in either syntax and with or without
// quotes, nil if there is none; the caller says what it wanted to find.
func (rd *reader) bare(e hcl.Expression) hclsyntax.Expression {
	text, quoted := plainText(e)
	if !quoted {
		n, ds := Native(e)
		if ds.HasErrors() {
			return nil
		}
		return n
	}
	if !isJSON(e) {
		rd.quoted(e, "references")
	}
	return rd.parseInside(e, text)
}

// quoted warns about quotes where none belong.
func (rd *reader) quoted(e hcl.Expression, what string) {
	rd.warn(e.Range(), "Quoted "+what+" are deprecated", "In this context, %s are expected literally rather than in quotes. Quotes were needed by very old versions and are accepted for their sake. Remove the quotes to silence this warning.", what)
}

// parseInside parses the text of a string as an expression, nil if it is none.
func (rd *reader) parseInside(e hcl.Expression, text string) hclsyntax.Expression {
	if p := syntax.CheckExpression([]byte(text), rd.opts.Limits); p.Kind != syntax.None {
		return nil
	}
	n, ds := hclsyntax.ParseExpression([]byte(text), e.Range().Filename, inside(e.Range()))
	if ds.HasErrors() {
		return nil
	}
	return n
}

// list takes a list apart. example is one element of it, for the message.
func (rd *reader) list(e hcl.Expression, arg, example string) ([]hcl.Expression, bool) {
	items, ds := hcl.ExprList(e)
	if ds.HasErrors() {
		rd.error(e.Range(), "Invalid expression", "A static list expression is required for %q: write the elements out between brackets, such as [%s].", arg, example)
		return nil, false
	}
	return items, true
}

// traversal reads one reference without calculations in it.
func (rd *reader) traversal(e hcl.Expression, arg, example string) (hcl.Traversal, bool) {
	t, ok := absolute(rd.bare(e))
	if !ok {
		rd.error(e.Range(), "Invalid expression", "A single static variable reference is required for %q, such as %s: only attribute access and indexing with constant keys. No calculations, function calls, template expressions, etc are allowed here.", arg, example)
		return nil, false
	}
	return t, true
}

// absolute is the reference that an expression consists of.
func absolute(e hclsyntax.Expression) (hcl.Traversal, bool) {
	if e == nil {
		return nil, false
	}
	t, ds := hcl.AbsTraversalForExpr(e)
	return t, !ds.HasErrors()
}

// dependsOn reads a depends_on argument.
func (rd *reader) dependsOn(a *hcl.Attribute) []hcl.Traversal {
	if a == nil {
		return nil
	}
	items, _ := rd.list(a.Expr, a.Name, "aws_vpc.main")
	var out []hcl.Traversal
	for _, item := range items {
		if t, ok := rd.traversal(item, a.Name, "aws_vpc.main"); ok {
			out = append(out, t)
		}
	}
	return out
}

// keyword reads an argument whose value is a bare word, "" if it is something else.
func (rd *reader) keyword(a *hcl.Attribute) string {
	text, quoted := plainText(a.Expr)
	if quoted && !isJSON(a.Expr) {
		rd.quoted(a.Expr, "keywords")
		return text
	}
	return word(a.Expr)
}

// word is the bare word that an expression consists of, in JSON a string, "" if it is something
// else. Strings are not given to the parser for that: they may be of any length.
func word(e hcl.Expression) string {
	if !isJSON(e) {
		return hcl.ExprAsKeyword(e)
	}
	if text, ok := plainText(e); ok && validName(text) {
		return text
	}
	return ""
}

// providerRef reads a reference to a provider configuration: aws, aws.west, aws.by_region[key].
func (rd *reader) providerRef(e hcl.Expression, arg string) (ProviderRef, bool) {
	n := rd.bare(e)
	ref := ProviderRef{Range: e.Range()}
	if ix, ok := n.(*hclsyntax.IndexExpr); ok {
		ref.Key = ix.Key
		n = ix.Collection
	}
	if t, ok := absolute(n); ok && ref.steps(t) {
		return ref, rd.localName(ref.Local, t.SourceRange())
	}
	rd.error(e.Range(), "Invalid provider configuration reference", "The %s argument requires a provider type name, optionally followed by a period and then a configuration alias: aws, or aws.west, or aws.by_region[\"eu\"] where that configuration has for_each.", arg)
	return ProviderRef{}, false
}

// localName checks the local name of a provider.
func (rd *reader) localName(name string, at hcl.Range) bool {
	if low := strings.ToLower(name); low != name && providerWord(low) {
		rd.error(at, "Invalid provider local name", "Provider names must be normalized. Replace %q with %q to fix this error.", name, low)
		return false
	}
	if !providerWord(name) {
		rd.error(at, "Invalid provider local name", "%q is an invalid provider local name: it must contain only letters, digits, and dashes, and may not use leading or trailing dashes.", name)
		return false
	}
	return true
}

// providerWord reports whether s can be the type of a provider.
func providerWord(s string) bool {
	if strings.Contains(s, "_") || strings.Contains(s, "/") || strings.HasPrefix(s, "terraform-provider-") {
		return false
	}
	_, err := addr.ParseProvider(s)
	return err == nil
}

// steps takes the parts of a reference from a traversal; false if it has another shape.
func (r *ProviderRef) steps(t hcl.Traversal) bool {
	r.Local = t.RootName()
	for i, step := range t[1:] {
		switch step := step.(type) {
		case hcl.TraverseAttr:
			if i != 0 {
				return false
			}
			r.Alias = step.Name
		case hcl.TraverseIndex:
			if i != 1 || r.Key != nil {
				return false
			}
			r.Key = &hclsyntax.LiteralValueExpr{Val: step.Key, SrcRange: step.SrcRange}
		default:
			return false
		}
	}
	return r.Key == nil || r.Alias != ""
}

// keyOf is what is written as the key of an object, not its value as a key.
func keyOf(e hcl.Expression) hcl.Expression {
	if k, ok := e.(*hclsyntax.ObjectConsKeyExpr); ok {
		return k.Wrapped
	}
	return e
}
