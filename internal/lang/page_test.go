package lang

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// pageModule is the example module in the package comment (doc.go).
const pageModule = `variable "name" { default = "a" }
locals { full = "${var.name}-${length(var.name)}" }
resource "test_thing" "r" {
  count = 2
  name  = local.full
}
output "ids" { value = test_thing.r[*].id }
`

// TestPage checks that the package comment shows the real declarations and values.
func TestPage(t *testing.T) {
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	page := strings.NewReplacer("//\t", "", "// ", "", "//", "").Replace(string(text))
	var want strings.Builder
	want.WriteString(pageModule)
	p := check(t, pageModule)
	for _, d := range p.Decls() {
		line := fmt.Sprintf("%d %s %s", d.ID, d.Kind, d)
		for _, r := range p.Refs(d.ID) {
			line += fmt.Sprintf(" → %d %s%s", r.To, uses(r.Use), hint(r))
		}
		want.WriteString(line + "\n")
	}
	var bag diag.Bag
	f, _ := frame.New(p, frame.Options{}, &bag)
	r := resource(p, "test_thing", "r").ID
	cell := func(name string, get func() (mark.Value, frame.Status)) {
		v, _ := get()
		want.WriteString(fmt.Sprintf("cell %s = %s\n", name, written(v.Raw)))
	}
	cell("local.full", func() (mark.Value, frame.Status) { return f.Named(program.Local, "full", frame.After, &bag) })
	for _, k := range f.Keys(r, frame.After, &bag).List {
		config, _ := f.Config(r, k, frame.After, &bag)
		want.WriteString(fmt.Sprintf("configuration of test_thing.r%s: name = %s\n", k, written(config.Raw.GetAttr("name"))))
		attrs := config.Raw.AsValueMap()
		i, _ := k.Int()
		attrs["id"] = cty.StringVal(fmt.Sprintf("id-%d", i))
		f.Put(r, k, frame.After, mark.Plain(cty.ObjectVal(attrs)))
		want.WriteString(fmt.Sprintf("slot test_thing.r%s: id = %s\n", k, written(attrs["id"])))
	}
	cell("output.ids", func() (mark.Value, frame.Status) { return f.Named(program.Output, "ids", frame.After, &bag) })
	if got, o := f.Named(program.Local, "full", frame.After, &bag); o != frame.OK || got.Raw.AsString() != "a-1" || f.Addr() != (addr.ModuleInstance{}) {
		t.Error(show(&bag))
	}
	for line := range strings.Lines(want.String()) {
		if !strings.Contains(page, strings.TrimSpace(line)) {
			t.Errorf("not on the page: %s", line)
		}
	}
}

// written formats a value as in a configuration.
func written(v cty.Value) string {
	if v.Type() == cty.String {
		return fmt.Sprintf("%q", v.AsString())
	}
	var parts []string
	for _, e := range v.AsValueSlice() {
		parts = append(parts, written(e))
	}
	return "[" + strings.Join(parts, ", ") + "]"
}
