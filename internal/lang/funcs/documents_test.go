package funcs

import (
	"testing"

	"github.com/lethe-iac/lethe/internal/convert/converttest"
	yaml "github.com/zclconf/go-cty-yaml"
	"github.com/zclconf/go-cty/cty"
	"pgregory.net/rapid"
)

// TestNarrow checks that the YAML of a value is the same before and after narrow.
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
