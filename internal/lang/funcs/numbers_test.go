package funcs

import (
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// TestLargePowersKeepTheirValue checks that the text of a large power is the number itself. A state and a provider get
// this text: if it were another number, the stored value would differ from the configuration.
func TestLargePowersKeepTheirValue(t *testing.T) {
	ctx := peerContext(t)
	for src, want := range map[string]string{
		"pow(2, 53)":   "9007199254740992",
		"pow(2, 64)":   "18446744073709551616",
		"pow(10, 30)":  "1000000000000000000000000000000",
		"pow(-10, 23)": "-100000000000000000000000",
		"pow(2, 511)":  "6703903964971298549787012499102923063739682910296196688861780721860882015036773488400937149083451713845015929093243025426876941405973284973216824503042048",
		"pow(10, 150)": "1" + strings.Repeat("0", 150),
		"pow(2.5, 60)": "", // the nearest number of type float64
		"pow(2, 600)":  "",
		"pow(2, -1)":   "0.5",
	} {
		v, diags := eval(ctx, src)
		if diags.HasErrors() {
			t.Errorf("%s: %v", src, diags)
			continue
		}
		text, err := convert.Convert(v, cty.String)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := cty.ParseNumberVal(text.AsString()); v.AsBigFloat().IsInt() && (err != nil || !again.RawEquals(v)) {
			t.Errorf("%s: the text %s is another number", src, text.AsString())
		}
		if want != "" && text.AsString() != want {
			t.Errorf("%s is %s, want %s", src, text.AsString(), want)
		}
	}
}
