package config

import "testing"

func TestSets(t *testing.T) {
	for _, c := range []struct {
		name, text string
		line       int
		want       string
	}{
		{"alone", "a = = 1", 1, "a"},
		{"after a value", "b = \"x\"\n\n  a = = 1\n", 3, "a"},
		{"after a heredoc", "b = <<E\nx\nE\na = = 1\n", 4, "a"},
		{"inside a heredoc", "b = <<E\na = = 1\n", 2, ""},
		{"inside a bracket", "b = [\na = 1\n", 2, ""},
		{"after a string without an end", "b = \"x\na = = 1\n", 2, ""},
		{"inside a comment", "/*\na = = 1\n", 2, ""},
		{"two on a line", "a = 1 b = 2", 1, ""},
		{"a block behind it", "a = 1 b {", 1, ""},
		{"no name", "= 1", 1, ""},
		{"no such line", "a = = 1", 2, ""},
	} {
		if got, _ := Sets("x.tfvars", []byte(c.text), c.line); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	for _, c := range []struct {
		name, text string
		line       int
		want       string
	}{
		{"first", "{\n\"a\": on,\n\"b\": 1\n}", 2, "a"},
		{"after a value", "{\n\"b\": {\"c\": 1},\n\"a\": on\n}", 3, "a"},
		{"after a mark", "\xef\xbb\xbf{\n\"a\": on\n}", 2, "a"},
		{"inside a value", "{\n\"b\": {\n\"a\": on\n}}", 3, ""},
		{"inside a list", "{\"b\": [\n\"a\": on\n]}", 2, ""},
		{"two on a line", "{\n\"a\": 1, \"b\": on}", 2, ""},
		{"behind the brace", "{\"a\": on}", 1, ""},
		{"an escape in the name", "{\n\"a\\n\": on\n}", 2, ""},
	} {
		text := []byte(c.text)
		if got, _ := Sets("x.tfvars.json", text, c.line); got != c.want {
			t.Errorf("JSON, %s: %q, want %q", c.name, got, c.want)
		}
		if string(text) != c.text {
			t.Errorf("JSON, %s: the text is %q now", c.name, text)
		}
	}
}
