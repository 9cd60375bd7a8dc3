package program

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/expr"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
)

// Part is a text that sets a value: a local, an output, the argument of a module call that sets a variable, or an
// argument of a block.
type Part struct {
	Path  []string // the path of an argument in its declaration, with the names of the blocks around it; nil for other texts
	At    diag.Range
	Names []Name
	Calls []FunctionCall

	outside map[string][]Name // by function in unmarking: the references outside of all its calls; nil if it is not called
}

// FunctionCall is a call of a function of the language, not of a provider.
type FunctionCall struct {
	Name string
	At   diag.Range // the name of the function

	whole diag.Range
}

// unmarking lists the functions whose results lack a mark of their arguments.
var unmarking = []string{"nonsensitive", "ephemeralasnull"}

// Unmarks reports whether all uses of the reference n in the part are in arguments of the function, which is
// nonsensitive or ephemeralasnull.
func (p Part) Unmarks(function string, n Name) bool {
	outside, called := p.outside[function]
	return called && !slices.Contains(outside, n)
}

// Within reports whether the call c is in an argument of the function.
func (p Part) Within(function string, c FunctionCall) bool {
	return slices.ContainsFunc(p.Calls, func(of FunctionCall) bool {
		return of.Name == function && of.whole != c.whole && contains(of.whole, c.whole)
	})
}

// Parts returns the texts that set the value of a declaration, or the part of its value at path. A number in path is
// the index of an element. Parts returns nil for a declaration that no text sets, such as a root variable, and before
// Bind also for a declaration with a body, such as a resource.
func Parts(p *Program, d Decl, path []string) []Part {
	n := p.at[d]
	if n == nil {
		return nil
	}
	def := n.Unit.Defs[d-n.Base]
	x := partReader{p: p, n: n, def: def, path: path}
	switch {
	case def.Kind == Local || def.Kind == Output:
		x.add(nil, def.Value, path)
	case def.Kind == Variable && n.Parent != nil:
		x.n, x.def = n.Parent, n.Parent.Unit.Defs[n.Call]
		if a := x.def.Inputs.Args[def.Name]; a != nil {
			x.add(nil, a.Expr, path)
		}
	case p.bound != nil && p.bound.bodies[def] != nil:
		x.body(nil, p.bound.bodies[def], def.Body)
	}
	return x.list
}

// partReader collects the texts that set one declaration.
type partReader struct {
	p    *Program
	n    *Node // the module that contains the text
	def  *Def
	path []string // the path of the wanted part of the declaration; empty means the whole
	list []Part
}

// body adds the arguments of a body that contain the wanted part, or that are inside it. The parameter at is the path
// of the body, and raw is its source.
func (x *partReader) body(at []string, b *expr.Body, raw *RawBody) {
	if b.Ready != cty.NilVal {
		x.constant(at, b.Schema, raw)
		return
	}
	for _, a := range b.Attrs {
		if to := append(at[:len(at):len(at)], a.Attr.Name); a.Expr != nil && x.wanted(to) {
			x.add(to, a.Expr, x.path[min(len(to), len(x.path)):])
		}
	}
	for _, nested := range b.Nested {
		to := append(at[:len(at):len(at)], nested.Name)
		if !x.wanted(to) {
			continue
		}
		y := x.inside(to)
		for _, item := range nested.Items {
			if item.Dynamic != nil {
				y.add(to, item.Dynamic.ForEach, nil)
			}
			of, _ := item.Raw.(*RawBody)
			y.body(to, item.Body, of)
		}
		x.list = y.list
	}
}

// inside returns the reader for the blocks of one type. The parameter at is the path of the blocks. The next name on
// the wanted path may be a number or a key, which selects one of the blocks. The returned reader reads all blocks of
// the type, because a dynamic block may generate any number of blocks.
func (x *partReader) inside(at []string) *partReader {
	y := *x
	if n := len(at); len(x.path) > n && IsIndex(x.path[n]) {
		y.path = slices.Concat(at, x.path[n+1:])
	}
	return &y
}

// IsIndex reports whether a name on a path is a number, which selects an element.
func IsIndex(name string) bool { _, err := strconv.ParseUint(name, 10, 64); return err == nil }

// constant adds the arguments of a body whose arguments are all constant, like body. The compiled form of such a body
// has only its value, so constant reads the source.
func (x *partReader) constant(at []string, b *schema.Block, raw *RawBody) {
	if raw == nil {
		return
	}
	below := func(name string) []string { return append(at[:len(at):len(at)], name) }
	for _, a := range b.Attrs {
		if written, to := raw.attr(a.Name), below(a.Name); written != nil && x.wanted(to) {
			x.add(to, written.Expr, x.path[min(len(to), len(x.path)):])
		}
	}
	for _, n := range b.Blocks {
		to := below(n.Name)
		if !x.wanted(to) {
			continue
		}
		y := x.inside(to)
		for i := range raw.Blocks {
			if raw.Blocks[i].typ == n.Name {
				y.constant(to, n.Block, raw.Blocks[i].Body)
			}
		}
		x.list = y.list
	}
}

// wanted reports whether the argument at a path contains the wanted part, or is inside it.
func (x *partReader) wanted(at []string) bool {
	n := min(len(at), len(x.path))
	return slices.Equal(at[:n], x.path[:n])
}

// add adds the part of the expression e that sets one attribute of the value of e. names is the path of the attribute
// inside this value, and at is the path of e.
func (x *partReader) add(at []string, e hclsyntax.Expression, names []string) {
	if e == nil {
		return
	}
	var path cty.Path
	for _, name := range names {
		path = path.GetAttr(name)
	}
	r := nameReader{p: x.p, n: x.n, def: x.def}
	r.expression(e, path, "")
	within := expr.InsideExpr(e, e.Range(), path)
	part := Part{Path: at, At: within, Names: r.list}
	expr.Visit(e, func(node hclsyntax.Node) {
		f, is := node.(*hclsyntax.FunctionCallExpr)
		if call, compiled := node.(*expr.Call); compiled {
			f, is = call.FunctionCallExpr, true
		}
		if is && f.NameRange.Start.Byte >= within.Start.Byte && f.NameRange.End.Byte <= within.End.Byte {
			part.Calls = append(part.Calls, FunctionCall{strings.TrimPrefix(f.Name, "core::"), f.NameRange, f.Range()})
		}
	})
	for _, name := range unmarking {
		r := nameReader{p: x.p, n: x.n, def: x.def}
		for _, c := range part.Calls {
			if c.Name == name {
				r.not = append(r.not, c.whole)
			}
		}
		if r.not != nil {
			r.expression(e, path, "")
			if part.outside == nil {
				part.outside = map[string][]Name{}
			}
			part.outside[name] = r.list
		}
	}
	x.list = append(x.list, part)
}
