package rewrite

import (
	"fmt"
	"regexp"
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
)

// beside returns the attributes of the block or nested object that contains the last name of a path below b. It returns
// nil if the path leads through something else.
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

// version returns the value for the version argument attr, which belongs to a write-only argument of a resource: the
// first version, or a reference to a resource of the type lethe_secret_version, which counts the changes of the
// argument's expression. In the second case, version also returns the edit that adds this resource.
func (d *Draft) version(m *module, of addr.Resource, a occurrence, attr, stored *schema.Attr, r *Result) (value string, counter []edit) {
	if a.inside || stored == nil || stored.Type != cty.String || !refers(a.expr) || m.ownTaken() || d.in.Number(of, a.name) {
		return number(attr), nil
	}
	name := m.freeIn("resource", "lethe_secret_version", of.Name+"_"+a.name)
	key, repeat := "", ""
	var home *part // the first block: an override file may have a second block for the same resource
	var block *hclsyntax.Block
	m.blocks("resource", []string{of.Type, of.Name}, func(f *part, b *hclsyntax.Block) {
		if home == nil {
			home, block = f, b
		}
		for arg, k := range map[string]string{"count": "[count.index]", "for_each": "[each.key]"} {
			if x := b.Body.Attributes[arg]; x != nil {
				repeat, key = fmt.Sprintf("%s = %s\n\n", arg, f.source(x.Expr.Range())), k
			}
		}
	})
	text := fmt.Sprintf("resource \"lethe_secret_version\" %q {\n%svalue_wo = %s\n}\n", name, repeat, a.f.source(a.expr.Range()))
	for _, n := range m.nodes {
		r.Versions = append(r.Versions, addr.Resource{Module: n.Path, Mode: addr.Managed, Type: "lethe_secret_version", Name: name})
	}
	return "lethe_secret_version." + name + key + ".version", []edit{below(home, block, text)}
}

// refers reports whether an expression has references.
func refers(e hclsyntax.Expression) bool { return len(hclsyntax.Variables(e)) > 0 }

// ownTaken reports whether the module uses the local name of the built-in provider for another provider.
func (m *module) ownTaken() bool {
	r := m.nodes[0].Module.Required["lethe"]
	return r != nil && !r.Source.IsBuiltin() && r.Source.Type != "lethe"
}

var unfit = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^A-Za-z0-9_-]+`) })

// freeIn returns a name that no block of this mode and type has in the module: wanted, with characters that are not
// allowed replaced, or this name with a number from 2.
func (m *module) freeIn(mode, typ, wanted string) string {
	wanted = unfit().ReplaceAllString(wanted, "_")
	for n := 1; ; n++ {
		name := wanted
		if n > 1 {
			name = fmt.Sprintf("%s_%d", wanted, n)
		}
		taken := false
		m.blocks(mode, []string{typ, name}, func(*part, *hclsyntax.Block) { taken = true })
		if !taken {
			return name
		}
	}
}

// occurrence is one assignment of an argument in a resource block.
type occurrence struct {
	f     *part
	block *hclsyntax.Block // the block of the resource
	in    scope
	name  string
	at    hcl.Range // the range of the name
	expr  hclsyntax.Expression
	// These fields describe where the argument is: in a block (body), or in an object that is the value of attr.
	body   *hclsyntax.Block
	attr   *hclsyntax.Attribute
	object *hclsyntax.ObjectConsExpr
	inside bool // the argument is in a nested block or an object, so there may be several
}

// HasWriteOnly reports whether a schema has a write-only argument at a path of names, such as ["auth", "token_wo"].
func HasWriteOnly(b *schema.Block, names []string) bool {
	for _, a := range beside(b, names) {
		if a.Name == names[len(names)-1] {
			return a.WriteOnly
		}
	}
	return false
}

// number returns the text of the first version, 1, in the type of a version argument: 1 or "1".
func number(v *schema.Attr) string {
	if v.Type == cty.String {
		return `"1"`
	}
	return "1"
}
