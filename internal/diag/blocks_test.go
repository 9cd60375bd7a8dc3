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
		for _, b := range topBlocks([]byte(src)) {
			got = append(got, b.header)
			if first := strings.Fields(b.header)[0]; !strings.HasPrefix(src[b.start:b.end], first) {
				t.Errorf("%q: %s lies at %s", src, b.header, fmt.Sprint(b.start, b.end))
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q has the blocks %q, not %q", src, strings.Join(got, " "), want)
		}
	}
}
