package rewrite

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
)

// beside returns the attributes in the block or nested attribute that a path of names ends in.
func beside(b *schema.Block, names []string) []*schema.Attr {
	attrs := b.Attrs
	for _, name := range names[:len(names)-1] {
		var next []*schema.Attr
		if b != nil {
			if n := b.Nested(name); n != nil {
				b, attrs = n.Block, n.Block.Attrs
				continue
			}
		}
		b = nil
		for _, a := range attrs {
			if a.Name == name && a.Object != nil {
				next = a.Object.Attrs
			}
		}
		attrs = next
	}
	return attrs
}

// version returns the value of a version argument, and the block that it needs; "" if it needs none. The block counts the
// changes of the expression e of an argument of block b.
func (d *Draft) version(m *module, a occurrence, attr *schema.Attr, stored *schema.Attr) (value, block string) {
	value = number(attr)
	if d.in.Numbers || a.inside || stored == nil || stored.Type != cty.String || !refers(a.expr) || m.ownTaken() {
		return value, ""
	}
	name := m.freeIn("resource", "lethe_secret_version", a.block.Labels[1]+"_"+a.name)
	key := ""
	var text strings.Builder
	fmt.Fprintf(&text, "resource \"lethe_secret_version\" %q {\n", name)
	for arg, k := range map[string]string{"count": "[count.index]", "for_each": "[each.key]"} {
		if r := a.block.Body.Attributes[arg]; r != nil {
			fmt.Fprintf(&text, "%s = %s\n\n", arg, a.f.source(r.Expr.Range()))
			key = k
		}
	}
	fmt.Fprintf(&text, "value_wo = %s\n}\n", a.f.source(a.expr.Range()))
	return "lethe_secret_version." + name + key + ".version", text.String()
}

// refers reports whether an expression has references.
func refers(e hclsyntax.Expression) bool { return len(hclsyntax.Variables(e)) > 0 }

// ownTaken reports whether the module uses the local name of the built-in provider for another provider.
func (m *module) ownTaken() bool {
	r := m.nodes[0].Module.Required["lethe"]
	return r != nil && !r.Source.IsBuiltin() && r.Source.Type != "lethe"
}

var unfit = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

// freeIn returns a name that no block of the mode and type has in the module.
func (m *module) freeIn(mode, typ, wanted string) string {
	wanted = unfit.ReplaceAllString(wanted, "_")
	for n := 1; ; n++ {
		name := wanted
		if n > 1 {
			name = fmt.Sprintf("%s_%d", wanted, n)
		}
		taken := false
		m.blocks(mode, []string{typ, name}, func(*file, *hclsyntax.Block) { taken = true })
		if !taken {
			return name
		}
	}
}

// occurrence is an assignment of an argument.
type occurrence struct {
	f     *file
	block *hclsyntax.Block // of the resource
	name  string
	at    hcl.Range // of the name
	expr  hclsyntax.Expression
	// Beside the argument: the block that has it, or the items of an object.
	body   *hclsyntax.Block
	attr   *hclsyntax.Attribute
	object *hclsyntax.ObjectConsExpr
	inside bool // in a block inside the resource, or in an object: more than one instance may have it
}

// HasWriteOnly reports whether a schema has a write-only argument at a path of names.
func HasWriteOnly(b *schema.Block, names []string) bool {
	for _, a := range beside(b, names) {
		if a.Name == names[len(names)-1] {
			return a.WriteOnly
		}
	}
	return false
}

// number returns the first version, in the type of a version argument.
func number(v *schema.Attr) string {
	if v.Type == cty.String {
		return `"1"`
	}
	return "1"
}
