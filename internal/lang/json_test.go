package lang

import (
	"testing"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	hcljson "github.com/hashicorp/hcl/v2/json"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/config/native"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/vet"
	"github.com/zclconf/go-cty/cty"
)

// inJSON loads the configuration text with one more resource, test_thing.j, whose body has JSON syntax.
func inJSON(t testing.TB, text, body string) *config.Tree {
	t.Helper()
	tree := load(t, text+"\nresource \"test_thing\" \"j\" {}\n")
	f, diags := hcljson.Parse([]byte(body), "main.tf.json")
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	tree.Root.Module.Resources[config.Name{Mode: addr.Managed, Type: "test_thing", Name: "j"}].Body = f.Body
	return tree
}

// TestJSONLikeNative checks that a body means the same in both syntaxes.
func TestJSONLikeNative(t *testing.T) {
	const context = `
variable "v" { default = "x" }
variable "n" { default = 2 }
variable "l" { default = ["a", "b"] }
resource "test_thing" "o" { count = 2 }
`
	tests := []struct{ name, native, json string }{
		{"strings are templates", `name = "${var.v}-y"`, `{"name": "${var.v}-y"}`},
		{"values of their own type", `num = var.n
			list = var.l`, `{"num": "${var.n}", "list": "${var.l}"}`},
		{"numbers, booleans, null", `num = 1.5
			name = null
			any = true`, `{"num": 1.5, "name": null, "any": true}`},
		{"objects and arrays", `any = { "k-x" = [1, "x"] }`, `{"any": {"k-${var.v}": [1, "${var.v}"]}}`},
		{"escapes", `name = "$${a}"`, `{"name": "$${a}"}`},
		{"one block", `one { a = "x" }`, `{"one": {"a": "x"}}`},
		{"several blocks", `rule { a = "x" }
			rule { b = 1 }`, `{"rule": [{"a": "x"}, {"b": 1}]}`},
		{"labelled blocks", `keyed "k" { a = var.v }`, `{"keyed": {"k": {"a": "${var.v}"}}}`},
		{"dynamic blocks", `dynamic "rule" {
				for_each = var.l
				content { a = "${rule.value}${rule.key}" }
			}`, `{"dynamic": {"rule": {"for_each": "${var.l}", "content": {"a": "${rule.value}${rule.key}"}}}}`},
		{"dynamic blocks with an iterator", `dynamic "rule" {
				for_each = var.l
				iterator = it
				content { a = it.value }
			}`, `{"dynamic": [{"rule": {"for_each": "${var.l}", "iterator": "it", "content": {"a": "${it.value}"}}}]}`},
		{"dynamic labels", `dynamic "keyed" {
				for_each = var.l
				labels = [keyed.value]
				content { b = 1 }
			}`, `{"dynamic": {"keyed": {"for_each": "${var.l}", "labels": ["${keyed.value}"], "content": {"b": 1}}}}`},
		{"blocks for attributes", `legacy { a = "x" }`, `{"legacy": [{"a": "x"}]}`},
		{"nested attributes", `nested = { y = var.n }`, `{"nested": {"y": "${var.n}"}}`},
		{"comments", `name = "x"`, `{"//": "a comment", "name": "x"}`},
		{"for and functions", `list = [for x in var.l : upper(x)]`, `{"list": "${[for x in var.l : upper(x)]}"}`},
		{"instances", `name = test_thing.o[1].id`, `{"name": "${test_thing.o[1].id}"}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			native := evalJ(t, load(t, context+"resource \"test_thing\" \"j\" {\n"+test.native+"\n}\n"))
			json := evalJ(t, inJSON(t, context, test.json))
			if !native.RawEquals(json) {
				t.Errorf("native %#v\njson %#v", native, json)
			}
		})
	}
}

// evalJ evaluates the body of test_thing.j.
func evalJ(t *testing.T, tree *config.Tree) cty.Value {
	t.Helper()
	var bag diag.Bag
	p, ok := Compile(tree, &bag)
	if !ok || !vet.Check(p, cached.Of, vet.CheckOptions{}, &bag) {
		t.Fatal(show(&bag))
	}
	s := run(p, frame.Options{}, true, &bag)
	if bag.HasErrors() {
		t.Fatal(show(&bag))
	}
	return s.got["test_thing.j"].Raw
}

// TestJSONDiagnostics checks that mistakes in JSON are reported.
func TestJSONDiagnostics(t *testing.T) {
	tests := []struct{ name, json, want string }{
		{"undeclared", `{"name": "${var.zork}"}`, `main.tf.json:1: error: Reference to undeclared input variable
    An input variable with the name "zork" has not been declared. This variable can be declared with a variable "zork" {} block.
`},
		{"undeclared inside of a block", `{"rule": [{"a": "${local.zork}"}]}`, `main.tf.json:1: error: Reference to undeclared local value
    A local value with the name "zork" has not been declared.
`},
		{"undeclared inside of dynamic", `{"dynamic": {"rule": {"for_each": ["${local.zork}"], "content": {"a": "${rul.value}"}}}}`, `main.tf.json:1: error: Reference to undeclared local value
    A local value with the name "zork" has not been declared.
`},
		{"syntax", `{"name": "${"}`, `main.tf.json:1: error: Missing expression
    Expected the start of an expression, but found the end of the file.
`},
		{"names", `{"nam": 1}`, `main.tf.json:1: error: Extraneous JSON object property
    No argument or block type is named "nam". Did you mean "name"?
`},
		{"types", `{"num": "x"}`, `main.tf.json:1: error: Incorrect attribute value type
    Inappropriate value for attribute "num": a number is required.
`},
		{"dynamic without content", `{"dynamic": {"rule": {"for_each": []}}}`, `main.tf.json:1: error: Missing dynamic content block
    A dynamic block must have exactly one nested "content" block with the body of the generated blocks.
`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var bag diag.Bag
			p, ok := Compile(inJSON(t, "", test.json), &bag)
			if ok {
				vet.Check(p, cached.Of, vet.CheckOptions{}, &bag)
			}
			if got := show(&bag); got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

// TestExpressionsOfOtherSyntax checks that a body with an override in the other syntax is read by its schema, too.
func TestExpressionsOfOtherSyntax(t *testing.T) {
	e, diags := hcljson.ParseExpression([]byte(`["${var.x}", {"a": 1}]`), "x.json")
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	if n, _ := native.Expression(e); !isTuple(n) {
		t.Errorf("%T", n)
	}
}

func isTuple(e hclsyntax.Expression) bool { _, ok := e.(*hclsyntax.TupleConsExpr); return ok }
