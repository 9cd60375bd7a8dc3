package explain

import (
	"slices"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/lang/program/programtest"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
)

func TestAddressesNameDeclarations(t *testing.T) {
	p := programtest.Compile(t, `
variable "x" {}
locals { l = var.x }
module "m" {
  source = "./m"
  v      = local.l
}
resource "test_a" "b" {}
data "test_a" "b" {}
output "x" { value = module.m.o }
check "c" {
  assert {
    condition     = var.x != ""
    error_message = "no"
  }
}
`, "variable \"v\" {}\noutput \"o\" { value = var.v }\n")
	for text, want := range map[string]string{
		"var.x": "var.x", "var.x.y": "var.x y", "local.l": "local.l", "output.x": "output.x", "module.m": "module.m", "module.m.o": "module.m.o",
		`module.m["a.b"].o.k`: "module.m.o k", "module.m.var.v": "module.m.var.v", "test_a.b": "test_a.b", "test_a.b[0].c.d[1].e": "test_a.b c d 1 e", `var.x["k"][0].y`: "var.x k 0 y", `test_a.b["i"].c["k.l"]`: "test_a.b c k.l", "test_a.b[0].c[*].d": "test_a.b c",
		"data.test_a.b.c": "data.test_a.b c", "resource.test_a.b": "test_a.b",
		"": "", ".": "", "var": "", "var.": "", "var.y": "", "test_a": "", "test_a.c": "", "module.n.o": "", `test_a.b["`: "", "var.x[": "", "data.test_a": "", "module": "", "o": "",
	} {
		got := ""
		if f, ok := Find(p, text); ok {
			got = strings.TrimSpace(Name(f.Declaration) + " " + strings.Join(f.Path, " "))
		}
		if got != want {
			t.Errorf("%q is %q, not %q", text, got, want)
		}
	}
	if got := Suggest(p, "modul.m.var.v"); got != "module.m.var.v" {
		t.Errorf("suggested %q", got)
	}
	if got := Suggest(p, "check.c"); got != "" {
		t.Errorf("suggested %q, which is no value", got)
	}
}

// An address selects the instances that have its keys, wherever it has keys.
func TestAddressesSelectInstances(t *testing.T) {
	p := programtest.Compile(t, "resource \"test_a\" \"b\" {}\nmodule \"m\" { source = \"./m\" }\n", "resource \"test_a\" \"b\" {}\n")
	for _, c := range []struct {
		address, object string
		want            bool
	}{
		{"test_a.b", "test_a.b[0]", true}, {"test_a.b[0]", "test_a.b[0]", true}, {"test_a.b[0]", "test_a.b[1]", false},
		{"resource.test_a.b[0].c[1]", "test_a.b[0]", true}, {"resource.test_a.b[0]", "test_a.b[1]", false},
		{`test_a.b["x.y"]`, `test_a.b["x.y"]`, true}, {"test_a.b", "module.m.test_a.b", false},
		{"module.m.test_a.b", `module.m["k"].test_a.b[0]`, true}, {`module.m["k"].test_a.b`, `module.m["k"].test_a.b[0]`, true},
		{"module.m.test_a.b[0]", `module.m["k"].test_a.b[0]`, true}, {`module.m["l"].test_a.b[0]`, `module.m["k"].test_a.b[0]`, false},
		{`module.m["k"].resource.test_a.b[0]`, `module.m["k"].test_a.b[0]`, true},
	} {
		f, ok := Find(p, c.address)
		i, err := addr.ParseInstance(c.object)
		if !ok || err != nil || f.has(i) != c.want {
			t.Errorf("%s has %s: %v, %v, %v", c.address, c.object, ok, err, f.has(i))
		}
	}
}

func TestValuesAreFollowed(t *testing.T) {
	p := programtest.Compile(t, `
variable "x" {
  sensitive = true
}
locals {
  l = "${var.x}-${timestamp()}"
  p = nonsensitive(var.x)
}
module "m" {
  source = "./m"
  v      = local.l
}
output "x" {
  value     = module.m.o
  sensitive = true
}
`, "variable \"v\" {}\noutput \"o\" { value = var.v }\n")
	explain := func(text string) *Value {
		f, ok := Find(p, text)
		if !ok {
			t.Fatalf("%s is not found", text)
		}
		return New(Inputs{Program: p, Given: func(string) string { return "prod.tfvars" }}, f)
	}
	v := explain("output.x")
	var chain []string
	for s := v.From; s != nil; s = s.From[0] {
		if chain = append(chain, s.Name); len(s.From) == 0 {
			if s.How != "given by prod.tfvars" {
				t.Errorf("%+v", s)
			}
			break
		}
	}
	if want := []string{"output.x", "module.m.o", "module.m.var.v", "local.l", "var.x"}; !slices.Equal(chain, want) {
		t.Errorf("%q", chain)
	}
	if len(v.Sensitive) != 2 || len(v.Unknown) != 1 || len(v.Ephemeral) != 0 || len(v.Users) != 0 {
		t.Errorf("%+v", v)
	}
	if v := explain("local.p"); len(v.Sensitive) != 0 {
		t.Errorf("%+v", v.Sensitive)
	}
	v = explain("var.x")
	if len(v.Users) != 2 || v.Users[0].Address() != "local.l" || len(v.Effects) != 1 || v.Effects[0].Address != "output.x" {
		t.Errorf("%+v %+v", v.Users, v.Effects)
	}
}

func TestExamplesHaveRequiredArguments(t *testing.T) {
	b := &schema.Block{
		Attrs: []*schema.Attr{
			{Name: "id", Type: cty.String, Computed: true},
			{Name: "name", Type: cty.String, Required: true},
			{Name: "nested", Required: true, Object: &schema.Object{Nesting: schema.List, Attrs: []*schema.Attr{{Name: "n", Type: cty.Number, Required: true}, {Name: "o", Type: cty.Bool, Optional: true}}}},
			{Name: "tags", Type: cty.Map(cty.String), Optional: true},
		},
		Blocks: []*schema.Nested{
			{Name: "disk", Nesting: schema.List, Min: 1, Block: &schema.Block{Attrs: []*schema.Attr{{Name: "size", Type: cty.Number, Required: true}}}},
			{Name: "more", Nesting: schema.Single, Block: &schema.Block{Attrs: []*schema.Attr{{Name: "x", Type: cty.List(cty.String), Optional: true}}}},
		},
	}
	whole := &Type{Mode: addr.Managed, Name: "test_a", Block: b, whole: b}
	const want = `resource "test_a" "example" {
  name   = "..."
  nested = [
    {
      n = 1
    }
  ]
  disk {
    size = 1
  }
}
`
	if got := whole.Example(); got != want {
		t.Errorf("got:\n%s", got)
	}
	part := *whole
	part.Path = []string{"more", "x"}
	part.Block, part.Attr, part.Of = partOf(b, part.Path)
	if !part.Exists() || part.Attr == nil || !strings.Contains(part.Example(), "  more {\n    x = [\"...\"]\n  }\n") {
		t.Errorf("%s", part.Example())
	}
	part.Path = []string{"more", "y"}
	part.Block, part.Attr, part.Of = partOf(b, part.Path)
	if part.Exists() || !slices.Equal(part.Names(), []string{"x"}) {
		t.Errorf("%v", part.Names())
	}
}
