package lang

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// body is a body compiled against a schema: evaluating it makes a value of the schema's type.
type body struct {
	schema *schema.Block
	ty     cty.Type
	attrs  []bodyAttr
	nested []bodyNested
	ready  cty.Value // the whole value, if nothing in it needs a scope, and nothing else; else NilVal
}

// bodyAttr is one attribute of the schema, written or not.
type bodyAttr struct {
	attr  *schema.Attr
	want  cty.Type             // what the value is converted to, with what may be left out
	expr  hclsyntax.Expression // nil: not written
	ready cty.Value            // NilVal if it has to be evaluated
}

// bodyNested is one block type of the schema with the blocks written for it.
type bodyNested struct {
	*schema.Nested
	items []bodyItem
	ready cty.Value // the value, if nothing in it needs a scope; else NilVal
}

type bodyItem struct {
	body    *body
	labels  []string
	dynamic *dynamic
	at      hcl.Range
	raw     written
}

// written is the source of a block.
type written interface {
	// where is the place of the last step of a path that is written out; at if none is.
	where(at hcl.Range, path cty.Path) hcl.Range
}

// eval evaluates the body.
func (b *body) eval(s *env, ctx *hcl.EvalContext) cty.Value {
	if b.ready != cty.NilVal {
		return b.ready
	}
	o := schema.Assemble(b.ty)
	for i := range b.attrs {
		a := &b.attrs[i]
		if a.ready != cty.NilVal {
			o.Set(a.attr.Name, a.ready)
		} else {
			o.Set(a.attr.Name, a.eval(s, ctx))
		}
	}
	for i := range b.nested {
		n := &b.nested[i]
		if n.ready != cty.NilVal {
			o.Set(n.Name, n.ready)
		} else {
			o.Set(n.Name, n.eval(s, ctx))
		}
	}
	return o.Value()
}

func (a *bodyAttr) eval(s *env, ctx *hcl.EvalContext) cty.Value {
	v := s.EvalIn(a.expr, ctx)
	if s.Marked && a.attr.Type.IsSetType() {
		if m, ok := mark.Split(v).Find(mark.Ephemeral); ok && len(m.Path) > 0 {
			s.SetLeaves = append(s.SetLeaves, setLeaf{a.attr.Name, m.Path[1:], insideExpr(a.expr, a.expr.Range(), m.Path)})
		}
	}
	out, err := convertValue(v, a.want)
	if err != nil {
		s.conversion(a, err, ctx)
		return cty.UnknownVal(a.attr.Type)
	}
	if a.attr.WriteOnly && a.attr.Required && out.IsNull() {
		s.nullWriteOnly(a)
	}
	s.finite(out, a.attr.Name, a.expr, ctx)
	return out
}

// element is one block of a type that may occur several times.
type element struct {
	val cty.Value
	key string
	at  hcl.Range
	raw written
}

// eval evaluates all blocks of a type.
func (n *bodyNested) eval(s *env, ctx *hcl.EvalContext) cty.Value {
	e := &expansion{s: s, n: n}
	for i := range n.items {
		e.item(&n.items[i], ctx)
	}
	return e.value()
}

// expansion collects the blocks of one type, those that dynamic blocks make included.
type expansion struct {
	s       *env
	n       *bodyNested
	elems   []element
	unknown bool
	remark  []func(cty.Value) cty.Value // marks of what decided the number of blocks
}

func (e *expansion) item(it *bodyItem, ctx *hcl.EvalContext) {
	if it.dynamic == nil {
		key := ""
		if len(it.labels) > 0 {
			key = it.labels[0]
		}
		e.elems = append(e.elems, element{it.body.eval(e.s, ctx), key, it.at, it.raw})
		return
	}
	e.dynamic(it, ctx)
}

