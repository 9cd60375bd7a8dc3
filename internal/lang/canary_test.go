package lang

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/vet"
)

const canary = "cnry-7f3a"

const canaryConfig = `
variable "sens" {
  sensitive = true
}
variable "eph" {
  ephemeral = true
}
locals {
  s  = var.sens
  os = { k = var.sens, l = [var.sens] }
  oe = { k = var.eph, l = [var.eph] }
}
`

// TestNoMessageShowsSecrets checks that messages about a marked value do not show it.
func TestNoMessageShowsSecrets(t *testing.T) {
	p := check(t, canaryConfig)
	var bag diag.Bag
	f, ok := frame.New(p, frame.Options{Variables: map[string]frame.Given{"sens": str(canary), "eph": str(canary)}}, &bag)
	if !ok {
		t.Fatal(show(&bag))
	}
	broken := 0
	for _, shape := range shapes {
		for _, e := range []string{"var.sens", "var.eph", "local.s", "local.os", "local.oe", "local.os.l", "local.oe.l[0]", "[var.eph]", `"a${var.sens}"`} {
			for _, other := range []string{e, `"x"`, "{}", "null"} {
				src := strings.Replace(strings.Replace(shape, "E", e, 1), "E", other, 1)
				src = strings.ReplaceAll(src, "E", e)
				expr, diags := hclsyntax.ParseExpression([]byte(src), "x.tf", diag.Pos{Line: 1, Column: 1})
				if diags.HasErrors() {
					continue
				}
				var bag diag.Bag
				if _, o := f.Eval(expr, frame.Scope{}, frame.After, &bag); o != frame.OK {
					broken++
				}
				if strings.Contains(show(&bag), canary) {
					t.Errorf("%s\n%s", src, show(&bag))
				}
			}
		}
	}
	if broken < 1000 {
		t.Errorf("only %d expressions failed", broken)
	}
}

// TestNoBorderShowsSecrets checks that messages about blocks and arguments with a marked value do not show the value.
func TestNoBorderShowsSecrets(t *testing.T) {
	blocks := []string{
		`resource "test_thing" "a" { num = V }`, `resource "test_thing" "a" { nested = V }`, `resource "test_thing" "a" { legacy = V }`,
		`resource "test_thing" "a" { tags = { a = [V] } }`, `resource "test_thing" "a" { list = { (V) = 1 } }`,
		`resource "test_thing" "a" { count = V }`, `resource "test_thing" "a" { for_each = V }`, `resource "test_thing" "a" { for_each = toset([V]) }`,
		"resource \"test_thing\" \"a\" {\n  lifecycle { enabled = V }\n}", "resource \"test_thing\" \"a\" {\n  lifecycle { prevent_destroy = V }\n}",
		"resource \"test_thing\" \"a\" {\n  lifecycle {\n    precondition {\n      condition = V == 1\n      error_message = \"m ${V}\"\n    }\n  }\n}",
		"resource \"test_thing\" \"a\" {\n  lifecycle {\n    precondition {\n      condition = V\n      error_message = \"m\"\n    }\n  }\n}",
		"resource \"test_thing\" \"a\" {\n  dynamic \"rule\" {\n    for_each = V\n    content {}\n  }\n}",
		"resource \"test_thing\" \"a\" {\n  dynamic \"keyed\" {\n    for_each = [1]\n    labels = [V]\n    content {}\n  }\n}",
		"resource \"test_thing\" \"a\" {\n  dynamic \"rule\" {\n    for_each = [V]\n    content { b = rule.value }\n  }\n}",
		`provider "test" { region = [V] }`, `output "o" { value = V }`, "output \"o\" {\n  value = V\n  type = number\n}",
		"module \"m\" {\n  source = \"m\"\n  in = V\n}\n-- m --\nvariable \"in\" { type = number }\n",
		"module \"m\" {\n  source = \"m\"\n  in = V\n}\n-- m --\nvariable \"in\" {\n  ephemeral = true\n  validation {\n    condition = var.in == 1\n    error_message = \"bad ${var.in}\"\n  }\n}\n",
		"import {\n  to = test_thing.i\n  id = V\n}\nresource \"test_thing\" \"i\" {}", "import {\n  to = test_thing.i[V]\n  id = \"x\"\n}\nresource \"test_thing\" \"i\" { for_each = {} }",
		"resource \"test_thing\" \"m\" { count = 1 }\nresource \"test_thing\" \"a\" {\n  lifecycle { replace_triggered_by = [test_thing.m[V]] }\n}",
		"resource \"test_thing\" \"m\" { count = 1 }\nlocals { x = test_thing.m[V].id }\noutput \"o\" { value = local.x }",
		"provider \"test\" {\n  alias = \"e\"\n  for_each = {}\n}\nresource \"test_thing\" \"a\" { provider = test.e[V] }",
		"check \"c\" {\n  assert {\n    condition = V == 1\n    error_message = V\n  }\n}",
	}
	for i, block := range blocks {
		for _, v := range []string{"var.sens", "var.eph", `"x-${var.sens}"`, "local.os.k", "local.oe.l[0]"} {
			t.Run(fmt.Sprint(i, v), func(t *testing.T) {
				var bag diag.Bag
				head, modules, _ := strings.Cut(block, "\n-- ")
				if modules != "" {
					modules = "\n-- " + modules
				}
				p, ok := Compile(load(t, canaryConfig+strings.ReplaceAll(head, "V", v)+modules), &bag)
				if ok {
					vet.Check(p, cached.Of, vet.CheckOptions{}, &bag)
					run(p, frame.Options{Variables: map[string]frame.Given{"sens": str(canary), "eph": str(canary)}}, true, &bag)
				}
				if strings.Contains(show(&bag), canary) {
					t.Errorf("%s\n%s", block, show(&bag))
				}
			})
		}
	}
}
