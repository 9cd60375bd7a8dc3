package program

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/lang/expr"
	"github.com/lethe-iac/lethe/internal/syntax"
	"github.com/zclconf/go-cty/cty"
)

// Name is a reference in a text: its form in the text, and the declaration that it names.
type Name struct {
	Text string
	To   Decl
	// Via is the name through which the text uses the value of the declaration, such as each.value. It is "" if the text
	// uses the value directly.
	Via string
}

// AttributeNames returns the references in the text that sets a part of a resource, in the order of the text. path
// leads to the part; it begins with an attribute or a block type. The result is nil if no text sets the part, and
// before Bind.
func AttributeNames(p *Program, d Decl, path cty.Path) []Name {
	n := p.at[d]
	if n == nil || p.bound == nil {
		return nil
	}
	def := n.Unit.Defs[d-n.Base]
	x := nameReader{p: p, n: n, def: def}
	if body := p.bound.bodies[def]; body != nil {
		x.body(body, path)
	}
	return x.list
}

// ValueNames returns the references in the text that sets a local, an output, or a variable of a called module. It
// returns nil for other declarations.
func ValueNames(p *Program, d Decl) []Name {
	n := p.at[d]
	if n == nil {
		return nil
	}
	def := n.Unit.Defs[d-n.Base]
	switch {
	case def.Kind == Local || def.Kind == Output:
		x := nameReader{p: p, n: n, def: def}
		x.expression(def.Value, nil, "")
		return x.list
	case def.Kind == Variable && n.Parent != nil:
		call := n.Parent.Unit.Defs[n.Call]
		x := nameReader{p: p, n: n.Parent, def: call}
		if a := call.Inputs.Args[def.Name]; a != nil {
			x.expression(a.Expr, nil, "")
		}
		return x.list
	}
	return nil
}

// TriggerNames returns the references in replace_triggered_by of a resource. It returns nil for an implied provider
// configuration.
func TriggerNames(p *Program, d Decl) []Name {
	n := p.at[d]
	if n == nil {
		return nil
	}
	x := nameReader{p: p, n: n, def: n.Unit.Defs[d-n.Base]}
	for _, t := range x.def.Lifecycle.Triggers {
		x.reference(t.Target, "")
	}
	return x.list
}

// nameReader collects the references in the texts of one declaration.
type nameReader struct {
	p      *Program
	n      *Node // the module that contains the text
	def    *Def
	not    []hcl.Range // the ranges whose references are left out
	repeat bool        // the references in count or for_each are in the list already
	list   []Name
}

// body collects the references in the attribute or in the nested blocks that path names, or in the whole body if path
// is empty. For a dynamic block, it also collects the references in for_each.
func (x *nameReader) body(b *expr.Body, path cty.Path) {
	name, ok := "", len(path) > 0
	if ok {
		step, is := path[0].(cty.GetAttrStep)
		name, ok = step.Name, is
	}
	for _, a := range b.Attrs {
		if a.Expr != nil && (!ok || a.Attr.Name == name) {
			x.expression(a.Expr, path[min(1, len(path)):], "")
		}
	}
	for _, nested := range b.Nested {
		if ok && nested.Name != name {
			continue
		}
		var rest cty.Path // the path inside one block
		for i, step := range path {
			if _, is := step.(cty.GetAttrStep); is && i > 0 {
				rest = path[i:]
				break
			}
		}
		for _, item := range nested.Items {
			if item.Dynamic != nil {
				x.expression(item.Dynamic.ForEach, nil, item.Dynamic.Iterator+".value")
			}
			x.body(item.Body, rest)
		}
	}
}

// expression collects the references in the part of an expression at path. via is the field Via of these references.
func (x *nameReader) expression(e hclsyntax.Expression, path cty.Path, via string) {
	if e == nil {
		return
	}
	within := expr.InsideExpr(e, e.Range(), path)
	splat := map[*expr.Ref]hcl.Traversal{} // for each reference before [*], the steps after [*]
	expr.Visit(e, func(node hclsyntax.Node) {
		at := node.Range()
		if at.Start.Byte < within.Start.Byte || at.End.Byte > within.End.Byte {
			return
		}
		if slices.ContainsFunc(x.not, func(r hcl.Range) bool { return contains(r, at) }) {
			return
		}
		switch node := node.(type) {
		case *expr.Splat:
			if ref, rest := splatOf(node); ref != nil {
				splat[ref] = rest
			}
		case *expr.Ref:
			x.splatted(node, splat[node], via)
		case *expr.OutputOf:
			if name, _, ok := expr.Attribute(node.Traversal); ok {
				x.output(node.Target, name, syntax.ReferenceText(node.Target.Traversal)+"[...]."+name, via)
			}
		}
	})
}

// splatOf returns the reference before the [*] of a splat, and the steps after [*]. It returns nil if the splat does
// not have this form.
func splatOf(e *expr.Splat) (*expr.Ref, hcl.Traversal) {
	ref, ok := e.Source.(*expr.Ref)
	if each, is := e.Each.(*expr.Relative); ok && is {
		if _, direct := each.Source.(*hclsyntax.AnonSymbolExpr); direct {
			return ref, each.Traversal
		}
	}
	return nil, nil
}

// splatted adds a reference. rest are the steps after its [*], or nil if no [*] with steps follows the reference.
func (x *nameReader) splatted(e *expr.Ref, rest hcl.Traversal, via string) {
	text := syntax.ReferenceText(e.Traversal) + "[*]" + syntax.ReferenceText(rest)
	name, _, ok := expr.Attribute(rest)
	switch {
	case len(rest) > 0 && e.Root == expr.RootResource:
		x.add(Name{text, x.n.Decl(e.Local), via})
	case ok && e.Root == expr.RootCall && e.Output == "":
		x.output(e, name, text, via)
	default:
		x.reference(e, via)
	}
}

func (x *nameReader) reference(e *expr.Ref, via string) {
	text := syntax.ReferenceText(e.Traversal)
	switch e.Root {
	case expr.RootVariable, expr.RootLocal, expr.RootResource:
		x.add(Name{text, x.n.Decl(e.Local), via})
	case expr.RootCall:
		x.output(e, e.Output, text, via)
	case expr.RootCount, expr.RootEach:
		if !x.repeat {
			x.repeat = true
			x.expression(x.def.Repetition, nil, text)
		}
	}
}

// output adds the output of a called module that a reference names. If the module has no such output, it adds nothing.
// If the reference uses all outputs, or if the module could not be loaded, output adds the module call.
func (x *nameReader) output(call *expr.Ref, name, text, via string) {
	if child := x.n.Children[x.n.Unit.Defs[call.Local].Nth]; child != nil && name != "" {
		if i, ok := child.Unit.Index(Output, name); ok {
			x.add(Name{text, child.Decl(i), via})
		}
		return
	}
	x.add(Name{text, x.n.Decl(call.Local), via})
}

func (x *nameReader) add(name Name) {
	for _, have := range x.list {
		if have == name {
			return
		}
	}
	x.list = append(x.list, name)
}
