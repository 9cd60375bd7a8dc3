package view

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/lang/funcs"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/view/jsondoc"
	"github.com/zclconf/go-cty/cty"
)

// TestSchemasLikePeer compares the written schemas with the schemas that Terraform wrote.
func TestSchemasLikePeer(t *testing.T) {
	schemas := loadSchemas(t)
	var list []addr.Provider
	for p := range schemas {
		list = append(list, p, p) // duplicates are written once
	}
	list = append(list, addr.Default("unavailable"))
	var b bytes.Buffer
	if err := jsondoc.WriteSchemas(&b, list, schemas.Of, nil); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/peer/schemas.json")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(parsed(t, string(want)), parsed(t, b.String())); diff != "" {
		t.Error(diff)
	}
}

func TestBrokenSchema(t *testing.T) {
	s := newTestSchemas()
	s(testProvider).Add(addr.Managed, "test_broken", func() (*schema.Schema, error) { return nil, errors.New("broken") })
	s(testProvider).AddIdentity("test_thing", func() (*provider.Identity, error) {
		return &provider.Identity{Version: 2, Attrs: []provider.IdentityAttr{{Name: "id", Type: cty.String, Required: true}, {Name: "realm", Type: cty.String, Optional: true, Description: "Where."}}}, nil
	})
	var b bytes.Buffer
	if err := jsondoc.WriteSchemas(&b, []addr.Provider{testProvider}, s, nil); err == nil {
		t.Error("a broken schema is not told of")
	}
	doc := parsed(t, b.String())["provider_schemas"].(map[string]any)[testProvider.String()].(map[string]any)
	if types := doc["resource_schemas"].(map[string]any); types["test_thing"] == nil || types["test_broken"] != nil {
		t.Error(types)
	}
	want := `{"version":2,"attributes":{"id":{"type":"string","required_for_import":true},"realm":{"type":"string","description":"Where.","optional_for_import":true}}}`
	if !strings.Contains(b.String(), want) {
		t.Error(b.String())
	}
}

func TestFunctionsJSON(t *testing.T) {
	var b bytes.Buffer
	if err := jsondoc.WriteFunctions(&b); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Format    string `json:"format_version"`
		Functions map[string]struct {
			Description string
			Return      json.RawMessage `json:"return_type"`
			Parameters  []struct{ Name string }
			Variadic    *struct{ Name string } `json:"variadic_parameter"`
		} `json:"function_signatures"`
	}
	if err := json.Unmarshal(b.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Format != "1.0" || len(doc.Functions) != 2*len(funcs.Names()) {
		t.Errorf("%s: %d functions", doc.Format, len(doc.Functions))
	}
	for name, f := range doc.Functions {
		if f.Return == nil || len(f.Parameters) == 0 && f.Variadic == nil && !strings.HasSuffix(name, "timestamp") && !strings.HasSuffix(name, "uuid") {
			t.Errorf("%s: %+v", name, f)
		}
	}
	if f := doc.Functions["core::jsonencode"]; string(f.Return) != `"string"` || len(f.Parameters) != 1 {
		t.Errorf("%+v", f)
	}
}

func TestValueText(t *testing.T) {
	obj := cty.ObjectVal(map[string]cty.Value{"a": cty.StringVal("hush"), "b": cty.TupleVal([]cty.Value{cty.StringVal("x"), cty.UnknownVal(cty.Number)})})
	at := func(tag mark.Tag, steps ...cty.PathStep) mark.At { return mark.At{Path: steps, Tag: tag} }
	for name, c := range map[string]struct {
		v    mark.Value
		show bool
		want string
	}{
		"plain":     {v: mark.Plain(obj), want: "{\n  \"a\" = \"hush\"\n  \"b\" = [\n    \"x\",\n    (known after apply),\n  ]\n}"},
		"sensitive": {v: mark.Value{Raw: obj, Marks: []mark.At{at(mark.Sensitive, cty.GetAttrStep{Name: "a"})}}, want: "{\n  \"a\" = (sensitive value)\n  \"b\" = [\n    \"x\",\n    (known after apply),\n  ]\n}"},
		"shown":     {v: mark.Value{Raw: cty.StringVal("x"), Marks: []mark.At{at(mark.Sensitive)}}, show: true, want: `"x"`},
		"both":      {v: mark.Value{Raw: cty.StringVal("x"), Marks: []mark.At{at(mark.Sensitive), at(mark.Ephemeral)}}, want: "(ephemeral value)"},
		"ephemeral is never shown": {
			v: mark.Value{Raw: obj, Marks: []mark.At{at(mark.Ephemeral, cty.GetAttrStep{Name: "b"}, cty.IndexStep{Key: cty.NumberIntVal(0)})}}, show: true,
			want: "{\n  \"a\" = \"hush\"\n  \"b\" = [\n    (ephemeral value),\n    (known after apply),\n  ]\n}",
		},
		"whole": {v: mark.Value{Raw: obj, Marks: []mark.At{at(mark.Sensitive)}}, want: "(sensitive value)"},
	} {
		if got := ValueText(c.v, 0, Options{ShowSensitive: c.show}); got != c.want {
			t.Errorf("%s:\n%s", name, got)
		}
	}
}

