package outline

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/json"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
)

func TestReferences(t *testing.T) {
	for src, want := range map[string][]string{
		`local.l`:                          {"local.l"},
		`var.v.a.b`:                        {"var.v.a.b", "var.v.a", "var.v"},
		`a.b[0].tags["x"]`:                 {`a.b[0].tags["x"]`, "a.b[0].tags", "a.b[0]", "a.b"},
		`a.b[count.index].id`:              {"a.b", "count.index"},
		`a.b[*].id`:                        {"a.b"},
		`module.m["a"].name`:               {`module.m["a"].name`, `module.m["a"]`},
		`module.m.name.x`:                  {"module.m.name.x", "module.m.name", "module.m"},
		`self.name`:                        {"self.name", "self"},
		`each.value.b`:                     {"each.value.b", "each.value"},
		`data.a.b.c`:                       {"data.a.b.c", "data.a.b"},
		`"${path.module}/${each.key}"`:     {"path.module", "each.key"},
		`[for k, v in a.b : v.id]`:         {"a.b"},
		`upper("x")`:                       nil,
		`resource.a.b["x"].id`:             {`a.b["x"].id`, `a.b["x"]`, "a.b"},
		`ephemeral.a.b.token`:              {"ephemeral.a.b.token", "ephemeral.a.b"},
		`a.b.c == a.b.c ? var.x : local.y`: {"a.b.c", "a.b", "a.b.c", "a.b", "var.x", "local.y"},
	} {
		e, diags := hclsyntax.ParseExpression([]byte(src), "x", hcl.InitialPos)
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		if diff := cmp.Diff(want, Of(e).References); diff != "" {
			t.Errorf("%s: %s", src, diff)
		}
	}
}

func TestConstants(t *testing.T) {
	for src, want := range map[string]cty.Value{
		`1`:            cty.NumberIntVal(1),
		`"a"`:          cty.StringVal("a"),
		`[1, null]`:    cty.TupleVal([]cty.Value{cty.NumberIntVal(1), cty.NullVal(cty.DynamicPseudoType)}),
		`upper("a")`:   cty.NilVal,
		`var.x`:        cty.NilVal,
		`1 + 2`:        cty.NumberIntVal(3),
		`null`:         cty.NullVal(cty.DynamicPseudoType),
		`{a = "${1}"}`: cty.ObjectVal(map[string]cty.Value{"a": cty.NumberIntVal(1)}),
	} {
		e, diags := hclsyntax.ParseExpression([]byte(src), "x", hcl.InitialPos)
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		got := Of(e).Constant
		if (got == cty.NilVal) != (want == cty.NilVal) || got != cty.NilVal && !got.RawEquals(want) {
			t.Errorf("%s: %#v", src, got)
		}
	}
}

func TestBody(t *testing.T) {
	sch := &schema.Block{
		Attrs: []*schema.Attr{{Name: "a", Type: cty.String}, {Name: "b", Type: cty.String}},
		Blocks: []*schema.Nested{
			{Name: "l", Nesting: schema.List, Block: &schema.Block{Attrs: []*schema.Attr{{Name: "x", Type: cty.String}}}},
			{Name: "m", Nesting: schema.Map, Block: &schema.Block{Attrs: []*schema.Attr{{Name: "y", Type: cty.String}}}},
		},
	}
	native, diags := hclsyntax.ParseConfig([]byte("a = \"1\"\nzz = 1\nl { x = var.v }\nl {}\nm \"k\" { y = 2 }\ndynamic \"l\" {\n for_each = []\n}\n"), "x.tf", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	js, diags := json.Parse([]byte(`{"a": "1", "zz": 1, "l": [{"x": "${var.v}"}, {}], "m": {"k": {"y": 2}}}`), "x.tf.json")
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	for name, body := range map[string]hcl.Body{"native": native.Body, "JSON": js.Body} {
		got := OfBody(body, sch)
		switch {
		case len(got.Attrs) != 1 || got.Attrs[0].Name != "a" || got.Attrs[0].Expr.Constant.AsString() != "1":
			t.Errorf("%s: attributes %v", name, got.Attrs)
		case len(got.Blocks) != 2 || len(got.Blocks[0].Bodies) != 2 || got.Blocks[0].Bodies[0].Attrs[0].Expr.References[0] != "var.v":
			t.Errorf("%s: blocks %v", name, got.Blocks)
		case got.Blocks[1].Bodies[0].Label != "k":
			t.Errorf("%s: label %v", name, got.Blocks[1])
		}
	}
	if got := OfBody(nil, sch); len(got.Attrs)+len(got.Blocks) != 0 {
		t.Error(got)
	}
	if got := Free(native.Body); len(got.Attrs) != 2 || got.Attrs[0].Name != "a" || got.Attrs[1].Name != "zz" {
		t.Error(got)
	}
}

// TestBlocksForAttribute checks that blocks that set an attribute of set type keep the order of the file.
func TestBlocksForAttribute(t *testing.T) {
	sch := &schema.Block{Attrs: []*schema.Attr{{Name: "rule", Optional: true, Type: cty.Set(cty.Object(map[string]cty.Type{"port": cty.Number}))}}}
	native, diags := hclsyntax.ParseConfig([]byte("rule { port = 80 }\nrule { port = \"443\" }\n"), "x.tf", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	rule := func(port int64) cty.Value {
		return cty.ObjectVal(map[string]cty.Value{"port": cty.NumberIntVal(port)})
	}
	want := cty.ListVal([]cty.Value{rule(80), rule(443)})
	if got := OfBody(native.Body, sch).Attrs; len(got) != 1 || !got[0].Expr.Constant.RawEquals(want) {
		t.Error(got)
	}
}
