package diag

import (
	"fmt"
	"strings"
	"testing"
)

func TestTopBlocks(t *testing.T) {
	for src, want := range map[string]string{
		"": "",
		"# c\nresource \"a\" \"b\" {\n  x = \"${ {a = 1}.a }\"\n}\nlocals {}\n": `resource "a" "b" locals`,
		"a = {\n  b = 1\n}\nx y {\n}\n":                                         `x "y"`,
		"m \"n\" {\n  t = <<E\n}\nE\n}\n/* c */ o {\n":                          `m "n" o`,
		"}\nr {\n\x00}\n": "r",
	} {
		var got []string
		for _, b := range TopBlocks([]byte(src)) {
			got = append(got, b.Header)
			if first := strings.Fields(b.Header)[0]; !strings.HasPrefix(src[b.Start:b.End], first) {
				t.Errorf("%q: %s lies at %s", src, b.Header, fmt.Sprint(b.Start, b.End))
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q has the blocks %q, not %q", src, strings.Join(got, " "), want)
		}
	}
}
