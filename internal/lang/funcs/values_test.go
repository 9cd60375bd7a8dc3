package funcs

import (
	"testing"

	"github.com/lethe-iac/lethe/internal/convert/converttest"
	yaml "github.com/zclconf/go-cty-yaml"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"pgregory.net/rapid"
)

// Two values of one type have one key if and only if they are equal.
func TestKeysOfValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := converttest.Known(3).Draw(t, "a")
		b, err := convert.Convert(converttest.Known(3).Draw(t, "b"), a.Type())
		if err != nil || !b.Type().Equals(a.Type()) {
			return
		}
		equal := a.Equals(b).True()
		if got := string(appendKey(nil, a)) == string(appendKey(nil, b)); got != equal {
			t.Fatalf("%#v and %#v: equal %v, keys equal %v", a, b, equal, got)
		}
	})
}

// What is written of a value does not depend on how it is kept.
func TestNarrow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := converttest.Known(3).Draw(t, "value")
		got, err := yaml.Standard.Marshal(narrow(v))
		want, wantErr := yaml.Standard.Marshal(v)
		if (err == nil) != (wantErr == nil) || string(got) != string(want) {
			t.Fatalf("%#v: %s, not %s", v, got, want)
		}
	})
	for _, n := range []string{"0", "-0", "1", "-7", "9007199254740992", "9007199254740993", "123456789012345678", "1e20", "1e100", "0.1", "1.5", "100", "1000000"} {
		v := cty.MustParseNumberVal(n)
		got, _ := yaml.Standard.Marshal(narrow(v))
		if want, _ := yaml.Standard.Marshal(v); string(got) != string(want) {
			t.Errorf("%s: %s, not %s", n, got, want)
		}
	}
}
