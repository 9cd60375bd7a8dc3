package style

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

func TestGenerate(t *testing.T) {
	str := cty.StringVal
	block := &schema.Block{
		Attrs: []*schema.Attr{
			{Name: "also_computed", Type: cty.String, Optional: true, Computed: true},
			{Name: "arn", Type: cty.String, Computed: true},
			{Name: "empty_computed", Type: cty.List(cty.String), Optional: true, Computed: true},
			{Name: "id", Type: cty.String, Optional: true, Computed: true},
			{Name: "labels", Type: cty.Map(cty.String), Optional: true},
			{Name: "name", Type: cty.String, Required: true},
			{Name: "nothing", Type: cty.String, Optional: true},
			{Name: "objection", Type: cty.String, Optional: true},
			{Name: "old", Type: cty.String, Optional: true, Deprecated: true},
			{Name: "password", Type: cty.String, Optional: true, Sensitive: true},
			{Name: "policy", Type: cty.String, Optional: true},
			{Name: "ports", Type: cty.List(cty.Number), Optional: true},
			{Name: "rules", Optional: true, Type: cty.List(cty.Object(map[string]cty.Type{"from": cty.Number, "secret": cty.String, "seen": cty.Bool})), Object: &schema.Object{Nesting: schema.List, Attrs: []*schema.Attr{
				{Name: "from", Type: cty.Number, Required: true},
				{Name: "secret", Type: cty.String, Optional: true, Sensitive: true},
				{Name: "seen", Type: cty.Bool, Computed: true},
			}}},
			{Name: "token", Type: cty.String, Optional: true, WriteOnly: true},
			{Name: "wanted", Type: cty.String, Required: true},
		},
		Blocks: []*schema.Nested{
			{Name: "disk", Nesting: schema.List, Block: &schema.Block{Attrs: []*schema.Attr{{Name: "size", Type: cty.Number, Optional: true}}}},
			{Name: "group", Nesting: schema.Group, Block: &schema.Block{Attrs: []*schema.Attr{{Name: "x", Type: cty.String, Optional: true}}}},
			{Name: "tag", Nesting: schema.Map, Block: &schema.Block{Attrs: []*schema.Attr{{Name: "v", Type: cty.String, Optional: true}}}},
			{Name: "timeouts", Nesting: schema.Single, Block: &schema.Block{Attrs: []*schema.Attr{{Name: "create", Type: cty.String, Optional: true}}}},
		},
	}
	rule := cty.ObjectVal(map[string]cty.Value{"from": cty.NumberIntVal(80), "secret": str("canary"), "seen": cty.True})
	size := func(n int64) cty.Value { return cty.ObjectVal(map[string]cty.Value{"size": cty.NumberIntVal(n)}) }
	value := cty.ObjectVal(map[string]cty.Value{
		"also_computed":  str("kept"),
		"arn":            str("arn:x"),
		"empty_computed": cty.ListValEmpty(cty.String),
		"id":             str("i-1"),
		"labels":         cty.MapVal(map[string]cty.Value{"a b": str("${x}"), "c": str("line\n\"two\"")}),
		"name":           str("web"),
		"nothing":        cty.NullVal(cty.String),
		"objection":      str("conflicts"),
		"old":            str("deprecated"),
		"password":       str("canary"),
		"policy":         str(`{"Statement": [{"Effect": "Allow", "Sid": null}], "Version": "2012-10-17"}`),
		"ports":          cty.ListVal([]cty.Value{cty.NumberIntVal(80), cty.NumberIntVal(443)}),
		"rules":          cty.ListVal([]cty.Value{rule, rule}),
		"token":          cty.NullVal(cty.String),
		"wanted":         cty.NullVal(cty.String),
		"disk":           cty.ListVal([]cty.Value{size(1), size(2)}),
		"group":          cty.ObjectVal(map[string]cty.Value{"x": cty.NullVal(cty.String)}),
		"tag":            cty.MapVal(map[string]cty.Value{"k": cty.ObjectVal(map[string]cty.Value{"v": str("w")})}),
		"timeouts":       cty.NullVal(cty.Object(map[string]cty.Type{"create": cty.String})),
	})
	got := Generate(Generation{
		Type: "cloud_server", Name: "web", ID: `i-"1"`, Provider: "cloud.eu",
		Schema: block, Value: value,
		Omit: func(p cty.Path) bool { return len(p) == 1 && p[0] == cty.GetAttrStep{Name: "objection"} },
	})
	want := `# __generated__ by Lethe from "i-\"1\""
resource "cloud_server" "web" {
  provider      = cloud.eu
  also_computed = "kept"
  labels = {
    "a b" = "$${x}"
    c     = "line\n\"two\""
  }
  name     = "web"
  password = null # sensitive
  policy = jsonencode({
    Statement = [
      {
        Effect = "Allow"
        Sid    = null
      },
    ]
    Version = "2012-10-17"
  })
  ports = [80, 443]
  rules = [
    {
      from   = 80
      secret = null # sensitive
    },
    {
      from   = 80
      secret = null # sensitive
    },
  ]
  token  = null # write-only
  wanted = null # required: set a value
  disk {
    size = 1
  }
  disk {
    size = 2
  }
  tag "k" {
    v = "w"
  }
}
`
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	if _, ds := hclsyntax.ParseConfig([]byte(got), "x.tf", hcl.InitialPos); ds.HasErrors() {
		t.Error(ds)
	}
	if d := cmp.Diff(got, string(formatted([]byte(got)))); d != "" {
		t.Errorf("not in canonical style: %s", d)
	}
}

