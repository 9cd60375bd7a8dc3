package diag

import (
	"strings"
	"testing"
)

// TestJSONContext checks that a place in a JSON file is named by the objects and lists around it, as in Terraform.
func TestJSONContext(t *testing.T) {
	const src = `{"resource": {"a": {"b\"}": {"x": 1, "lifecycle": [{"y": "{["}, {"z": [2]}]}}}, "top": "t", "last": {"of": {"all": 1}}}`
	for mark, want := range map[string]string{
		`{"resource"`: "",
		`"top"`:       "",
		`{"a"`:        "resource",
		`"x"`:         `resource.a.b"}`,
		`"lifecycle"`: `resource.a.b"}`,
		`"y"`:         `resource.a.b"}.lifecycle[0]`,
		`"{["`:        `resource.a.b"}.lifecycle[0]`,
		`"z"`:         `resource.a.b"}.lifecycle[1]`,
		`2`:           `resource.a.b"}.lifecycle[1].z`,
		`}}}, "top"`:  `resource.a.b"}`,
		`, "top"`:     "",
		`"all"`:       "last.of",
	} {
		if got := jsonContext([]byte(src), strings.Index(src, mark)); got != want {
			t.Errorf("%s: %q, want %q", mark, got, want)
		}
	}
	for _, broken := range []string{"", `"`, `}`, `{"a": [1`, `{"\`, strings.Repeat("[", 100_000), `{{{`, `]]{"a":{`} {
		jsonContext([]byte(broken), len(broken))
	}
	s := &Sources{}
	s.Set("main.tf.json", []byte(src))
	s.Set("a.tfvars.json", []byte(src))
	at := Range{Filename: "main.tf.json"}
	at.Start.Byte = strings.Index(src, `"x"`)
	at.End.Byte = at.Start.Byte + 3
	at.Start.Line, at.End.Line = 1, 1
	if got, _ := s.Snippet(at, nil); got.Context != `resource.a.b"}` {
		t.Errorf("%+v", got)
	}
	at.Filename = "a.tfvars.json" // in such a file, a key may be part of a secret value
	if got, _ := s.Snippet(at, nil); got.Context != "" {
		t.Errorf("%+v", got)
	}
}