func (e *expansion) dynamic(it *bodyItem, ctx *hcl.EvalContext) {
	s := e.s
	over := s.EvalIn(it.dynamic.forEach, ctx)
	over, remark := mark.Bare(over)
	if mark.Is(remark(cty.True), mark.Ephemeral) || mark.Is(remark(cty.True), mark.Sensitive) {
		e.remark = append(e.remark, remark)
	}
	switch {
	case over.IsNull():
		s.dynamicError(it, ctx, "Cannot use a null value in for_each.")
		return
	case !over.IsKnown() && (over.Type() == cty.DynamicPseudoType || iterable(over.Type())):
		e.unknown = true
		e.once(it, ctx, cty.DynamicVal, cty.DynamicVal) // for what can be said already
		e.elems = e.elems[:len(e.elems)-1]
		return
	case !over.CanIterateElements():
		s.dynamicError(it, ctx, "Cannot use a "+over.Type().FriendlyName()+" value in for_each. An iterable collection is required.")
		return
	}
	for k, v := range entries(over) {
		if s.Meter != nil && !s.Meter.Element(it.at) {
			return
		}
		e.once(it, ctx, remark(k), remark(v))
	}
}

func iterable(t cty.Type) bool {
	return t.IsCollectionType() || t.IsTupleType() || t.IsObjectType()
}

// once makes one block of a dynamic block.
func (e *expansion) once(it *bodyItem, ctx *hcl.EvalContext, k, v cty.Value) {
	child := ctx.NewChild()
	child.Variables = map[string]cty.Value{it.dynamic.iterator: cty.ObjectVal(map[string]cty.Value{"key": k, "value": v})}
	key := ""
	if len(it.dynamic.labels) > 0 {
		key = e.label(it, child)
	}
	e.elems = append(e.elems, element{it.body.eval(e.s, child), key, it.at, it.raw})
}

// label evaluates the label of a block that a dynamic block makes.
func (e *expansion) label(it *bodyItem, ctx *hcl.EvalContext) string {
	l := it.dynamic.labels[0]
	v, err := convert.Convert(e.s.EvalIn(l, ctx), cty.String)
	switch {
	case err != nil:
		e.s.labelError(it, "Cannot use this value as a dynamic block label: "+err.Error()+".", l.Range())
	case v.IsMarked():
		e.s.labelError(it, "Cannot use a sensitive or ephemeral value as a dynamic block label.", l.Range())
	case !v.IsKnown():
		e.unknown = true
	case v.IsNull():
		e.s.labelError(it, "Cannot use a null value as a dynamic block label.", l.Range())
	default:
		return v.AsString()
	}
	return ""
}

// value makes the value of all blocks together.
func (e *expansion) value() cty.Value {
	n := e.n
	var v cty.Value
	switch {
	case e.unknown:
		v = cty.UnknownVal(n.Type())
		if n.Nesting != schema.Single {
			v = v.RefineNotNull()
		}
	case n.Nesting == schema.Single || n.Nesting == schema.Group:
		v = e.single()
	default:
		e.s.countBlocks(n, e.elems)
		v = e.many()
	}
	for _, remark := range e.remark {
		v = remark(v)
	}
	return v
}

func (e *expansion) single() cty.Value {
	if len(e.elems) > 1 {
		e.s.duplicateBlock(e.n, e.elems)
	}
	switch {
	case len(e.elems) > 0:
		return e.elems[0].val
	case e.n.Nesting == schema.Group:
		return e.n.Block.Empty()
	}
	if e.n.Min > 0 {
		e.s.countBlocks(e.n, e.elems)
	}
	return cty.NullVal(e.n.Block.Type())
}

func (e *expansion) many() cty.Value {
	n, ty := e.n, e.n.Type()
	if n.Nesting == schema.Map {
		return e.mapping(ty)
	}
	if len(e.elems) == 0 {
		switch {
		case n.Nesting == schema.Set:
			return cty.SetValEmpty(n.Block.Type())
		case ty == cty.DynamicPseudoType:
			return cty.EmptyTupleVal
		}
		return cty.ListValEmpty(n.Block.Type())
	}
	vals := make([]cty.Value, len(e.elems))
	for i := range e.elems {
		vals[i] = e.elems[i].val
	}
	if n.Nesting == schema.Set && e.s != nil && e.s.Marked {
		e.leaf()
	}
	switch {
	case n.Nesting == schema.Set:
		return cty.SetVal(vals)
	case ty == cty.DynamicPseudoType:
		return cty.TupleVal(vals)
	}
	return cty.ListVal(vals)
}

// leaf notes the first block of a set that has something ephemeral in it.
func (e *expansion) leaf() {
	for _, el := range e.elems {
		if m, ok := mark.Split(el.val).Find(mark.Ephemeral); ok {
			e.s.SetLeaves = append(e.s.SetLeaves, setLeaf{e.n.Name, m.Path, el.raw.where(el.at, m.Path)})
			return
		}
	}
}