func TestOutputRaw(t *testing.T) {
	for _, c := range []struct {
		v         cty.Value
		want, err string
	}{
		{cty.StringVal("a\x1b\n"), "a\x1b\n", ""}, // control characters are not escaped in raw output
		{cty.NumberIntVal(9007199254740993), "9007199254740993", ""},
		{cty.True, "true", ""},
		{cty.ListValEmpty(cty.String), "", "list of string"},
		{cty.NullVal(cty.String), "", "null"},
	} {
		var b strings.Builder
		err := OutputRaw(&b, state.Output{Value: mark.Plain(c.v)})
		if b.String() != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%#v: %q %v", c.v, b.String(), err)
		}
	}
}

func TestOutputs(t *testing.T) {
	outs := map[string]state.Output{
		"n": {Value: mark.Plain(cty.NumberIntVal(1))},
		"s": {Value: mark.Plain(cty.MapVal(map[string]cty.Value{"k": cty.StringVal("hush")})), Sensitive: true},
	}
	var b strings.Builder
	_ = OutputsText(&b, outs, Options{})
	_ = OutputsText(&b, outs, Options{ShowSensitive: true})
	_ = OutputText(&b, outs["n"], Options{})
	_ = OutputText(&b, outs["s"], Options{})
	_ = OutputJSON(&b, outs["s"])
	_ = OutputsJSON(&b, outs)
	want := `n = 1
s = <sensitive>
n = 1
s = tomap({
  "k" = "hush"
})
1
<sensitive>
{"k":"hush"}
{
  "n": {
    "sensitive": false,
    "type": "number",
    "value": 1
  },
  "s": {
    "sensitive": true,
    "type": [
      "map",
      "string"
    ],
    "value": {
      "k": "hush"
    }
  }
}
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}

// TestObject checks the text of one object, also if it is tainted or deposed. Attributes that the schema does not have
// are hidden: they may be sensitive attributes of another version.
func TestObject(t *testing.T) {
	o := object(t, "module.m[0].test_thing.a")
	e := &state.Entry{Schema: 3, Attrs: []byte(`{"id":"i","key":"hush","name":"n","size":12345678901234567890,"disk":[{"label":"l","pin_wo":null}]}`), Tainted: true, Identity: []byte(`{"id":"i"}`), IdentitySchema: 1}
	e.Provider.Provider = testProvider
	e.Recorded = []addr.Resource{{Mode: addr.Managed, Type: "a", Name: "b"}}
	var b strings.Builder
	if err := ObjectText(&b, o, e, newTestSchemas(), Options{}); err != nil {
		t.Fatal(err)
	}
	o.Deposed = "0a1b2c3d"
	if err := ObjectJSON(&b, o, e, newTestSchemas()); err != nil {
		t.Fatal(err)
	}
	old := &state.Entry{Flatmap: map[string]string{"id": "i", "tags.%": "0"}}
	if err := ObjectText(&b, o, old, nil, Options{}); err != nil {
		t.Fatal(err)
	}
	other := &state.Entry{Schema: 1, Attrs: []byte(`{"id":"i","key":"hush","former_key":"hush","former":{"key":"hush"}}`), Provider: e.Provider}
	if err := ObjectText(&b, o, other, newTestSchemas(), Options{}); err != nil {
		t.Fatal(err)
	}
	want := `# module.m[0].test_thing.a: (tainted)
resource "test_thing" "a" {
    id        = "i"
    key       = (sensitive value)
    name      = "n"
    secret_wo = (write-only attribute)
    size      = 12345678901234567890

    disk {
        label  = "l"
        pin_wo = (write-only attribute)
    }
}
{"address":"module.m[0].test_thing.a","mode":"managed","type":"test_thing","name":"a","provider_name":"registry.opentofu.org/test/test","schema_version":3,"values":{"any":null,"disk":[{"label":"l","pin_wo":null}],"id":"i","items":null,"key":"hush","name":"n","secret_wo":null,"secret_wo_version":null,"size":12345678901234567890,"tags":null},"sensitive_values":{"disk":[{}],"key":true},"identity_schema_version":1,"identity":{"id":"i"},"depends_on":["a.b"],"tainted":true,"deposed_key":"0a1b2c3d"}
# module.m[0].test_thing.a: (deposed object 0a1b2c3d) (without its schema, all values count as sensitive)
resource "test_thing" "a" {
    id     = (sensitive value)
    tags.% = (sensitive value)
}
# module.m[0].test_thing.a: (deposed object 0a1b2c3d)
resource "test_thing" "a" {
    former     = (sensitive value)
    former_key = (sensitive value)
    id         = "i"
    key        = (sensitive value)
}
`
	if got := b.String(); got != want {
		t.Errorf("-want +got:\n%s", lineDiff(want, got))
	}
}
