package schema

import (
	"testing"

	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/zclconf/go-cty/cty"
	"pgregory.net/rapid"
)

// TestWhollyKnown compares ctyvalue.WhollyKnown with cty for values of all kinds, marked or not.
func TestWhollyKnown(t *testing.T) {
	bothWays(t, func(t *testing.T) {
		g := gen{dynamic: true, unknown: true, refined: true, null: true}
		rapid.Check(t, func(t *rapid.T) {
			v := g.value(t, g.typ(t, 3))
			if rapid.IntRange(0, 4).Draw(t, "marked") == 0 {
				v = cty.ObjectVal(map[string]cty.Value{"a": v.Mark("m")})
			}
			if got := ctyvalue.WhollyKnown(v); got != v.IsWhollyKnown() {
				t.Fatalf("%#v: %t", v, got)
			}
		})
	})
}

// TestObjectLike compares ObjectLike with cty.ObjectVal: if the attributes have the expected types, and if some have
// other types, are missing or are not in the type.
func TestObjectLike(t *testing.T) {
	bothWays(t, func(t *testing.T) {
		g := gen{dynamic: true, unknown: true, refined: true, null: true}
		rapid.Check(t, func(t *rapid.T) {
			atys := map[string]cty.Type{}
			for _, name := range []string{"a", "b", "c", "d\u0301"} {
				if rapid.Bool().Draw(t, name) {
					atys[name] = g.typ(t, 2)
				}
			}
			vals := map[string]cty.Value{}
			var names []string
			var given []cty.Value
			for name, ty := range atys {
				switch rapid.IntRange(0, 9).Draw(t, "as") {
				case 0:
					continue
				case 1:
					ty = g.typ(t, 1)
				}
				v := g.value(t, ty)
				if rapid.IntRange(0, 4).Draw(t, "marked") == 0 {
					v = v.Mark("m")
				}
				vals[name] = v
				names, given = append(names, name), append(given, v)
			}
			if rapid.IntRange(0, 9).Draw(t, "more") == 0 {
				vals["z"] = cty.True
				names, given = append(names, "z"), append(given, cty.True)
			}
			want := cty.ObjectVal(vals)
			if got := ObjectLike(cty.Object(atys), names, given); !got.RawEquals(want) || !got.Type().Equals(want.Type()) {
				t.Fatalf("got %#v, want %#v", got, want)
			}
		})
	})
}