func (e *expansion) mapping(ty cty.Type) cty.Value {
	vals := make(map[string]cty.Value, len(e.elems))
	for _, el := range e.elems {
		if _, dup := vals[el.key]; dup {
			e.s.duplicateLabel(e.n, el)
			continue
		}
		vals[el.key] = el.val
	}
	switch {
	case ty == cty.DynamicPseudoType:
		return cty.ObjectVal(vals)
	case len(vals) == 0:
		return cty.MapValEmpty(e.n.Block.Type())
	}
	return cty.MapVal(vals)
}

// fold evaluates blocks of constants once and for all. Anything that would be reported is left to
// the evaluations, which know their instance.
func (n *bodyNested) fold() cty.Value {
	least, most := limits(n.Nested)
	if len(n.items) < least || most > 0 && len(n.items) > most || n.Nesting == schema.Map && len(n.items) > 1 {
		return cty.NilVal
	}
	for i := range n.items {
		if n.items[i].dynamic != nil || n.items[i].body.ready == cty.NilVal {
			return cty.NilVal
		}
	}
	return n.eval(nil, nil)
}

func limits(n *schema.Nested) (int, int) {
	if n.Nesting == schema.Single || n.Nesting == schema.Group {
		return n.Min, 1
	}
	return n.Min, n.Max
}

// conversion reports a value of the wrong type, without showing it.
func (s *env) conversion(a *bodyAttr, err error, ctx *hcl.EvalContext) {
	d := diag.Errorf("Incorrect attribute value type", "Inappropriate value for attribute %q: %s.", a.attr.Name, conversionText(err)).At(a.expr.Range())
	s.Error(s.WithValues(d, a.expr, ctx))
}

// nullWriteOnly refuses null for a required write-only argument. A provider cannot: what it is asked
// to plan has null there in any case.
func (s *env) nullWriteOnly(a *bodyAttr) {
	s.Error(diag.Errorf("Missing required argument", "The argument %q is required, and its value here is null.", a.attr.Name).At(a.expr.Range()))
}

func (s *env) dynamicError(it *bodyItem, ctx *hcl.EvalContext, detail string) {
	d := diag.Errorf("Invalid dynamic for_each value", "%s", detail).At(it.dynamic.forEach.Range())
	s.Error(s.WithValues(d, it.dynamic.forEach, ctx))
}

func (s *env) labelError(it *bodyItem, detail string, at hcl.Range) {
	s.Error(diag.Errorf("Invalid dynamic block label", "%s", detail).At(at))
}

// countBlocks reports too few or too many blocks.
func (s *env) countBlocks(n *bodyNested, elems []element) {
	min, max := n.Min, n.Max
	switch {
	case len(elems) < min:
		d := diag.Errorf("Insufficient "+n.Name+" blocks", "At least %d %q blocks are required.", min, n.Name)
		if s.Block != (diag.Range{}) {
			d = d.At(s.Block)
		}
		if len(elems) > 0 {
			d = d.At(elems[0].at)
		}
		s.Error(d)
	case max > 0 && len(elems) > max:
		s.Error(diag.Errorf("Too many "+n.Name+" blocks", "No more than %d %q blocks are allowed", max, n.Name).At(elems[max].at))
	}
}

func (s *env) duplicateBlock(n *bodyNested, elems []element) {
	s.Error(diag.Errorf("Duplicate "+n.Name+" block", "Only one %s block is allowed. Another was defined at %s.", n.Name, elems[0].at).At(elems[1].at))
}

func (s *env) duplicateLabel(n *bodyNested, e element) {
	s.Error(diag.Errorf("Duplicate "+n.Name+" block", "Another %s block with the label %q was already defined.", n.Name, e.key).At(e.at))
}

// blocksExpr evaluates blocks as the list that an attribute wants.
type blocksExpr struct {
	*hclsyntax.LiteralValueExpr
	n *bodyNested
}

func (e *blocksExpr) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	return e.n.eval(envOf(ctx), ctx), nil
}

// conversionText is a conversion error with the place inside the value.
func conversionText(err error) string {
	if pe, ok := err.(cty.PathError); ok && len(pe.Path) > 0 {
		return mark.PathString(pe.Path) + ": " + pe.Error()
	}
	return err.Error()
}
