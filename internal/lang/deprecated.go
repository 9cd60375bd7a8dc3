package lang

import (
	"maps"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/zclconf/go-cty/cty"
)

// Deprecated outputs. That module.m.old is deprecated is seen where it is referred to (link). A module
// may also be used as a whole and something selected from it later: by way of a local value or an input
// variable, in a loop over its instances. Marks on values would find these, and would also complain
// about whoever hands the whole on without ever using the old output. So it is
// found in the text, once, and evaluation does not know of it: what an expression is made of, as far as
// that is modules, is followed to where an output is selected.

// deprecated warns of a reference to an output that says not to use it.
func (n *node) deprecated(from *node, output string, at diag.Range, bag *diag.Bag) {
	i, ok := n.unit.index(Output, output)
	if !ok || n.hushed(from) {
		return
	}
	if o := n.unit.decls[i].out; o.Deprecated != "" {
		bag.Add(diag.Warningf("Deprecated value used", "This value is derived from module.%s.%s, which is deprecated with the following message:\n\n%s", n.cfg.Call.Name, output, o.Deprecated).At(at).See("declared here", o.Range))
	}
}

// hushed reports whether nobody wants to hear that another module uses what is deprecated in this one:
// it is said of this one, or a call on the way to the other has ignore_nested_deprecations.
func (n *node) hushed(from *node) bool {
	for ; from.parent != nil; from = from.parent {
		if from.cfg.Call.IgnoreNestedDeprecations {
			return true
		}
	}
	return n.cfg.Hushed
}

// shape is what is known of a value that has modules in it. A nil shape has none of interest.
type shape struct {
	module *node             // an instance of the module here
	each   *shape            // a collection of these
	fields map[string]*shape // an object with these attributes, among others
}

// deprecations looks for deprecated outputs that are selected from whole modules.
func (c *checker) deprecations() {
	w := &heritage{c: c, known: map[Decl]*shape{}, old: map[*node]bool{}}
	if !w.mayWarn(c.p.root) {
		return
	}
	for _, n := range c.p.nodes {
		for _, d := range n.unit.decls {
			w.declaration(n, d)
		}
	}
}

// heritage is one search for deprecated outputs.
type heritage struct {
	c     *checker
	known map[Decl]*shape // of locals, outputs, variables, and of what repeats others; nil while it is looked for
	old   map[*node]bool  // modules with deprecated outputs, or with such modules inside
}

// mayWarn fills old for a module and all inside.
func (w *heritage) mayWarn(n *node) bool {
	for i := range n.unit.outputs() {
		w.old[n] = w.old[n] || n.unit.decls[i].out.Deprecated != ""
	}
	for _, child := range n.children {
		if child != nil && w.mayWarn(child) {
			w.old[n] = true
		}
	}
	return w.old[n]
}

// spot is where an expression stands, and what the names of loops around it are.
type spot struct {
	w      *heritage
	n      *node
	d      *decl
	names  map[string]*shape
	member *shape // of the splat around
}

func (w *heritage) declaration(n *node, d *decl) {
	t := &spot{w: w, n: n, d: d}
	w.value(n, d.index)
	for _, a := range d.args {
		t.of(a.expr)
	}
	if b := w.c.p.checked.bodies[d]; b != nil {
		t.body(b)
	}
	for _, raw := range d.bodies {
		t.raw(raw)
	}
	for _, list := range d.conds {
		for _, cond := range list {
			t.of(cond.test)
			t.of(cond.message)
		}
	}
	t.of(d.prevent)
	t.of(d.destroy)
}

// value is the shape of a local, an output or a variable, and of what others are repeated for.
func (w *heritage) value(n *node, i int32) *shape {
	d := n.unit.decls[i]
	id := n.decl(i)
	if s, ok := w.known[id]; ok {
		return s
	}
	w.known[id] = nil // of what needs itself nothing is known
	var s *shape
	switch {
	case d.kind == Local || d.kind == Output:
		s = (&spot{w: w, n: n, d: d}).of(d.value)
	case d.rep != nil:
		s = (&spot{w: w, n: n, d: d}).of(d.rep)
	case d.kind == Variable && n.parent != nil:
		call := n.parent.unit.decls[n.call]
		if a := call.args[d.name]; a != nil {
			s = (&spot{w: w, n: n.parent, d: call}).of(a.expr)
		}
	}
	w.known[id] = s
	return s
}

