package combine

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// split returns a block without some arguments, and an override block with these arguments. They are the last argument
// that can be overridden and all nested blocks except conditions. The first block has another value for the argument.
func (b *Block) split() (main, over *Block) {
	m, o := *b, *b
	m.Args, m.Nested, o.Args, o.Nested = slices.Clone(b.Args), nil, nil, nil
	for i, a := range slices.Backward(m.Args) {
		if !slices.Contains([]string{"count", "for_each", "provider", "providers", "depends_on", "ephemeral", "sensitive"}, a.Name) {
			m.Args[i].Value, o.Args = lit("overridden"), []Arg{a}
			break
		}
	}
	for _, n := range b.Nested {
		switch n.Type {
		case "lifecycle":
			stays := func(a Arg) bool { return a.Name == "replace_triggered_by" } // stays in the main block, because Terraform ignores it in override files
			m.Nested = append(m.Nested, &Block{Kind: Nested, Type: n.Type, Nested: n.Nested, Args: slices.DeleteFunc(slices.Clone(n.Args), func(a Arg) bool { return !stays(a) })})
			o.Nested = append(o.Nested, &Block{Kind: Nested, Type: n.Type, Args: slices.DeleteFunc(slices.Clone(n.Args), stays)})
		case "precondition":
			m.Nested = append(m.Nested, n)
		default:
			o.Nested = append(o.Nested, n)
		}
	}
	return &m, &o
}

// overridable reports whether split may split a block: a resource, data source, output, local or call with arguments.
// Terraform ignores ephemeral blocks in override files.
func (b *Block) overridable() bool {
	switch b.Kind {
	case Resource, Data, Output, Local, Call:
		return len(b.Args) > 0
	}
	return false
}

// indented formats a document as indented JSON with a final line feed.
func indented(o object) string {
	text, err := json.MarshalIndent(o, "", "  ")
	if err != nil {
		panic(err) // a document of texts can always be encoded
	}
	return string(text) + "\n"
}

// addJSON adds blocks in native syntax to a document in JSON syntax. It panics if the text is not well-formed.
func addJSON(to object, native string) {
	f, diags := hclsyntax.ParseConfig([]byte(native), "", hcl.InitialPos)
	if diags.HasErrors() {
		panic(diags)
	}
	(&jsonForm{native}).body(to, f.Body.(*hclsyntax.Body), "")
}

// jsonForm translates text from native syntax to JSON syntax.
type jsonForm struct{ text string }

// body adds the arguments and blocks of a body to an object. The argument of is the type of the block with the body, or
// "" for a file.
func (j *jsonForm) body(to object, b *hclsyntax.Body, of string) {
	for name, a := range b.Attributes {
		to[name] = j.expr(a.Expr, plainName(of, name))
	}
	for _, n := range b.Blocks {
		in, name := to, n.Type
		for _, l := range n.Labels {
			if in[name] == nil {
				in[name] = object{}
			}
			in, name = in[name].(object), l
		}
		o := object{}
		j.body(o, n.Body, n.Type)
		list, _ := in[name].([]any)
		in[name] = append(list, o)
	}
}

// plainName reports whether an argument of a block does not have an expression as its value, but names. JSON contains
// these names verbatim. The argument of is the type of the block.
func plainName(of, name string) bool {
	switch name {
	case "depends_on", "replace_triggered_by", "ignore_changes", "provider", "providers":
		return true
	case "type":
		return of == "variable"
	case "when", "on_failure":
		return of == "provisioner"
	case "from", "to":
		return of == "moved" || of == "removed" || of == "import"
	}
	return false
}

// expr returns an expression in JSON syntax. If plain is true, references and words are verbatim and not in a template.
func (j *jsonForm) expr(e hclsyntax.Expression, plain bool) any {
	src := string(e.Range().SliceBytes([]byte(j.text)))
	switch e := e.(type) {
	case *hclsyntax.TupleConsExpr:
		all := []any{}
		for _, x := range e.Exprs {
			all = append(all, j.expr(x, plain))
		}
		return all
	case *hclsyntax.ObjectConsExpr:
		o := object{}
		for _, item := range e.Items {
			key := hcl.ExprAsKeyword(item.KeyExpr)
			if key == "" {
				return "${" + src + "}"
			}
			o[key] = j.expr(item.ValueExpr, plain)
		}
		return o
	case *hclsyntax.TemplateExpr:
		if v, diags := e.Value(nil); !diags.HasErrors() && e.IsStringLiteral() {
			return strings.NewReplacer("${", "$${", "%{", "%%{").Replace(v.AsString())
		}
	case *hclsyntax.LiteralValueExpr:
		return json.RawMessage(src)
	}
	if plain {
		return src
	}
	return "${" + src + "}"
}
