package config

import (
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/json"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config/native"
	"github.com/lethe-iac/lethe/internal/syntax"
	"github.com/zclconf/go-cty/cty"
)

// Some arguments contain references rather than values. In native syntax references have no quotes; quotes, which old
// versions required, cause a warning. In JSON syntax references are strings.

// plainText returns the text of a quoted string without template sequences, and false for any other expression.
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

// unquoted returns the syntax tree of a reference in either syntax. In native syntax it warns about quotes around the
// reference. It returns nil if the expression is invalid; the caller reports the error.
func (rd *reader) unquoted(e hcl.Expression) hclsyntax.Expression {
	text, quoted := plainText(e)
	if !quoted {
		n, ds := native.Expression(e)
		if ds.HasErrors() {
			return nil
		}
		return n
	}
	if !json.IsJSONExpression(e) {
		rd.quoted(e, "references")
	}
	return rd.parseInside(e, text)
}

// quoted warns about quotes around references or keywords.
func (rd *reader) quoted(e hcl.Expression, what string) {
	rd.warn(e.Range(), "Quoted "+what+" are deprecated", "In this context, %s are written without quotes. Remove the quotes.", what)
}

// parseInside parses the text of a string as an expression. It returns nil if the text is not an expression.
func (rd *reader) parseInside(e hcl.Expression, text string) hclsyntax.Expression {
	if p := syntax.CheckExpression([]byte(text), rd.opts.Limits); p.Kind != syntax.None {
		return nil
	}
	n, ds := hclsyntax.ParseExpression([]byte(text), e.Range().Filename, native.Inside(e.Range()))
	if ds.HasErrors() {
		return nil
	}
	return n
}

// list returns the elements of a list expression. For any other expression it reports an error and returns false. arg
// is the name of the argument, and example an example of an element, for this error.
func (rd *reader) list(e hcl.Expression, arg, example string) ([]hcl.Expression, bool) {
	items, ds := hcl.ExprList(e)
	if ds.HasErrors() {
		rd.error(e.Range(), "Invalid expression", "A static list expression is required for %q, such as [%s].", arg, example)
		return nil, false
	}
	return items, true
}

// traversal reads a reference without calculations. For any other expression it reports an error, with arg and example,
// and returns false.
func (rd *reader) traversal(e hcl.Expression, arg, example string) (hcl.Traversal, bool) {
	t, ok := absolute(rd.unquoted(e))
	if !ok {
		rd.error(e.Range(), "Invalid expression", "A single static reference is required for %q, such as %s. Calculations, function calls, templates and keys that are not constant are not allowed.", arg, example)
		return nil, false
	}
	return t, true
}

// absolute returns the reference that an expression consists of. It returns false for nil and for any other expression.
func absolute(e hclsyntax.Expression) (hcl.Traversal, bool) {
	if e == nil {
		return nil, false
	}
	t, ds := hcl.AbsTraversalForExpr(e)
	return t, !ds.HasErrors()
}

// dependsOn reads a depends_on argument. It returns nil if a is nil, and leaves out entries that are not references,
// for which it reports errors.
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

// keyword returns the keyword in an argument, and "" for any other expression. A keyword in quotes is accepted; in
// native syntax, keyword warns about the quotes.
func (rd *reader) keyword(a *hcl.Attribute) string {
	text, quoted := plainText(a.Expr)
	if quoted && !json.IsJSONExpression(a.Expr) {
		rd.quoted(a.Expr, "keywords")
		return text
	}
	return word(a.Expr)
}

// word returns the word without quotes that an expression consists of, or the word in a JSON string. It returns "" for
// any other expression. It does not parse strings, because they may be very long.
func word(e hcl.Expression) string {
	if !json.IsJSONExpression(e) {
		return hcl.ExprAsKeyword(e)
	}
	if text, ok := plainText(e); ok && ValidName(text) {
		return text
	}
	return ""
}

// providerRef reads a reference to a provider configuration, such as aws, aws.west or aws.by_region[key]. For any other
// expression it reports an error and returns false.
func (rd *reader) providerRef(e hcl.Expression, arg string) (ProviderRef, bool) {
	n := rd.unquoted(e)
	ref := ProviderRef{Range: e.Range()}
	if ix, ok := n.(*hclsyntax.IndexExpr); ok {
		ref.Key = ix.Key
		n = ix.Collection
	}
	if t, ok := absolute(n); ok && ref.steps(t) {
		return ref, rd.localName(ref.Local, t.SourceRange())
	}
	rd.error(e.Range(), "Invalid provider configuration reference", "The %s argument requires a provider name or a name and an alias, such as aws or aws.west. If the configuration has for_each, add a key, as in aws.by_region[\"eu\"].", arg)
	return ProviderRef{}, false
}

// localName reports whether name is a valid local name of a provider. If not, it reports an error.
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

// providerWord reports whether s can be the type of a provider, without a namespace. It returns false for a type of a
// resource, which has an underscore, and for a name of a provider's program or repository.
func providerWord(s string) bool {
	if strings.Contains(s, "_") || strings.Contains(s, "/") || strings.HasPrefix(s, "terraform-provider-") {
		return false
	}
	_, err := addr.ParseProvider(s)
	return err == nil
}

// steps sets the fields of r from a traversal. It returns false if the traversal is not a reference to a provider
// configuration.
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

// keyOf returns the expression that the source contains as the key of an object. The HCL library wraps it in an
// ObjectConsKeyExpr, which treats a word without quotes as a string.
func keyOf(e hcl.Expression) hcl.Expression {
	if k, ok := e.(*hclsyntax.ObjectConsKeyExpr); ok {
		return k.Wrapped
	}
	return e
}