func (t *spot) body(b *body) {
	for i := range b.attrs {
		t.of(b.attrs[i].expr)
	}
	for i := range b.nested {
		for _, it := range b.nested[i].items {
			if it.dynamic == nil {
				t.body(it.body)
				continue
			}
			t.dynamic(it.dynamic).body(it.body)
		}
	}
}

func (t *spot) raw(b *rawBody) {
	for i := range b.attrs {
		t.of(b.attrs[i].expr)
	}
	for i := range b.blocks {
		if block := &b.blocks[i]; block.dynamic == nil {
			t.raw(block.body)
		} else {
			t.dynamic(block.dynamic).raw(block.body)
		}
	}
}

// dynamic is the spot inside a dynamic block.
func (t *spot) dynamic(d *dynamic) *spot {
	over := t.of(d.forEach)
	return t.with(d.iterator, &shape{fields: map[string]*shape{"value": over.element()}})
}

// with is the same spot with one more name.
func (t *spot) with(name string, s *shape) *spot {
	in := *t
	in.names = maps.Clone(t.names)
	if in.names == nil {
		in.names = map[string]*shape{}
	}
	in.names[name] = s
	return &in
}

// of is the shape of an expression. What is selected inside it is looked at on the way.
func (t *spot) of(e hclsyntax.Expression) *shape {
	switch e := e.(type) {
	case *argumentOf:
		return t.of(e.Expression)
	case *hclsyntax.ParenthesesExpr:
		return t.of(e.Expression)
	case *hclsyntax.TemplateWrapExpr:
		return t.of(e.Wrapped)
	case *ref:
		return t.steps(t.ref(e), e.rest)
	case *item:
		return t.steps(t.names[e.name], e.Traversal[1:])
	case *hclsyntax.AnonSymbolExpr:
		return t.member
	case *relative:
		return t.steps(t.of(e.Source), e.Traversal)
	case *indexed:
		t.of(e.Key)
		return t.index(t.of(e.Collection), e.Key, e.SrcRange)
	case *selected:
		t.of(e.key)
		return t.steps(t.output(t.n.children[t.n.unit.decls[e.target.local].nth], e.target.output), e.target.rest)
	case *spread:
		return t.splat(e)
	case *loop:
		return t.loop(e)
	case *choice:
		t.of(e.Condition)
		return first(t.of(e.TrueResult), t.of(e.FalseResult))
	case *attempt:
		return t.call(e.FunctionCallExpr)
	case *called:
		return t.call(e.FunctionCallExpr)
	case *provided:
		return t.call(e.FunctionCallExpr)
	case *hclsyntax.FunctionCallExpr:
		return t.call(e)
	case *hclsyntax.TupleConsExpr:
		return t.tuple(e)
	case *objectCons:
		return t.object(e)
	}
	t.parts(e)
	return nil
}

// parts looks into what makes no modules.
func (t *spot) parts(e hclsyntax.Expression) {
	switch e := e.(type) {
	case *hclsyntax.ObjectConsKeyExpr:
		t.of(e.Wrapped)
	case *operation:
		t.of(e.LHS)
		t.of(e.RHS)
	case *nullTest:
		t.of(e.LHS)
		t.of(e.RHS)
	case *unary:
		t.of(e.Val)
	case *text:
		for _, part := range e.Parts {
			t.of(part)
		}
	case *joined:
		t.of(e.Tuple)
	}
}

// ref is the shape of what a reference names, before anything is selected from it.
func (t *spot) ref(e *ref) *shape {
	switch e.root {
	case rootVariable, rootLocal:
		return t.w.value(t.n, e.local)
	case rootEach:
		if e.field == "value" {
			return t.w.value(t.n, t.d.index).element()
		}
	case rootCall:
		child := t.n.children[t.n.unit.decls[e.local].nth]
		switch {
		case child == nil || !t.w.old[child]:
		case e.output != "":
			return t.output(child, e.output)
		case e.repeated && !e.hasKey:
			return &shape{each: &shape{module: child}}
		default:
			return &shape{module: child}
		}
	}
	return nil
}

// output is the shape of one output of a module.
func (t *spot) output(child *node, name string) *shape {
	if child == nil || !t.w.old[child] {
		return nil
	}
	if i, ok := child.unit.index(Output, name); ok {
		return t.w.value(child, i)
	}
	return nil
}

