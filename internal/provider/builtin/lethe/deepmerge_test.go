package lethe

import (
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

func TestDeepmerge(t *testing.T) {
	ctx := &hcl.EvalContext{
		Variables: map[string]cty.Value{
			"unknown": cty.DynamicVal, "unknownText": cty.UnknownVal(cty.String), "unknownList": cty.UnknownVal(cty.List(cty.String)),
			"unknownMap": cty.UnknownVal(cty.Map(cty.String)), "unknownObject": cty.UnknownVal(cty.Object(map[string]cty.Type{"a": cty.String})),
			"nullMap": cty.NullVal(cty.Map(cty.String)), "nullText": cty.NullVal(cty.String),
			"map":  cty.MapVal(map[string]cty.Value{"a": cty.StringVal("1")}),
			"map2": cty.MapVal(map[string]cty.Value{"a": cty.StringVal("2"), "b": cty.StringVal("3")}),
			"maps": cty.MapVal(map[string]cty.Value{"x": cty.MapVal(map[string]cty.Value{"a": cty.StringVal("1")})}),
			"list": cty.ListVal([]cty.Value{cty.StringVal("1")}), "list2": cty.ListVal([]cty.Value{cty.StringVal("2")}),
			"noList": cty.ListValEmpty(cty.String), "noMap": cty.MapValEmpty(cty.String),
			"set": cty.SetVal([]cty.Value{cty.StringVal("1")}), "set2": cty.SetVal([]cty.Value{cty.StringVal("2"), cty.StringVal("1")}),
		},
		Functions: map[string]function.Function{"m": deepmerge().Impl, "tolist": stdlib.MakeToFunc(cty.List(cty.DynamicPseudoType))},
	}
	eval := func(text string) (cty.Value, error) {
		e, ds := hclsyntax.ParseExpression([]byte(text), "t.tf", hcl.InitialPos)
		if ds.HasErrors() {
			t.Fatal(ds)
		}
		v, ds := e.Value(ctx)
		if ds.HasErrors() {
			return v, ds
		}
		return v, nil
	}
	for _, c := range []struct{ call, want string }{
		{`m({ a = 1 }, { b = 2 })`, `{ a = 1, b = 2 }`},
		{`m({ a = { x = 1, y = 1 } }, { a = { y = 2, z = 2 } })`, `{ a = { x = 1, y = 2, z = 2 } }`},
		{`m({ a = { x = { p = 1 } } }, { a = { x = { q = 2 } } }, { a = { x = { p = 3 } } })`, `{ a = { x = { p = 3, q = 2 } } }`},
		{`m()`, `{}`},
		{`m("append")`, `{}`},
		{`m({ a = 1 })`, `{ a = 1 }`},
		// Values of different kinds: the result is the last value, without attributes of earlier objects.
		{`m({ a = { x = 1 } }, { a = 2 })`, `{ a = 2 }`},
		{`m({ a = { x = 1 } }, { a = 2 }, { a = { y = 3 } })`, `{ a = { y = 3 } }`},
		{`m({ a = [1] }, { a = { y = 3 } }, "append")`, `{ a = { y = 3 } }`},
		// Lists.
		{`m({ a = [1, 2] }, { a = [3] })`, `{ a = [3] }`},
		{`m({ a = [1, 2] }, { a = [3] }, "replace")`, `{ a = [3] }`},
		{`m({ a = [1, 2] }, { a = [3] }, { a = [] }, "append")`, `{ a = [1, 2, 3] }`},
		{`m({ a = list }, { a = list2 }, "append")`, `{ a = tolist(["1", "2"]) }`},
		{`m({ a = noList }, { a = noList }, "append")`, `{ a = noList }`},
		{`m({ a = list }, { a = [2] }, "append")`, `{ a = ["1", 2] }`},
		{`m({ a = set }, { a = set2 }, "append")`, `{ a = set2 }`},
		{`m({ a = set }, { a = [2] }, "append")`, `{ a = ["1", 2] }`},
		{`m({ a = [{ x = 1 }] }, { a = [{ y = 1 }] }, "append")`, `{ a = [{ x = 1 }, { y = 1 }] }`},
		// Maps stay maps while their elements have one type.
		{`m(map, map2)`, `map2`},
		{`m(noMap, noMap)`, `noMap`},
		{`m(maps, maps)`, `maps`},
		{`m(map, { c = 1 })`, `{ a = "1", c = 1 }`},
		// Null: a null argument is ignored. Inside an argument, null is a value like any other.
		{`m({ a = 1 }, null, nullMap)`, `{ a = 1 }`},
		{`m(null, null)`, `{}`},
		{`m({ a = { x = 1 } }, { a = null })`, `{ a = null }`},
		{`m({ a = { x = 1 } }, { a = null }, { a = { y = 2 } })`, `{ a = { y = 2 } }`},
		{`m({ a = [1] }, { a = null }, { a = [2] }, "append")`, `{ a = [2] }`},
		// Unknown values: the result is unknown if it may depend on them.
		{`m({ a = 1 }, unknown)`, `unknown`},
		{`m(unknownMap, { a = 1 })`, `unknown`},
		{`m({ a = 1 }, unknownObject)`, `unknown`},
		{`m({ a = 1 }, unknownText)`, `unknown`},
		{`m({ a = unknown, b = 1 }, { b = 2 })`, `{ a = unknown, b = 2 }`},
		{`m({ a = unknown }, { a = 2 })`, `{ a = 2 }`},
		{`m({ a = unknown }, { a = { x = 1 } })`, `{ a = unknown }`},
		{`m({ a = unknownText }, { a = { x = 1 } })`, `{ a = { x = 1 } }`},
		{`m({ a = unknownObject }, { a = { x = 1 } })`, `{ a = unknown }`},
		{`m({ a = { x = 1 } }, { a = unknownMap })`, `{ a = unknown }`},
		{`m({ a = { x = 1 } }, { a = unknownText })`, `{ a = unknownText }`},
		{`m({ a = { x = 1, y = unknown } }, { a = { x = unknownText } })`, `{ a = { x = unknownText, y = unknown } }`},
		{`m({ a = unknownList }, { a = list })`, `{ a = list }`},
		{`m({ a = unknownList }, { a = list }, "append")`, `{ a = unknown }`},
		{`m({ a = list }, { a = unknownList })`, `{ a = unknownList }`},
		{`m({ a = list }, { a = unknownList }, "append")`, `{ a = unknown }`},
		{`m({ a = unknown }, { a = null })`, `{ a = null }`},
	} {
		want, err := eval(c.want)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := eval(c.call); err != nil || !got.RawEquals(want) {
			t.Errorf("%s: got %#v, want %#v, %v", c.call, got, want, err)
		}
	}
	for call, want := range map[string]string{
		`m({ a = 1 }, [1])`:           "an object or a map is required, not tuple",
		`m("append", { a = 1 })`:      "an object or a map is required, not string",
		`m({ a = 1 }, "canary-4ab1")`: `the last argument may be "replace" or "append"`,
		`m({ a = 1 }, nullText)`:      `the last argument may be "replace" or "append"`,
		`m({ a = 1 }, "append", 1)`:   "an object or a map is required, not",
		`m({ a = 1 }, unknownList)`:   "an object or a map is required, not list of string",
	} {
		_, err := eval(call)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: got the error %v, want %s", call, err, want)
		}
	}
}
