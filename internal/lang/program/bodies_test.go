package program

import (
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
)

// bodyOf compiles a body without a schema, and returns the titles of the reported errors.
func bodyOf(t *testing.T, text string) (*RawBody, []string) {
	t.Helper()
	f, diags := hclsyntax.ParseConfig([]byte(text), "a.tf", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	var bag diag.Bag
	c := &compiler{u: NewUnit(&config.Module{}), n: &Node{Config: &config.Node{}}, bag: &bag, d: &Def{}}
	out := bodyRewriter{c.in(ByValue, AllowedRefs{})}.body(f.Body)
	var titles []string
	for _, d := range bag.List() {
		titles = append(titles, d.Summary)
	}
	return out, titles
}

// TestABodyKeepsTheOrderOfItsSource: the arguments of a body without a schema are in the order in which they are
// written.
func TestABodyKeepsTheOrderOfItsSource(t *testing.T) {
	b, names := bodyOf(t, "z = 1\na = 2\nm = 3\n")
	if len(names) > 0 || len(b.Attrs) != 3 || b.Attrs[0].Name != "z" || b.Attrs[1].Name != "a" || b.Attrs[2].Name != "m" {
		t.Errorf("%+v %v", b.Attrs, names)
	}
}

// TestADynamicBlockHasOneContent: a dynamic block has a name, a for_each, and exactly one content block.
func TestADynamicBlockHasOneContent(t *testing.T) {
	for text, want := range map[string]string{
		"dynamic \"x\" {\n for_each = []\n content {}\n}":                                  "",
		"dynamic \"x\" {\n for_each = []\n}":                                               "Missing dynamic content block",
		"dynamic \"x\" {\n for_each = []\n content {}\n content {}\n}":                     "Extraneous dynamic content block",
		"dynamic \"x\" {\n for_each = []\n other {}\n}":                                    "Unsupported block type",
		"dynamic \"x\" {\n content {}\n}":                                                  "Missing required argument",
		"dynamic {\n for_each = []\n content {}\n}":                                        "Missing name for dynamic",
		"dynamic \"x\" {\n for_each = []\n iterator = \"a b\"\n content {}\n}":             "Invalid expression",
		"dynamic \"x\" {\n for_each = []\n foreach = []\n content {}\n}":                   "Unsupported argument",
		"dynamic \"x\" {\n for_each = []\n labels = {}\n content {}\n}":                    "Invalid dynamic block label",
		"dynamic \"x\" {\n for_each = []\n iterator = y\n content {\n  a = y.value\n }\n}": "",
	} {
		b, names := bodyOf(t, text)
		switch {
		case want == "" && (len(names) > 0 || len(b.Blocks) != 1 || b.Blocks[0].Dynamic == nil):
			t.Errorf("%s: %v", text, names)
		case want != "" && (len(names) != 1 || names[0] != want):
			t.Errorf("%s: %v, want %s", text, names, want)
		}
	}
}
