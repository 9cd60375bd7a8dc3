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

// Body is the body of a block, compiled against a schema. It evaluates to a value of the schema's type.
type Body struct {
	Schema *schema.Block
	Ty     cty.Type
	Attrs  []BodyAttr
	Nested []BodyBlocks
	Ready  cty.Value // the value of the body, if it is constant; otherwise NilVal
}

// BodyAttr is one attribute of the schema, set or not.
type BodyAttr struct {
	Attr  *schema.Attr
	Want  cty.Type             // the type to which the value is converted, with optional attributes
	Expr  hclsyntax.Expression // nil if the attribute is not set; then Ready is null
	Ready cty.Value            // the value, if it is constant; otherwise NilVal
}

// BodyBlocks is one block type of the schema, with all blocks of this type in the body.
type BodyBlocks struct {
	*schema.Nested
	Items []BodyBlock
	Ready cty.Value // the value of all blocks together, if it is constant; otherwise NilVal

	// Attr is true if the blocks set an attribute of the schema. If dynamic blocks then generate no block, the value of
	// the attribute is null, and not an empty list. To set an empty list, the configuration must contain the attribute
	// with an empty list.
	Attr bool
}

// BodyBlock is one block or dynamic block in the configuration. Dynamic is nil for a block.
type BodyBlock struct {
	Body     *Body
	Labels   []string // the labels of a block whose type has the nesting mode Map; nil otherwise
	Dynamic  *Dynamic
	Mistakes []diag.Diagnostic // mistakes in the content of a dynamic block, which matter only if it generates a block
	At       hcl.Range
	Raw      written // finds positions in the source of the block
}

// written finds positions in the source of a block.
type written interface {
	// Where returns the range of the last step of a path that the source contains. If it contains no step, Where
	// returns the range at.
	Where(at hcl.Range, path cty.Path) hcl.Range
}

// Eval evaluates the body in the context ctx of the evaluation s, which receives the errors. In place of a value of the
// wrong type, it returns an unknown value of the right type. If the whole body is constant, s and ctx may be nil.
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

// WriteOnly returns a copy of the body that evaluates only write-only arguments and the blocks that may contain such
// arguments. It returns nil if the body sets no write-only argument.
func (b *Body) WriteOnly() *Body {
	out, empty, written := &Body{Schema: b.Schema, Ty: b.Ty}, b.Schema.Empty(), false
	for _, a := range b.Attrs {
		written = written || a.Attr.WriteOnly && a.Expr != nil
		if !a.Attr.WriteOnly {
			a.Ready = empty.GetAttr(a.Attr.Name)
		}
		out.Attrs = append(out.Attrs, a)
	}
	for _, n := range b.Nested {
		has := n.Block.HasWriteOnly()
		written = written || has && len(n.Items) > 0
		if !has {
			n.Ready = empty.GetAttr(n.Name)
		}
		out.Nested = append(out.Nested, n)
	}
	if !written {
		return nil
	}
	return out
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
		// the provider cannot report this mistake, because the planned value of a write-only argument is always null
		s.Error(diag.Errorf("Missing required argument", "The argument %q is required, but its value is null.", a.Attr.Name).At(a.Expr.Range()))
	}
	s.Finite(out, a.Attr.Name, a.Expr, ctx)
	return out
}

// blockValue is the value of one block. key is the label of a block whose type has the nesting mode Map.
type blockValue struct {
	val cty.Value
	key string
	at  hcl.Range
	raw written
}

// eval evaluates all blocks of one type, including the blocks that dynamic blocks generate.
func (n *BodyBlocks) eval(s *Env, ctx *hcl.EvalContext) cty.Value {
	e := &expansion{s: s, n: n}
	for i := range n.Items {
		e.item(&n.Items[i], ctx)
	}
	return e.value()
}

