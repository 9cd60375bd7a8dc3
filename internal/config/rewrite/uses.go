package rewrite

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/addr"
)

var modes = map[string]addr.Mode{"resource": addr.Managed, "data": addr.Data, "ephemeral": addr.Ephemeral}

// text returns the beginning of references to the symbol. For an output of a module it is the module call, because an
// index may follow.
func (s symbol) text() string {
	switch s.kind {
	case "resource":
		return s.a + "." + s.b
	case "data", "ephemeral":
		return s.kind + "." + s.a + "." + s.b
	}
	return s.kind + "." + s.a // return only the call, because a reference to an output may have an index before the name of the output
}

// String returns the name of the symbol for messages.
func (s symbol) String() string {
	if s.kind == "module" {
		return s.text() + "." + s.b
	}
	return s.text()
}

// steps returns the names on a reference after the name of its symbol. It skips a known key directly after the symbol,
// and ends at the next step that is not a name.
func (u use) steps(s symbol) []string {
	n := map[string]int{"resource": 2, "data": 3, "ephemeral": 3}[s.kind]
	if n == 0 {
		n = 2
	}
	if u.traversal.RootName() == "resource" {
		n++
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

// symbolOf returns the symbol at the beginning of a reference. It returns false for other references, such as each.key.
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

// refer records the references in an expression. It adds the keys of objects to the path of an argument.
func (p place) refer(e hclsyntax.Expression) {
	switch e := e.(type) {
	case *hclsyntax.ParenthesesExpr:
		p.refer(e.Expression)
		return
	case *hclsyntax.ObjectConsExpr:
		for _, item := range e.Items {
			p.refer(item.KeyExpr)
			inner := p
			inner.path = append(p.path[:len(p.path):len(p.path)], keyOf(item.KeyExpr))
			inner.refer(item.ValueExpr)
		}
		return
	case *hclsyntax.TupleConsExpr:
		for _, x := range e.Exprs {
			p.refer(x)
		}
		return
	}
	p.whole = e
	for _, t := range hclsyntax.Variables(e) {
		if s, ok := symbolOf(t); ok {
			p.f.uses[s] = append(p.f.uses[s], use{p, t})
		}
	}
}

// keyOf returns the constant key of an item of an object. It returns "" for any other key.
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

// record records the references in a part (a top-level block of a file). It discards earlier records. A part that could
// not be parsed has no records.
func (f *part) record() {
	f.uses = map[symbol][]use{}
	if f.body == nil {
		return
	}
	for _, b := range f.body.Blocks {
		f.block(b)
	}
}

// block records the references in a top-level block.
func (f *part) block(b *hclsyntax.Block) {
	p := place{f: f, block: b, kind: other}
	switch b.Type {
	case "resource", "data", "ephemeral":
		p.resource()
		return
	case "check":
		for _, inner := range b.Body.Blocks {
			if modes[inner.Type] != 0 {
				place{f: f, block: inner, kind: other}.resource()
				continue
			}
			p.kind = condition
			p.all(inner.Body)
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
		at.refer(a.Expr)
	}
	for _, inner := range b.Body.Blocks {
		at := p
		if inner.Type == "validation" || inner.Type == "precondition" || inner.Type == "postcondition" {
			at.kind = condition
		}
		at.all(inner.Body)
	}
}

// all records all references in a body. They all have the place p.
func (p place) all(b *hclsyntax.Body) {
	for name, a := range b.Attributes {
		at := p
		at.name = name
		at.refer(a.Expr)
	}
	for _, inner := range b.Blocks {
		p.all(inner.Body)
	}
}

// resource records the references in a resource, data or ephemeral block.
func (p place) resource() {
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
		at.refer(a.Expr)
	}
	for _, b := range p.block.Body.Blocks {
		switch {
		case b.Type == "lifecycle":
			p.lifecycle(b)
		case p.block.Type == "resource" && (b.Type == "connection" || b.Type == "provisioner"):
			at := p
			at.kind = provision
			at.all(b.Body)
		case b.Type == "_":
			at := p
			at.kind = argument
			at.nested(b.Body)
		default:
			at := p
			at.kind = argument
			at.nestedBlock(b)
		}
	}
}

func (p place) lifecycle(b *hclsyntax.Block) {
	for name, a := range b.Body.Attributes {
		if name == "ignore_changes" {
			continue // the paths in ignore_changes are relative to the resource, so they are no references
		}
		at := p
		at.name = name
		at.refer(a.Expr)
	}
	for _, inner := range b.Body.Blocks {
		at := p
		at.kind = condition
		at.all(inner.Body)
	}
}

// nestedBlock records the references in a block inside a resource, which may be a dynamic block.
func (p place) nestedBlock(b *hclsyntax.Block) {
	in := func(name string) place {
		at := p
		at.path = append(p.path[:len(p.path):len(p.path)], name)
		return at
	}
	if b.Type != "dynamic" || len(b.Labels) != 1 {
		in(b.Type).nested(b.Body)
		return
	}
	for name, a := range b.Body.Attributes {
		at := in(b.Labels[0])
		at.kind, at.name = repeat, name
		at.refer(a.Expr)
	}
	for _, inner := range b.Body.Blocks {
		in(b.Labels[0]).nested(inner.Body)
	}
}

// nested records the references in the arguments and blocks at a path of a resource.
func (p place) nested(b *hclsyntax.Body) {
	for name, a := range b.Attributes {
		at := p
		at.path = append(p.path[:len(p.path):len(p.path)], name)
		at.refer(a.Expr)
	}
	for _, inner := range b.Blocks {
		p.nestedBlock(inner)
	}
}
