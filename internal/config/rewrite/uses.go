package rewrite

import (
	"regexp"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// text returns the beginning of references to the symbol.
func (s symbol) text() string {
	switch s.kind {
	case "resource":
		return s.a + "." + s.b
	case "data", "ephemeral":
		return s.kind + "." + s.a + "." + s.b
	}
	return s.kind + "." + s.a // an output may be read through an index
}

// String returns the name for messages.
func (s symbol) String() string {
	if s.kind == "module" {
		return s.text() + "." + s.b
	}
	return s.text()
}

// steps returns the names on a reference after the name of its symbol. It ends at the first step that is no name; a known
// key directly after the symbol is skipped.
func (u use) steps(s symbol) []string {
	n := map[string]int{"resource": 2, "data": 3, "ephemeral": 3}[s.kind]
	if n == 0 {
		n = 2
	}
	var out []string
	for i, step := range u.traversal {
		switch step := step.(type) {
		case hcl.TraverseAttr:
			if i >= n {
				out = append(out, step.Name)
			}
		case hcl.TraverseIndex:
			if i != n {
				return out
			}
		}
	}
	return out
}

// uses returns the references of a module to a symbol.
func (m *module) uses(s symbol) []use {
	if m.index == nil {
		m.index = map[symbol][]use{}
		for _, f := range m.files {
			if f.body == nil {
				continue
			}
			for _, b := range f.body.Blocks {
				m.block(f, b)
			}
		}
	}
	if s.kind == "module" && s.b != "" { // a reference to the whole module counts as well
		return append(m.index[s][:len(m.index[s]):len(m.index[s])], m.index[symbol{"module", s.a, ""}]...)
	}
	return m.index[s]
}

// symbolOf returns the symbol at the beginning of a reference, and false for other references, such as each.key.
func symbolOf(t hcl.Traversal) (symbol, bool) {
	var names []string
	for _, step := range t {
		switch step := step.(type) {
		case hcl.TraverseRoot:
			names = append(names, step.Name)
		case hcl.TraverseAttr:
			names = append(names, step.Name)
		}
	}
	at := func(i int) string {
		if i < len(names) {
			return names[i]
		}
		return ""
	}
	switch names[0] {
	case "var", "local":
		return symbol{names[0], at(1), ""}, true
	case "data", "ephemeral":
		return symbol{names[0], at(1), at(2)}, true
	case "module":
		return symbol{"module", at(1), at(2)}, true
	case "each", "count", "self", "path", "terraform", "tofu", "lethe", "provider":
		return symbol{}, false
	case "resource":
		return symbol{"resource", at(1), at(2)}, true
	}
	return symbol{"resource", names[0], at(1)}, len(names) > 1
}

// refer records the references of an expression. The keys of objects are added to the path of an argument.
func (m *module) refer(p place, e hclsyntax.Expression) {
	switch e := e.(type) {
	case *hclsyntax.ParenthesesExpr:
		m.refer(p, e.Expression)
		return
	case *hclsyntax.ObjectConsExpr:
		for _, item := range e.Items {
			m.refer(p, item.KeyExpr)
			inner := p
			inner.path = append(p.path[:len(p.path):len(p.path)], keyOf(item.KeyExpr))
			m.refer(inner, item.ValueExpr)
		}
		return
	case *hclsyntax.TupleConsExpr:
		for _, x := range e.Exprs {
			m.refer(p, x)
		}
		return
	}
	p.whole = e
	for _, t := range hclsyntax.Variables(e) {
		if s, ok := symbolOf(t); ok {
			m.index[s] = append(m.index[s], use{p, t})
		}
	}
}

// keyOf returns the constant key of an item of an object, "" for other keys.
func keyOf(e hclsyntax.Expression) string {
	if word := hcl.ExprAsKeyword(e); word != "" {
		return word
	}
	if k, ok := e.(*hclsyntax.ObjectConsKeyExpr); ok {
		if v, ds := k.Wrapped.Value(nil); !ds.HasErrors() && v.IsKnown() && !v.IsNull() && v.Type().FriendlyName() == "string" {
			return v.AsString()
		}
	}
	return ""
}

// block records the references of a block at the top level.
func (m *module) block(f *file, b *hclsyntax.Block) {
	p := place{f: f, block: b, kind: other}
	switch b.Type {
	case "resource", "data", "ephemeral":
		m.resourceBlock(p)
		return
	case "check":
		for _, inner := range b.Body.Blocks {
			if modes[inner.Type] != 0 {
				m.resourceBlock(place{f: f, block: inner, kind: other})
				continue
			}
			p.kind = condition
			m.all(p, inner.Body)
		}
		return
	case "provider":
		p.kind = session
	case "locals":
		p.kind = local
	case "module":
		p.kind = input
	}
	for name, a := range b.Body.Attributes {
		at := p
		at.name = name
		switch {
		case name == "depends_on":
			at.kind = order
		case name == "for_each" || name == "count":
			at.kind = repeat
		case b.Type == "output" && name == "value":
			at.kind, at.name = output, b.Labels[0]
		case b.Type == "module" && (name == "source" || name == "version" || name == "providers"):
			at.kind = other
		}
		m.refer(at, a.Expr)
	}
	for _, inner := range b.Body.Blocks {
		at := p
		if inner.Type == "validation" || inner.Type == "precondition" || inner.Type == "postcondition" {
			at.kind = condition
		}
		m.all(at, inner.Body)
	}
}

// all records all references of a body at one place.
func (m *module) all(p place, b *hclsyntax.Body) {
	for name, a := range b.Attributes {
		at := p
		at.name = name
		m.refer(at, a.Expr)
	}
	for _, inner := range b.Blocks {
		m.all(p, inner.Body)
	}
}

// resourceBlock records the references of a resource, data or ephemeral block.
func (m *module) resourceBlock(p place) {
	for name, a := range p.block.Body.Attributes {
		at := p
		at.name = name
		switch name {
		case "count", "for_each":
			at.kind = repeat
		case "depends_on":
			at.kind = order
		case "provider":
			continue
		default:
			at.kind, at.path = argument, []string{name}
		}
		m.refer(at, a.Expr)
	}
	for _, b := range p.block.Body.Blocks {
		switch {
		case b.Type == "lifecycle":
			m.lifecycle(p, b)
		case p.block.Type == "resource" && (b.Type == "connection" || b.Type == "provisioner"):
			at := p
			at.kind = provision
			m.all(at, b.Body)
		case b.Type == "_":
			at := p
			at.kind = argument
			m.nested(at, b.Body)
		default:
			at := p
			at.kind = argument
			m.nestedBlock(at, b)
		}
	}
}

func (m *module) lifecycle(p place, b *hclsyntax.Block) {
	for name, a := range b.Body.Attributes {
		if name == "ignore_changes" {
			continue // relative to the resource
		}
		at := p
		at.name = name
		m.refer(at, a.Expr)
	}
	for _, inner := range b.Body.Blocks {
		at := p
		at.kind = condition
		m.all(at, inner.Body)
	}
}

// nestedBlock records the references of a block inside a resource: an ordinary one, or a dynamic one.
func (m *module) nestedBlock(p place, b *hclsyntax.Block) {
	in := func(name string) place {
		at := p
		at.path = append(p.path[:len(p.path):len(p.path)], name)
		return at
	}
	if b.Type != "dynamic" || len(b.Labels) != 1 {
		m.nested(in(b.Type), b.Body)
		return
	}
	for name, a := range b.Body.Attributes {
		at := in(b.Labels[0])
		at.kind, at.name = repeat, name
		m.refer(at, a.Expr)
	}
	for _, inner := range b.Body.Blocks {
		m.nested(in(b.Labels[0]), inner.Body)
	}
}

// nested records the references of the arguments and blocks at a path of a resource.
func (m *module) nested(p place, b *hclsyntax.Body) {
	for name, a := range b.Attributes {
		at := p
		at.path = append(p.path[:len(p.path):len(p.path)], name)
		m.refer(at, a.Expr)
	}
	for _, inner := range b.Blocks {
		m.nestedBlock(p, inner)
	}
}

// inJSON returns the name of a JSON file of the module that may refer to a symbol, "" if none does. References in JSON are
// parts of strings, so a mention of the name counts.
func (m *module) inJSON(s symbol) string {
	pattern := regexp.MustCompile(`(^|[^\w.-])` + regexp.QuoteMeta(s.text()) + `($|[^\w-])`)
	for _, f := range m.files {
		if f.body == nil && pattern.Match(f.text) {
			return f.name
		}
	}
	return ""
}