// expansion collects the values of the blocks of one type, including the blocks that dynamic blocks generate.
type expansion struct {
	s       *Env
	n       *BodyBlocks
	elems   []blockValue                // the values of the blocks so far
	unknown bool                        // the number of blocks is unknown, because a for_each or a label is unknown
	unsure  cty.Value                   // the value of one possible block, if the number of blocks is unknown
	remark  []func(cty.Value) cty.Value // functions that add the marks of the for_each values to the result
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
	collection := s.EvalIn(it.Dynamic.ForEach, ctx)
	collection, remark := mark.Unmark(collection)
	if mark.Is(remark(cty.True), mark.Ephemeral) || mark.Is(remark(cty.True), mark.Sensitive) {
		e.remark = append(e.remark, remark)
	}
	switch {
	case collection.IsNull():
		s.dynamicError(it, ctx, "Cannot use a null value in for_each.")
		return
	case !collection.IsKnown() && (collection.Type() == cty.DynamicPseudoType || iterable(collection.Type())):
		e.unknown = true
		s.errors(it.Mistakes)
		s.Suppose(func() { e.once(it, ctx, cty.DynamicVal, cty.DynamicVal) }) // evaluate one block with unknown iterator values, to report mistakes early
		e.unsure = e.elems[len(e.elems)-1].val
		e.elems = e.elems[:len(e.elems)-1]
		return
	case !collection.CanIterateElements():
		s.dynamicError(it, ctx, "Cannot use a "+collection.Type().FriendlyName()+" value in for_each. An iterable collection is required.")
		return
	}
	for k, v := range Entries(collection) {
		s.errors(it.Mistakes)
		if s.Meter != nil && !s.Meter.Element(it.At) {
			return
		}
		e.once(it, ctx, remark(k), remark(v))
	}
}

// once evaluates one block that a dynamic block generates, with k and v as the key and the value of the iterator.
func (e *expansion) once(it *BodyBlock, ctx *hcl.EvalContext, k, v cty.Value) {
	child := ctx.NewChild()
	child.Variables = map[string]cty.Value{it.Dynamic.Iterator: cty.ObjectVal(map[string]cty.Value{"key": k, "value": v})}
	key := ""
	if len(it.Dynamic.Labels) > 0 {
		key = e.label(it, child)
	}
	e.elems = append(e.elems, blockValue{it.Body.Eval(e.s, child), key, it.At, it.Raw})
}

// label evaluates the label of a generated block. If the value cannot be a label, it reports an error and returns "".
// If the value is unknown, it returns "" and sets e.unknown.
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

// value returns the value of all blocks of the type together, with the marks of the for_each values. If the number of
// blocks is unknown, that value is unknown; for a type with at most one block, it is an object with unknown attributes.
func (e *expansion) value() cty.Value {
	n := e.n
	var v cty.Value
	switch {
	case e.unknown && e.unsure != cty.NilVal && !n.Attr && (n.Nesting == schema.Single || n.Nesting == schema.Group):
		v = n.Block.Unsure(e.unsure) // a provider must not receive an unknown object for a block type with at most one block
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

// leaf records in Env.SetLeaves the first ephemeral value in the blocks of a set.
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

// Fold evaluates the blocks of a type if they are constant, so that later evaluations need not. It returns NilVal if
// the blocks are not constant, or if the evaluation would report an error, because each later evaluation must report
// this error for its instance.
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

// conversion reports a value that cannot be converted to the type of its attribute. The message contains no part of the
// value, but the diagnostic lists the values of the names in the expression that are not marked.
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

// countBlocks reports an error if the body has too few or too many blocks of a type. A maximum of 0 means no limit.
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

// BlocksAsList is the expression for an attribute that the configuration sets with blocks. Its value is the list of the
// blocks.
type BlocksAsList struct {
	*hclsyntax.LiteralValueExpr
	N *BodyBlocks
}

func (e *BlocksAsList) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	return e.N.eval(envOf(ctx), ctx), nil
}

// ConversionText returns the text of a conversion error, with the path inside the value at which the conversion failed.
func ConversionText(err error) string {
	if pe, ok := err.(cty.PathError); ok && len(pe.Path) > 0 {
		return mark.PathString(pe.Path) + ": " + pe.Error()
	}
	return err.Error()
}

// Dynamic has the iterator, the for_each and the labels of a dynamic block.
type Dynamic struct {
	ForEach  hclsyntax.Expression
	Iterator string
	Labels   []hclsyntax.Expression
}
