package terraform

import (
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"
	"pgregory.net/rapid"
)

func call(t interface{ Fatalf(string, ...any) }, name string, arg cty.Value) cty.Value {
	v, err := functions()[name].Impl.Call([]cty.Value{arg})
	if err != nil {
		t.Fatalf("%s(%#v): %v", name, arg, err)
	}
	return v
}

func TestFunctions(t *testing.T) {
	obj := cty.ObjectVal
	for _, x := range []struct {
		name string
		arg  cty.Value
		want cty.Value
	}{
		{"encode_expr", cty.StringVal("a\nb\"${x}"), cty.StringVal(`"a\nb\"$${x}"`)},
		{"encode_expr", obj(map[string]cty.Value{"for": cty.NumberIntVal(2), "b c": cty.True}), cty.StringVal("{\n  \"b c\" = true\n  for   = 2\n}")},
		{"encode_expr", cty.SetVal([]cty.Value{cty.StringVal("b"), cty.StringVal("a")}), cty.StringVal(`["a", "b"]`)},
		{"encode_tfvars", obj(map[string]cty.Value{"c": cty.NullVal(cty.String), "long": cty.EmptyTupleVal}), cty.StringVal("c    = null\nlong = []\n")},
		{"encode_expr", cty.StringVal("\r\u0301x"), cty.StringVal(`"\r\U00000301x"`)}, // the accent must not combine with the r of the escape
		{"encode_tfvars", cty.EmptyObjectVal, cty.StringVal("")},
		{"decode_tfvars", cty.StringVal("a = 1\nb = [for x in [1]: x]\n"), obj(map[string]cty.Value{"a": cty.NumberIntVal(1), "b": cty.TupleVal([]cty.Value{cty.NumberIntVal(1)})})},
	} {
		if got := call(t, x.name, x.arg); !got.RawEquals(x.want) {
			t.Errorf("%s(%#v)\n got %#v\nwant %#v", x.name, x.arg, got, x.want)
		}
	}
}

func TestFunctionErrors(t *testing.T) {
	for _, x := range []struct {
		name string
		arg  cty.Value
		want string
	}{
		{"encode_tfvars", cty.NumberIntVal(5), "must be an object"},
		{"encode_tfvars", cty.ObjectVal(map[string]cty.Value{"a b": cty.True}), `invalid variable name "a b"`},
		{"decode_tfvars", cty.StringVal("a = var.x"), "<decode_tfvars argument>:1,5: Variables not allowed"},
		{"decode_tfvars", cty.StringVal(`a = upper("x")`), "Function calls not allowed"},
		{"decode_tfvars", cty.StringVal("a = "), "Missing expression"},
		{"decode_tfvars", cty.StringVal("b {}"), `Unexpected "b" block`},
		{"decode_tfvars", cty.StringVal("a = " + strings.Repeat("[", 100_000)), "nested too deeply"},
	} {
		if _, err := functions()[x.name].Impl.Call([]cty.Value{x.arg}); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, want %q", x.name, err, x.want)
		}
	}
}

// TestRoundTrip checks that decoding reverses encoding.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := map[string]cty.Value{}
		for name, v := range rapid.MapOfN(rapid.StringMatching(`[a-z_][a-z0-9_-]{0,8}`), rapid.String(), 0, 5).Draw(t, "values") {
			in[name] = cty.TupleVal([]cty.Value{cty.StringVal(v), cty.NumberIntVal(int64(len(v))), cty.NullVal(cty.DynamicPseudoType)})
		}
		want := cty.ObjectVal(in)
		if got := call(t, "decode_tfvars", call(t, "encode_tfvars", want)); !got.RawEquals(want) {
			t.Fatalf("got %#v\nwant %#v", got, want)
		}
	})
}
