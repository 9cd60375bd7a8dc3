package native

import (
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/json"
	"github.com/zclconf/go-cty/cty"
)

func TestNative(t *testing.T) {
	ctx := &hcl.EvalContext{Variables: map[string]cty.Value{"x": cty.StringVal("X"), "n": cty.NumberIntVal(2)}}
	tests := map[string]struct {
		json string
		want cty.Value
	}{
		"plain":       {`"a"`, cty.StringVal("a")},
		"empty":       {`""`, cty.StringVal("")},
		"template":    {`"a${x}b"`, cty.StringVal("aXb")},
		"wrapped":     {`"${n}"`, cty.NumberIntVal(2)},
		"directive":   {`"%{ if n == 2 }yes%{ endif }"`, cty.StringVal("yes")},
		"literal":     {`"$${x}%%{y}"`, cty.StringVal("${x}%{y}")},
		"backslashes": {`"a\\n\n\"\u00e9"`, cty.StringVal("a\\n\n\"é")},
		"return":      {`"a\rb"`, cty.StringVal("a\rb")},
		"number":      {`1.5`, cty.NumberFloatVal(1.5)},
		"bool":        {`true`, cty.True},
		"null":        {`null`, cty.NullVal(cty.DynamicPseudoType)},
		"array":       {`["${x}", 1, []]`, cty.TupleVal([]cty.Value{cty.StringVal("X"), cty.NumberIntVal(1), cty.EmptyTupleVal})},
		"object":      {`{"k${n}": "v", "//": 1, "p": {}}`, cty.ObjectVal(map[string]cty.Value{"k2": cty.StringVal("v"), "//": cty.NumberIntVal(1), "p": cty.EmptyObjectVal})},
		"not a name":  {`{"x": 1}`, cty.ObjectVal(map[string]cty.Value{"x": cty.NumberIntVal(1)})},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			e, ds := json.ParseExpression([]byte(tt.json), "x.tf.json")
			if ds.HasErrors() {
				t.Fatal(ds)
			}
			n, ds := Expression(e)
			if ds.HasErrors() {
				t.Fatal(ds)
			}
			got, ds := n.Value(ctx)
			if ds.HasErrors() || !got.RawEquals(tt.want) {
				t.Errorf("got %#v, want %#v: %v", got, tt.want, ds)
			}
			if again, _ := Expression(n); again != n {
				t.Error("what is native is not left alone")
			}
			if n.Range() != e.Range() && name != "template" && name != "wrapped" && name != "directive" && name != "literal" {
				t.Errorf("range %v, want %v", n.Range(), e.Range())
			}
		})
	}
}

func TestNativeErrors(t *testing.T) {
	for _, text := range []string{`"${"`, `["${a b}"]`, `{"a": "%{ nonsense }"}`, `{"a": 1, "a": 2}`} {
		e, ds := json.ParseExpression([]byte(text), "x.tf.json")
		if ds.HasErrors() {
			t.Fatal(ds)
		}
		if _, ds := Expression(e); !ds.HasErrors() {
			t.Errorf("%s: no error", text)
		}
	}
}

// TestNativePlaces checks that references keep their place in the file if no escape sequence precedes them in the
// string.
func TestNativePlaces(t *testing.T) {
	e, _ := json.ParseExpression([]byte(`["ab ${foo.bar}"]`), "x.tf.json")
	n, _ := Expression(e)
	vars := hclsyntax.Variables(n)
	if len(vars) != 1 || vars[0].SourceRange().String() != "x.tf.json:1,8-15" {
		t.Errorf("%v", vars[0].SourceRange())
	}
}
