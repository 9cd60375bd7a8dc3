package expr

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/convert"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
)

// Body is a body compiled against a schema: evaluating it makes a value of the schema's type.
type Body struct {
	Schema *schema.Block
	Ty     cty.Type
	Attrs  []BodyAttr
	Nested []BodyBlocks
	Ready  cty.Value // the whole value, if nothing in it needs a scope, and nothing else; else NilVal
}

// BodyAttr is one attribute of the schema, written or not.
type BodyAttr struct {
	Attr  *schema.Attr
	Want  cty.Type             // what the value is converted to, with what may be left out
	Expr  hclsyntax.Expression // nil: not written
	Ready cty.Value            // NilVal if it has to be evaluated
}

// BodyBlocks is one block type of the schema with the blocks written for it.
type BodyBlocks struct {
	*schema.Nested
	Items []BodyBlock
	Ready cty.Value // the value, if nothing in it needs a scope; else NilVal

	// Attr says that the blocks stand for an attribute. Where dynamic blocks make none, it was not
	// set: it is only an empty list if one is written.
	Attr bool
}

// BodyBlock is one block, or a dynamic block, as it was written.
type BodyBlock struct {
	Body     *Body
	Labels   []string
	Dynamic  *Dynamic
	Mistakes []diag.Diagnostic // in the content of a dynamic block, where there is a block
	At       hcl.Range
	Raw      written
}

// written is the source of a block.
type written interface {
	// Where is the place of the last step of a path that is written out; at if none is.
	Where(at hcl.Range, path cty.Path) hcl.Range
}

// Eval evaluates the body.
func (b *Body) Eval(s *Env, ctx *hcl.EvalContext) cty.Value {
	if b.Ready != cty.NilVal {
		return b.Ready
	}
	n := len(b.Attrs) + len(b.Nested)
	names, vals := make([]string, 0, n), make([]cty.Value, 0, n)
	for i := range b.Attrs {
		a := &b.Attrs[i]
		v := a.Ready
		if v == cty.NilVal {
			v = a.eval(s, ctx)
		}
		names, vals = append(names, a.Attr.Name), append(vals, v)
	}
	for i := range b.Nested {
		n := &b.Nested[i]
		v := n.Ready
		if v == cty.NilVal {
			v = n.eval(s, ctx)
		}
		names, vals = append(names, n.Name), append(vals, v)
	}
	return schema.ObjectLike(b.Ty, names, vals)
}

func (a *BodyAttr) eval(s *Env, ctx *hcl.EvalContext) cty.Value {
	v := s.EvalIn(a.Expr, ctx)
	if s.Marked && a.Attr.Type.IsSetType() {
		if m, ok := mark.Split(v).Find(mark.Ephemeral); ok && len(m.Path) > 0 {
			s.SetLeaves = append(s.SetLeaves, SetLeaf{a.Attr.Name, m.Path[1:], InsideExpr(a.Expr, a.Expr.Range(), m.Path)})
		}
	}
	out, err := convert.To(v, a.Want)
	if err != nil {
		s.conversion(a, err, ctx)
		return cty.UnknownVal(a.Attr.Type)
	}
	if a.Attr.WriteOnly && a.Attr.Required && out.IsNull() {
		// A provider cannot refuse it: what it is asked to plan has null there in any case.
		s.Error(diag.Errorf("Missing required argument", "The argument %q is required, and its value here is null.", a.Attr.Name).At(a.Expr.Range()))
	}
	s.Finite(out, a.Attr.Name, a.Expr, ctx)
	return out
}

// blockValue is one block of a type that may occur several times.
type blockValue struct {
	val cty.Value
	key string
	at  hcl.Range
	raw written
}

// eval evaluates all blocks of a type.
func (n *BodyBlocks) eval(s *Env, ctx *hcl.EvalContext) cty.Value {
	e := &expansion{s: s, n: n}
	for i := range n.Items {
		e.item(&n.Items[i], ctx)
	}
	return e.value()
}

// expansion collects the blocks of one type, those that dynamic blocks make included.
type expansion struct {
	s       *Env
	n       *BodyBlocks
	elems   []blockValue
	unknown bool
	unsure  cty.Value                   // a block that may be made, if it is not known how many there are
	remark  []func(cty.Value) cty.Value // marks of what decided the number of blocks
}

func (e *expansion) item(it *BodyBlock, ctx *hcl.EvalContext) {
	if it.Dynamic == nil {
		key := ""
		if len(it.Labels) > 0 {
			key = it.Labels[0]
		}
		e.elems = append(e.elems, blockValue{it.Body.Eval(e.s, ctx), key, it.At, it.Raw})
		return
	}
	e.dynamic(it, ctx)
}

func (e *expansion) dynamic(it *BodyBlock, ctx *hcl.EvalContext) {
	s := e.s
	over := s.EvalIn(it.Dynamic.ForEach, ctx)
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
		s.errors(it.Mistakes)
		s.Suppose(func() { e.once(it, ctx, cty.DynamicVal, cty.DynamicVal) }) // for what can be said already
		e.unsure = e.elems[len(e.elems)-1].val
		e.elems = e.elems[:len(e.elems)-1]
		return
	case !over.CanIterateElements():
		s.dynamicError(it, ctx, "Cannot use a "+over.Type().FriendlyName()+" value in for_each. An iterable collection is required.")
		return
	}
	for k, v := range Entries(over) {
		s.errors(it.Mistakes)
		if s.Meter != nil && !s.Meter.Element(it.At) {
			return
		}
		e.once(it, ctx, remark(k), remark(v))
	}
}