func TestGenerateSmallest(t *testing.T) {
	for _, x := range []struct {
		name config.ProviderName
		key  addr.Key
		want string
	}{
		{config.ProviderName{Local: "a"}, addr.NoKey, ""},
		{config.ProviderName{Local: "x"}, addr.NoKey, "  provider = x\n"},
		{config.ProviderName{Local: "a", Alias: "by"}, addr.StringKey("k"), "  provider = a.by[\"k\"]\n"},
	} {
		got := Generate(Generation{Type: "a_b", Name: "c", Provider: ProviderOf("a_b", x.name, x.key), Schema: &schema.Block{}, Value: cty.EmptyObjectVal})
		if want := "resource \"a_b\" \"c\" {\n" + x.want + "}\n"; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestGenerateEmptyValues shows that values are written if a default of the provider could replace them.
func TestGenerateEmptyValues(t *testing.T) {
	inner := cty.Object(map[string]cty.Type{"for": cty.Number})
	block := &schema.Block{Attrs: []*schema.Attr{
		{Name: "conflict", Type: cty.List(cty.String), Optional: true, Computed: true},
		{Name: "flag", Type: cty.Bool, Optional: true, Computed: true},
		{Name: "id", Type: cty.String, Computed: true},
		{Name: "list", Type: cty.List(inner), Optional: true, Object: &schema.Object{Nesting: schema.List, Attrs: []*schema.Attr{
			{Name: "for", Type: cty.Number, Optional: true, Computed: true},
		}}},
		{Name: "secret", Type: cty.Bool, Optional: true, Computed: true, Sensitive: true},
		{Name: "set", Type: cty.String, Optional: true},
		{Name: "tags", Type: cty.Map(cty.String), Optional: true},
		{Name: "text", Type: cty.String, Optional: true, Computed: true},
	}}
	g := Generation{Type: "a_b", Name: "c", Schema: block, Value: cty.ObjectVal(map[string]cty.Value{
		"conflict": cty.ListValEmpty(cty.String), "flag": cty.False, "id": cty.StringVal("x"),
		"list":   cty.ListVal([]cty.Value{cty.ObjectVal(map[string]cty.Value{"for": cty.Zero})}),
		"secret": cty.False, "set": cty.StringVal("s"), "text": cty.StringVal(""),
		"tags": cty.MapVal(map[string]cty.Value{"for": cty.StringVal("v"), "json": cty.StringVal(`{"a":1}`), "spaces": cty.StringVal(`{"a": 1}`)}),
	})}
	g.Settle(func(config cty.Value) []cty.Path {
		if config.GetAttr("conflict").IsNull() || config.GetAttr("set").IsNull() {
			return nil
		}
		return []cty.Path{cty.GetAttrPath("set"), cty.GetAttrPath("conflict")}
	})
	want := `resource "a_b" "c" {
  flag = false
  list = [
    {
      "for" = 0
    },
  ]
  set = "s"
  tags = {
    "for" = "v"
    json = jsonencode({
      a = 1
    })
    spaces = "{\"a\": 1}"
  }
  text = ""
}
`
	if d := cmp.Diff(want, Generate(g)); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

// TestGenerateTexts shows that any text is written as an expression with the same value, as a key and as an element.
func TestGenerateTexts(t *testing.T) {
	parts := []string{"", "a", "for", "null", "1", "-", ".", " ", "é", "${x}", "%{y}", "$", "%", "{", "}", "[1, 2]", `{"a":1}`, `{"a":"${x}"}`, "\n", "\r", "\"", "\\", "#", "<<E\nx\nE", "\x00", "\u0301", "\u2028", "\ufeff"}
	texts, all := map[string]cty.Value{}, []cty.Value{}
	for _, x := range parts {
		for _, y := range parts {
			texts[x+y] = cty.StringVal(y + x)
			all = append(all, cty.StringVal(x+y))
		}
	}
	value := cty.ObjectVal(map[string]cty.Value{"map": cty.MapVal(texts), "set": cty.SetVal(all)})
	got := Generate(Generation{Type: "a_b", Name: "c", Value: value, Exact: true, Schema: &schema.Block{Attrs: []*schema.Attr{
		{Name: "map", Type: cty.Map(cty.String), Optional: true}, {Name: "set", Type: cty.Set(cty.String), Optional: true},
	}}})
	f, ds := hclsyntax.ParseConfig([]byte(got), "x.tf", hcl.InitialPos)
	if ds.HasErrors() {
		t.Fatal(ds)
	}
	functions := map[string]function.Function{"jsonencode": stdlib.JSONEncodeFunc}
	for name, a := range f.Body.(*hclsyntax.Body).Blocks[0].Body.Attributes {
		v, ds := a.Expr.Value(&hcl.EvalContext{Functions: functions})
		want := value.GetAttr(name)
		if got, err := convert.Convert(v, want.Type()); ds.HasErrors() || err != nil || !got.RawEquals(want) {
			t.Errorf("%s: %v %v\n%#v, want\n%#v", name, ds, err, got, want)
		}
	}
}
