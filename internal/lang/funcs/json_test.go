package funcs

import (
	"github.com/lethe-iac/lethe/internal/limits"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/convert"
	"github.com/lethe-iac/lethe/internal/convert/converttest"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function/stdlib"
	"pgregory.net/rapid"
)

var jsonTexts = []string{
	`null`, `true`, ` false `, `[]`, `{}`, `[1,2.5,-3e2,1E+5,1e-5,0,-0,0.0,-0.0]`, `{"a":{"b":[null,"x"]}}`, `"\u00e9\n\ud83d\ude00\ud800"`, `"é☃"`,
	`123456789012345678901234567890`, `9223372036854775807`, `-9223372036854775808`, `1e400`, `[1,]`, `[,1]`, `{"a":1,}`, `{"a":1,"a":2}`, `{"a":1,"a":"x"}`,
	`01`, `-`, `+1`, `1.`, `.5`, `1e`, `nul`, `nulls`, `"`, `"\x"`, "\"\t\"", `{"a"}`, `{a:1}`, `[1 2]`, `1 2`, ``, ` `, `[[[[]]]]`, `{"":""}`, "\ufeff1", `"a\/b"`,
	`{"e\u0301":1,"é":2}`, `[1e99999999999]`, `10E700000`,
}

func sameJSONDecoding(t interface {
	Errorf(string, ...any)
}, text string) {
	c := &call{scope: &scope{env: &Env{}, limits: limits.Limits{}.Filled()}}
	c.given = []cty.Value{cty.StringVal(text)}
	c.args = c.given
	got, err := jsonDecode(c)
	if err != nil && strings.Contains(err.Error(), convert.ErrManyDigits.Error()) {
		return // only Lethe limits the digits of a number
	}
	want, wantErr := stdlib.JSONDecode(cty.StringVal(text))
	if wantErr != nil && strings.HasPrefix(wantErr.Error(), "unsupported attribute") {
		return // cty does not find an attribute whose name has escape sequences
	}
	if (err == nil) != (wantErr == nil) {
		t.Errorf("%q: %v, cty %v", text, err, wantErr)
	} else if err == nil && !got.RawEquals(want) {
		t.Errorf("%q: %#v, cty %#v", text, got, want)
	}
}

func TestJSONIsThatOfCty(t *testing.T) {
	for _, text := range jsonTexts {
		sameJSONDecoding(t, text)
	}
	rapid.Check(t, func(t *rapid.T) {
		v := converttest.Known(3).Draw(t, "value")
		want, wantErr := stdlib.JSONEncode(v)
		w := jsonWriter{most: 1 << 20}
		err := w.value(v)
		if (err == nil) != (wantErr == nil) || err == nil && string(w.out) != want.AsString() {
			t.Fatalf("%#v: %s %v, cty %#v %v", v, w.out, err, want, wantErr)
		}
		if err == nil {
			sameJSONDecoding(t, string(w.out))
		}
	})
}

// TestJSONNumbersArePrecise checks that decoded numbers have the same precision as numbers in the configuration,
// because the precision affects the results of calculations.
func TestJSONNumbersArePrecise(t *testing.T) {
	ctx := peerContext(t)
	for _, text := range []string{"1", "-7", "1.5", "9223372036854775807", "1e3"} {
		v, diags := eval(ctx, `jsondecode("`+text+`")`)
		if diags.HasErrors() || v.AsBigFloat().Prec() != 512 {
			t.Errorf("%s: %d bits %v", text, v.AsBigFloat().Prec(), diags)
		}
	}
	v, _ := eval(ctx, `jsondecode("1") / 3 == 1 / 3`)
	if !v.True() {
		t.Error("a third is not a third")
	}
}

func FuzzJSON(f *testing.F) {
	for _, text := range jsonTexts {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { sameJSONDecoding(t, text) })
}
