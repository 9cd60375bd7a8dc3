package config

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/limits"
	"github.com/zclconf/go-cty/cty"
)

func TestLoadValues(t *testing.T) {
	tests := map[string]struct{ name, text, want string }{
		"native": {"x.tfvars", "a = 1\nb = \"x\"\nc = [for x in [1, 2] : x]\nd = { k = null }\n", `a = cty.NumberIntVal(1)
b = cty.StringVal("x")
c = cty.TupleVal([]cty.Value{cty.NumberIntVal(1), cty.NumberIntVal(2)})
d = cty.ObjectVal(map[string]cty.Value{"k":cty.NullVal(cty.DynamicPseudoType)})
`},
		"json": {"x.tfvars.json", `{"a": 1, "b": "${x}", "c": [true], "//": "comment"}`, `a = cty.NumberIntVal(1)
b = cty.StringVal("${x}")
c = cty.TupleVal([]cty.Value{cty.True})
`},
		"not constant": {"x.tfvars", "a = var.x\nb = upper(\"x\")\nc = 1\n", `c = cty.NumberIntVal(1)
error x.tfvars:1,5-8
  Variables not allowed
  Variables may not be used here. Write a constant value.
error x.tfvars:2,5-15
  Function calls not allowed
  Functions may not be called here. Write a constant value.
`},
		"block": {"x.tfvars", "a {\n}\n", `error x.tfvars:1,1-2
  Unexpected "a" block
  Blocks are not allowed in a variables file. To set a variable to an object, put an equals sign before the brace. To declare an object, use a file whose name ends in .tf.
`},
		"twice": {"x.tfvars", "a = 1\na = 2\n", `error x.tfvars:2,1-2
  Attribute redefined
  The argument "a" was already set at x.tfvars:1,1-2. Each argument may be set only once.
`},
		"bomb": {"x.tfvars", "a = " + strings.Repeat("-", 100_000) + "1\n", `error x.tfvars:1,10005-10006
  Expression too long
  This expression has more than 10000 operators and brackets without a comma between them. Move parts of it into local values, or use a function that takes a list.
`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var bag diag.Bag
			values, ok := LoadValues(tt.name, []byte(tt.text), limits.Limits{}, &bag)
			var b strings.Builder
			for _, n := range sortedKeys(values) {
				fmt.Fprintf(&b, "%s = %#v\n", n, values[n].Value)
			}
			if bag.Len() > 0 {
				b.WriteString(render(&bag, ok))
			}
			if d := cmp.Diff(tt.want, b.String()); d != "" || ok == bag.HasErrors() {
				t.Errorf("ok=%v (-want +got)\n%s", ok, d)
			}
		})
	}
}

func TestValueRanges(t *testing.T) {
	var bag diag.Bag
	values, _ := LoadValues("x.tfvars", []byte("\nlong = \"v\"\n"), limits.Limits{}, &bag)
	v := values["long"]
	if v.At.String() != "x.tfvars:2,1-5" || v.Range.String() != "x.tfvars:2,8-11" {
		t.Errorf("%v %v", v.At, v.Range)
	}
}

func TestValueFiles(t *testing.T) {
	files := Memory{}
	for _, n := range []string{"b.auto.tfvars", "a.auto.tfvars.json", "terraform.tfvars.json", "terraform.tfvars", "other.tfvars", ".h.auto.tfvars", ".auto.tfvars", ".auto.tfvars.json", "#d#.auto.tfvars", "~e.auto.tfvars", ".tfvars", "c.auto.tfvars~", "sub/x.auto.tfvars"} {
		files[n] = nil
	}
	want := []string{"terraform.tfvars", "terraform.tfvars.json", "#d#.auto.tfvars", ".auto.tfvars", ".auto.tfvars.json", ".h.auto.tfvars", "a.auto.tfvars.json", "b.auto.tfvars", "~e.auto.tfvars"}
	if d := cmp.Diff(want, ValueFiles(".", Options{Files: files})); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

func TestParseValue(t *testing.T) {
	var bag diag.Bag
	v, ok := ParseValue("value for var.x", `{ a = [1, 2] }`, limits.Limits{}, &bag)
	if !ok || !v.RawEquals(cty.ObjectVal(map[string]cty.Value{"a": cty.TupleVal([]cty.Value{cty.NumberIntVal(1), cty.NumberIntVal(2)})})) {
		t.Errorf("%v %v", v, bag.List())
	}
	for _, text := range []string{"[1", "var.x", strings.Repeat("(", 5000)} {
		var bag diag.Bag
		if _, ok := ParseValue("value for var.x", text, limits.Limits{}, &bag); ok || bag.Len() != 1 {
			t.Errorf("%.20q: %v %v", text, ok, bag.List())
		}
	}
}