// once makes one block of a dynamic block.
func (e *expansion) once(it *BodyBlock, ctx *hcl.EvalContext, k, v cty.Value) {
	child := ctx.NewChild()
	child.Variables = map[string]cty.Value{it.Dynamic.Iterator: cty.ObjectVal(map[string]cty.Value{"key": k, "value": v})}
	key := ""
	if len(it.Dynamic.Labels) > 0 {
		key = e.label(it, child)
	}
	e.elems = append(e.elems, blockValue{it.Body.Eval(e.s, child), key, it.At, it.Raw})
}

// label evaluates the label of a block that a dynamic block makes.
func (e *expansion) label(it *BodyBlock, ctx *hcl.EvalContext) string {
	l := it.Dynamic.Labels[0]
	v, err := convert.To(e.s.EvalIn(l, ctx), cty.String)
	switch {
	case err != nil:
		e.s.labelError("Cannot use this value as a dynamic block label: "+err.Error()+".", l.Range())
	case v.IsMarked():
		e.s.labelError("Cannot use a sensitive or ephemeral value as a dynamic block label.", l.Range())
	case !v.IsKnown():
		e.unknown = true
	case v.IsNull():
		e.s.labelError("Cannot use a null value as a dynamic block label.", l.Range())
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
	case e.unknown && e.unsure != cty.NilVal && !n.Attr && (n.Nesting == schema.Single || n.Nesting == schema.Group):
		v = n.Block.Unsure(e.unsure) // a provider gets no block that is unknown as a whole
	case e.unknown:
		v = cty.UnknownVal(n.Type())
		if n.Nesting != schema.Single && !n.Attr {
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
		e.s.Error(diag.Errorf("Duplicate "+e.n.Name+" block", "Only one %s block is allowed. Another was defined at %s.", e.n.Name, e.elems[0].at).At(e.elems[1].at))
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
		case n.Attr:
			return cty.NullVal(ty)
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
			e.s.SetLeaves = append(e.s.SetLeaves, SetLeaf{e.n.Name, m.Path, el.raw.Where(el.at, m.Path)})
			return
		}
	}
}

func (e *expansion) mapping(ty cty.Type) cty.Value {
	vals := make(map[string]cty.Value, len(e.elems))
	for _, el := range e.elems {
		if _, dup := vals[el.key]; dup {
			e.s.Error(diag.Errorf("Duplicate "+e.n.Name+" block", "Another %s block with the label %q was already defined.", e.n.Name, el.key).At(el.at))
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

// Fold evaluates blocks of constants once and for all. Anything that would be reported is left to
// the evaluations, which know their instance.
func (n *BodyBlocks) Fold() cty.Value {
	least, most := blockCounts(n.Nested)
	if len(n.Items) < least || most > 0 && len(n.Items) > most || n.Nesting == schema.Map && len(n.Items) > 1 {
		return cty.NilVal
	}
	for i := range n.Items {
		if n.Items[i].Dynamic != nil || n.Items[i].Body.Ready == cty.NilVal {
			return cty.NilVal
		}
	}
	return n.eval(nil, nil)
}

func blockCounts(n *schema.Nested) (int, int) {
	if n.Nesting == schema.Single || n.Nesting == schema.Group {
		return n.Min, 1
	}
	return n.Min, n.Max
}

// conversion reports a value of the wrong type, without showing it.
func (s *Env) conversion(a *BodyAttr, err error, ctx *hcl.EvalContext) {
	d := diag.Errorf("Incorrect attribute value type", "Inappropriate value for attribute %q: %s.", a.Attr.Name, ConversionText(err)).At(a.Expr.Range())
	s.Error(s.WithValues(d, a.Expr, ctx))
}

func (s *Env) dynamicError(it *BodyBlock, ctx *hcl.EvalContext, detail string) {
	d := diag.Errorf("Invalid dynamic for_each value", "%s", detail).At(it.Dynamic.ForEach.Range())
	s.Error(s.WithValues(d, it.Dynamic.ForEach, ctx))
}

func (s *Env) labelError(detail string, at hcl.Range) {
	s.Error(diag.Errorf("Invalid dynamic block label", "%s", detail).At(at))
}

// countBlocks reports too few or too many blocks.
func (s *Env) countBlocks(n *BodyBlocks, elems []blockValue) {
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

// BlocksAsList evaluates blocks as the list that an attribute wants.
type BlocksAsList struct {
	*hclsyntax.LiteralValueExpr
	N *BodyBlocks
}

func (e *BlocksAsList) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	return e.N.eval(envOf(ctx), ctx), nil
}

// ConversionText is a conversion error with the place inside the value.
func ConversionText(err error) string {
	if pe, ok := err.(cty.PathError); ok && len(pe.Path) > 0 {
		return mark.PathString(pe.Path) + ": " + pe.Error()
	}
	return err.Error()
}

// Dynamic is what makes the blocks of a dynamic block.
type Dynamic struct {
	ForEach  hclsyntax.Expression
	Iterator string
	Labels   []hclsyntax.Expression
}
