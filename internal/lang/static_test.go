package lang

import (
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
)

func expression(t testing.TB, src string) hcl.Expression {
	t.Helper()
	e, diags := hclsyntax.ParseExpression([]byte(src), "expr.tf", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return e
}

func TestStatic(t *testing.T) {
	const config = `
variable "env" {}
variable "n" {
  type    = number
  default = 2
}
variable "e" {
  default   = "x"
  ephemeral = true
}
variable "unset" {}
locals {
  name = "m-${var.env}"
  deep = local.dyn
  dyn  = [test_thing.a.id]
  loop = local.pool
  pool = local.loop
  dead = zork.x
}
resource "test_thing" "a" {}
module "c" { source = "m" }
-- m --
`
	tests := []struct{ expr, want string }{
		{`"./${local.name}/${var.n}"`, "./m-prod/2"},
		{`upper(terraform.workspace)`, "W"},
		{`path.module`, "."},
		{`test_thing.a.id`, "Dynamic value in static context: Unable to use test_thing.a.id in static context, which is required by the test."},
		{`local.deep`, "Dynamic value in static context: Unable to use test_thing.a.id in static context, which is required by local.dyn ← local.deep ← the test."},
		{`module.c.out`, "Dynamic value in static context: Unable to use module.c.out in static context, which is required by the test."},
		{`terraform.applying`, "Dynamic value in static context: Unable to use terraform.applying in static context, which is required by the test."},
		{`local.loop`, "Cycle: The value of local.loop depends on itself: local.loop ← local.pool ← local.loop."},
		{`local.dead`, `Reference to undeclared resource: A managed resource "zork" "x" has not been declared in the root module.`},
		{`var.unset`, `No value for required variable: The root module input variable "unset" is not set, and has no default value.`},
		{`each.key`, `Reference to "each" in context without for_each`},
	}
	for _, test := range tests {
		tree := load(t, config)
		s := frame.Static(tree.Root.Module, map[string]frame.Given{"env": str("prod")}, frame.Options{Workspace: "w"})
		var bag diag.Bag
		v, ok := s.Eval(expression(t, test.expr), "the test", &bag)
		got := ""
		if ok {
			got = v.Raw.AsString()
		} else if l := bag.List(); len(l) > 0 {
			got = l[0].Summary + ": " + l[0].Detail
		}
		if !strings.HasPrefix(got, test.want) {
			t.Errorf("%s: %s", test.expr, got)
		}
	}
}

func TestStaticBody(t *testing.T) {
	tree := load(t, "variable \"b\" { default = \"x\" }\n")
	s := frame.Static(tree.Root.Module, nil, frame.Options{})
	f, _ := hclsyntax.ParseConfig([]byte("bucket = \"${var.b}-s\"\n"), "b.tf", hcl.InitialPos)
	sch := &schema.Block{Attrs: []*schema.Attr{{Name: "bucket", Type: cty.String, Required: true}, {Name: "key", Type: cty.String, Optional: true}}}
	var bag diag.Bag
	v, ok := s.Body(f.Body, sch, "the backend", &bag)
	if !ok || v.Raw.GetAttr("bucket").AsString() != "x-s" || !v.Raw.GetAttr("key").IsNull() {
		t.Error(v, show(&bag))
	}
	f, _ = hclsyntax.ParseConfig([]byte("zork = 1\n"), "b.tf", hcl.InitialPos)
	if _, ok := s.Body(f.Body, sch, "the backend", &bag); ok || bag.Len() != 2 {
		t.Error(show(&bag))
	}
}

// TestStaticSource checks sources and versions of modules at any depth that depend on the arguments of module calls.
func TestStaticSource(t *testing.T) {
	tree := load(t, `
variable "env" { default = "prod" }
variable "secret" {
  sensitive = true
  default   = "x"
}
module "a" {
  source = "m"
  in     = var.env
}
-- m --
variable "in" {}
variable "other" { default = "o" }
module "b" {
  source = "n"
}
-- n --
`)
	a := tree.Root.Children["a"]
	call := a.Module.Calls["b"]
	tests := []struct{ src, want string }{
		{`"./x/${var.in}/${var.other}"`, "./x/prod/o"},
		{`"./literal"`, "./literal"},
		{`null`, "error Unsuitable value type: Unsuitable value: null value is not allowed for module.a.module.b.source."},
		{`[]`, "error Unsuitable value type: The value of module.a.module.b.source must be a string: string required, but have tuple."},
		{`sensitive("x")`, "error Sensitive value not allowed: This value is sensitive and cannot be used as module.a.module.b.source."},
	}
	for _, test := range tests {
		call.Source = expression(t, test.src)
		var bag diag.Bag
		got, ok := frame.StaticSource(a, call, frame.Options{}, &bag)
		if !ok {
			got = "error " + bag.List()[0].Summary + ": " + bag.List()[0].Detail
		}
		if got != test.want {
			t.Errorf("%s: %s", test.src, got)
		}
	}
	var bag diag.Bag
	if v, ok := frame.StaticVersion(a, call, frame.Options{}, &bag); !ok || v != "" {
		t.Error(v, ok)
	}
	call.Versions = expression(t, `"1.${var.in == "prod" ? 2 : 3}"`)
	if v, ok := frame.StaticVersion(a, call, frame.Options{}, &bag); !ok || v != "1.2" {
		t.Error(v, ok, show(&bag))
	}
	call.Versions = expression(t, `null`)
	if v, ok := frame.StaticVersion(a, call, frame.Options{}, &bag); !ok || v != "" {
		t.Error(v, ok, show(&bag))
	}
	call.Versions = expression(t, `""`)
	if v, ok := frame.StaticVersion(a, call, frame.Options{}, &bag); ok || len(bag.List()) != 1 {
		t.Error(v, ok, show(&bag))
	}
	_ = addr.Module{}
}