func (t *spot) steps(s *shape, steps hcl.Traversal) *shape {
	for _, step := range steps {
		switch step := step.(type) {
		case hcl.TraverseAttr:
			s = t.attribute(s, step.Name, step.SrcRange)
		case hcl.TraverseIndex:
			s = t.key(s, step.Key, step.SrcRange)
		default:
			return nil
		}
	}
	return s
}

func (t *spot) index(s *shape, key hclsyntax.Expression, at hcl.Range) *shape {
	if arg, ok := key.(*argumentOf); ok {
		key = arg.Expression
	}
	if v, ok := constant(key); ok {
		return t.key(s, v, at)
	}
	return s.element()
}

func (t *spot) key(s *shape, key cty.Value, at hcl.Range) *shape {
	if key.Type() == cty.String && key.IsKnown() && !key.IsNull() {
		return t.attribute(s, key.AsString(), at)
	}
	return s.element()
}

// attribute selects from a shape: of a module that is an output, and here it may be a deprecated one.
func (t *spot) attribute(s *shape, name string, at hcl.Range) *shape {
	switch {
	case s == nil:
		return nil
	case s.module != nil:
		s.module.deprecated(t.n, name, at, t.w.c.bag)
		return t.output(s.module, name)
	case s.fields != nil:
		return s.fields[name]
	}
	return s.each
}

// element is what is in a collection.
func (s *shape) element() *shape {
	if s == nil {
		return nil
	}
	return s.each
}

func (t *spot) splat(e *spread) *shape {
	over := t.of(e.Source)
	if over != nil && over.each != nil {
		over = over.each
	}
	in := *t
	in.member = over
	return collection(in.of(e.Each))
}

func (t *spot) loop(e *loop) *shape {
	in := t.with(e.ValVar, t.of(e.CollExpr).element())
	if e.KeyVar != "" {
		in.names[e.KeyVar] = nil
	}
	in.of(e.KeyExpr)
	in.of(e.CondExpr)
	out := collection(in.of(e.ValExpr))
	if e.Group {
		out = collection(out)
	}
	return out
}

func (t *spot) tuple(e *hclsyntax.TupleConsExpr) *shape {
	var found *shape
	for _, x := range e.Exprs {
		found = first(found, t.of(x))
	}
	return collection(found)
}

func (t *spot) object(e *objectCons) *shape {
	out := &shape{fields: map[string]*shape{}}
	for _, item := range e.Items {
		t.of(item.KeyExpr)
		s := t.of(item.ValueExpr)
		if name, ok := constant(item.KeyExpr); ok && s != nil && name.Type() == cty.String && !name.IsNull() {
			out.fields[name.AsString()] = s
		}
	}
	if len(out.fields) == 0 {
		return nil
	}
	return out
}

// call is what functions make of modules. Those that are not here make none.
func (t *spot) call(e *hclsyntax.FunctionCallExpr) *shape {
	args := make([]*shape, len(e.Args))
	var some *shape
	for i, a := range e.Args {
		args[i] = t.of(a)
		some = first(some, args[i])
	}
	if some == nil {
		return nil
	}
	switch strings.TrimPrefix(e.Name, "core::") {
	case "values", "reverse", "concat", "slice", "distinct", "setunion", "coalescelist", "coalesce", "try", "zipmap",
		"tolist", "toset", "tomap", "convert", "sensitive", "nonsensitive", "ephemeralasnull":
		return some
	case "merge":
		return merged(args)
	case "flatten":
		for some.each != nil && some.each.each != nil {
			some = some.each
		}
		return some
	case "element", "one":
		return some.element()
	case "lookup":
		if len(e.Args) > 1 {
			return t.index(args[0], e.Args[1], e.Args[1].Range())
		}
	}
	return nil
}

// merged is what merge makes: the attributes of all, or elements as those of the first that has some.
func merged(args []*shape) *shape {
	out := &shape{fields: map[string]*shape{}}
	for _, s := range args {
		switch {
		case s == nil:
		case s.fields == nil:
			return s
		default:
			maps.Copy(out.fields, s.fields)
		}
	}
	return out
}

// collection is a collection of something, if it is of interest.
func collection(of *shape) *shape {
	if of == nil {
		return nil
	}
	return &shape{each: of}
}

func first(a, b *shape) *shape {
	if a != nil {
		return a
	}
	return b
}
