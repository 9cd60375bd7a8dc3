package expr

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/convert"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// For is a for expression.
type For struct{ *hclsyntax.ForExpr }

// Value evaluates the collection, and then the clauses once for each element. If the elements are unknown, the result
// is unknown. Value then evaluates the clauses once with unknown elements, for the marks of the result. It reports
// errors of the if clause, and during validation errors of all clauses. The result is also unknown after an error.
func (e *For) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	if v, ok := sample(e.CollExpr, ctx); ok {
		t := &turns{e: e, ctx: ctx, s: envOf(ctx), known: true, result: cty.DynamicVal}
		v = t.probe(cty.DynamicVal, v)
		return v, e.CollExpr.(*Ref).ofAny(t.diags, ctx)
	}
	coll, diags := e.CollExpr.Value(ctx)
	if diags.HasErrors() {
		return Raise(cty.DynamicVal, coll), diags
	}
	unmarked, remark := mark.Unmark(coll)
	if d := e.iterable(unmarked, ctx); d != nil {
		return Raise(cty.DynamicVal, coll), append(diags, d)
	}
	t := &turns{e: e, ctx: ctx, s: envOf(ctx), diags: diags, known: true, result: remark(cty.DynamicVal)}
	if unmarked.Type() == cty.DynamicPseudoType || !unmarked.IsKnown() {
		if unmarked.Type() != cty.DynamicPseudoType && !t.tryCondition() {
			return Raise(cty.DynamicVal, coll), t.diags
		}
		v := cty.DynamicVal
		if unmarked.Type().IsCollectionType() {
			v = cty.UnknownVal(unmarked.Type().ElementType())
		}
		before := len(t.diags)
		out := Raise(t.probe(remark(cty.DynamicVal), remark(v)), coll)
		onceKnown(t.diags[before:], "an element")
		return out, t.diags
	}
	if unmarked.LengthInt() == 0 && !t.tryCondition() {
		return Raise(cty.DynamicVal, coll), t.diags
	}
	t.begin(unmarked.LengthInt())
	veiled := mark.Is(coll, mark.Sensitive)
	for k, v := range Entries(unmarked) {
		if !t.within() || len(t.diags) > enough {
			break
		}
		if veiled {
			t.veiledTurn(k, v, coll)
		} else {
			t.turn(mark.Same(k, coll), mark.Same(v, coll))
		}
	}
	return remark(t.finish()), t.diags
}

// veiledTurn evaluates one iteration over a sensitive collection. As in HCL, the loop variables are not sensitive, but
// the result of the loop is, so nonsensitive() around the loop reveals the whole result. Diagnostics must not show the
// elements of coll. If the iteration reports a diagnostic, veiledTurn evaluates it again with sensitive variables, and
// reports the diagnostics of the second evaluation instead. Ephemeral marks stay on the variables, because names made
// from ephemeral text are recognized by these marks.
func (t *turns) veiledTurn(k, v, coll cty.Value) {
	visible := mark.Without(coll, mark.Sensitive)
	before, reported := len(t.diags), &diag.Bag{}
	t.reportingTo(reported, func() { t.turn(mark.Same(k, visible), mark.Same(v, visible)) })
	if len(t.diags) == before && reported.Len() == 0 {
		return
	}
	seen := t.diags[before:]
	t.diags, t.child = t.diags[:before:before], nil
	if t.s != nil && t.s.Meter != nil && t.s.Meter.Exceeded() { // an error about an exceeded limit shows no values, so a second evaluation is not needed
		t.s.Bag.Add(reported.List()...)
		return
	}
	again := &turns{e: t.e, ctx: t.ctx, s: t.s, known: true, result: t.result}
	again.begin(1)
	retried := &diag.Bag{}
	t.reportingTo(retried, func() { again.turn(mark.Same(k, coll), mark.Same(v, coll)) })
	if len(seen) > 0 && len(again.diags) == 0 && retried.Len() == 0 {
		again.diags = withoutValues(seen)
	}
	t.diags = append(t.diags, again.diags...)
	if t.s != nil {
		t.s.Bag.Add(retried.List()...)
	}
}

// reportingTo calls evaluate, and collects its diagnostics in bag instead of the bag of the evaluation.
func (t *turns) reportingTo(bag *diag.Bag, evaluate func()) {
	if t.s == nil {
		evaluate()
		return
	}
	outer := t.s.Bag
	t.s.Bag = bag
	evaluate()
	t.s.Bag = outer
}

// withoutValues returns diagnostics in which the details that may show an element of a sensitive collection are
// replaced.
func withoutValues(ds hcl.Diagnostics) hcl.Diagnostics {
	out := make(hcl.Diagnostics, len(ds))
	for i, d := range ds {
		hidden := *d
		if d.Expression != nil {
			hidden.Detail = "The details are not shown, because they could reveal a sensitive value."
			hidden.Expression, hidden.EvalContext, hidden.Extra = nil, nil, nil
		}
		out[i] = &hidden
	}
	return out
}

func (e *For) iterable(v cty.Value, ctx *hcl.EvalContext) *hcl.Diagnostic {
	switch {
	case v.IsNull():
		return errorIn(e.CollExpr, ctx, e.CollExpr.Range(), e.SrcRange, "Iteration over null value", "A null value cannot be used as the collection in a 'for' expression.")
	case v.Type() == cty.DynamicPseudoType || iterable(v.Type()):
		return nil
	}
	return errorIn(e.CollExpr, ctx, e.CollExpr.Range(), e.SrcRange, "Iteration over non-iterable value", fmt.Sprintf("A value of type %s cannot be used as the collection in a 'for' expression.", v.Type().FriendlyName()))
}

// turns is the state of one evaluation of a for expression.
type turns struct {
	e       *For
	s       *Env // the evaluation; nil if the expression is evaluated without an Env
	ctx     *hcl.EvalContext
	child   *hcl.EvalContext // the context of the current iteration; iterations without diagnostics share one context
	diags   hcl.Diagnostics
	known   bool        // false if the result is unknown, because of a key, a condition, an error or a limit
	result  cty.Value   // a value with the marks of the collection, the conditions and the keys, which the result gets
	dropped []cty.Value // values that are not in the result because a key or a condition is unknown; the result gets their marks

	made   int // the number of elements that the loop has made
	list   []cty.Value
	obj    map[string]cty.Value
	groups map[string][]cty.Value
}

func (t *turns) begin(n int) {
	switch {
	case t.e.KeyExpr == nil:
		t.list = make([]cty.Value, 0, n)
	case t.e.Group:
		t.groups = map[string][]cty.Value{}
	default:
		t.obj = make(map[string]cty.Value, n)
	}
}

// enough is the number of errors after which a loop stops, because further errors are probably the same.
const enough = 20

// within reports whether the meter permits one more iteration.
func (t *turns) within() bool {
	if t.s == nil || t.s.Meter == nil || t.s.Meter.Element(t.e.SrcRange) {
		return true
	}
	t.known = false
	return false
}

// scope returns the context of one iteration, with k and v as the values of the loop variables. All iterations share
// one context, so a call changes the context that the last call returned.
func (t *turns) scope(k, v cty.Value) *hcl.EvalContext {
	if t.child == nil {
		t.child = t.ctx.NewChild()
		t.child.Variables = make(map[string]cty.Value, 2)
	}
	if t.e.KeyVar != "" {
		t.child.Variables[t.e.KeyVar] = k
	}
	t.child.Variables[t.e.ValVar] = v
	return t.child
}

// report adds the diagnostics of an iteration. Each diagnostic keeps the context of its iteration, so the next
// iteration gets a new context.
func (t *turns) report(ds ...*hcl.Diagnostic) {
	if len(ds) > 0 {
		t.diags = append(t.diags, ds...)
		t.child = nil
	}
}

func (t *turns) turn(k, v cty.Value) {
	ctx := t.scope(k, v)
	if t.e.CondExpr != nil && !t.included(ctx) {
		return
	}
	if t.e.KeyExpr == nil {
		val, diags := t.e.ValExpr.Value(ctx)
		t.report(diags...)
		t.list = append(t.list, t.weigh(val))
		return
	}
	name, ok := t.key(ctx)
	val, diags := t.e.ValExpr.Value(ctx)
	if !ok {
		t.dropped = append(t.dropped, val) // so that the result gets the marks of val
		return
	}
	t.report(diags...)
	val = t.weigh(val)
	switch {
	case t.e.Group:
		t.groups[name] = append(t.groups[name], val)
	default:
		if _, again := t.obj[name]; again {
			t.duplicate(name, ctx)
			return
		}
		t.obj[name] = val
	}
}

// weigh counts a new element of the result. If that exceeds a limit, weigh returns an unknown value, and the result of
// the loop becomes unknown.
func (t *turns) weigh(v cty.Value) cty.Value {
	if t.s != nil && t.s.Meter != nil && !t.s.Meter.Keep(&t.made, v, t.e.SrcRange) {
		t.known = false
		return cty.DynamicVal
	}
	return v
}

// included evaluates the if clause of an iteration, and reports its errors. It returns true if the clause is true. If
// the clause is unknown or has an error, included returns false, and the result of the for expression becomes unknown.
func (t *turns) included(ctx *hcl.EvalContext) bool {
	v, diags := t.e.CondExpr.Value(ctx)
	t.report(diags...)
	t.result = Raise(t.result, v)
	if diags.HasErrors() {
		t.known = false
		return false
	}
	v, _ = mark.UnmarkDeep(v)
	b, err := convert.To(v, cty.Bool)
	switch {
	case v.IsNull():
		t.wrong(ctx, t.e.CondExpr, "Invalid 'for' condition", "The value of the 'if' clause must not be null.")
	case err != nil:
		t.wrong(ctx, t.e.CondExpr, "Invalid 'for' condition", fmt.Sprintf("The 'if' clause value is invalid: %s.", err))
	case !b.IsKnown():
		t.known = false
		val, diags := t.e.ValExpr.Value(ctx) // evaluated only because the result gets the marks of this element
		if !diags.HasErrors() {
			t.dropped = append(t.dropped, val)
		}
	default:
		return b.True()
	}
	return false
}

// key evaluates the key of an element of an object, and converts it to a string. If the key is invalid or unknown, key
// returns false, and the result of the for expression becomes unknown. It reports an error for an invalid key.
func (t *turns) key(ctx *hcl.EvalContext) (string, bool) {
	v, diags := t.e.KeyExpr.Value(ctx)
	t.report(diags...)
	t.result = Raise(t.result, v)
	if diags.HasErrors() {
		t.known = false
		return "", false
	}
	v, remark := mark.UnmarkDeep(v)
	if v.IsNull() {
		t.wrong(ctx, t.e.KeyExpr, "Invalid object key", "Key expression in 'for' expression must not produce a null value.")
		return "", false
	}
	if !v.IsKnown() {
		t.known = false
		return "", false
	}
	if v.Type() == cty.Number {
		v = cty.StringVal(numberText(v))
	}
	str, err := convert.To(v, cty.String)
	if err != nil {
		t.wrong(ctx, t.e.KeyExpr, "Invalid object key", fmt.Sprintf("The key expression produced an invalid result: %s.", err))
		return "", false
	}
	noteKey(ctx, remark(v), str.AsString())
	return str.AsString(), true
}

// wrong reports an invalid clause of the loop, once for all iterations.
func (t *turns) wrong(ctx *hcl.EvalContext, e hcl.Expression, title, detail string) {
	if t.known {
		t.report(errorIn(e, ctx, e.Range(), t.e.SrcRange, title, detail))
	}
	t.known = false
}

// duplicate reports a key that occurs twice. If the result is marked, the message does not show the key.
func (t *turns) duplicate(name string, ctx *hcl.EvalContext) {
	what := fmt.Sprintf("the key %q", name)
	if t.result.IsMarked() {
		what = "the same key"
	}
	d := errorIn(t.e.KeyExpr, ctx, t.e.KeyExpr.Range(), t.e.SrcRange, "Duplicate object key",
		fmt.Sprintf("Two different items produced %s in this 'for' expression. If duplicates are expected, add an ellipsis (...) after the value expression to group by key.", what))
	if t.result.IsMarked() {
		d.Expression, d.EvalContext = nil, nil
	}
	t.report(d)
}

// tryCondition evaluates the if clause with unknown loop variables, for a loop whose elements are not known. If the
// clause is invalid, tryCondition reports an error and returns false.
func (t *turns) tryCondition() bool {
	if t.e.CondExpr == nil {
		return true
	}
	v, diags := t.e.CondExpr.Value(t.scope(cty.DynamicVal, cty.DynamicVal))
	t.report(diags...)
	if diags.HasErrors() {
		return false
	}
	v, _ = mark.UnmarkDeep(v)
	if v.IsNull() {
		t.wrong(t.ctx, t.e.CondExpr, "Condition is null", "The value of the 'if' clause must not be null.")
		return false
	}
	if _, err := convert.To(v, cty.Bool); err != nil {
		t.wrong(t.ctx, t.e.CondExpr, "Invalid 'for' condition", fmt.Sprintf("The 'if' clause value is invalid: %s.", err))
		return false
	}
	return true
}

// probe evaluates the clauses of the loop for an unknown element. It returns the result with the marks that the clauses
// add. During validation, it also reports mistakes in the clauses.
func (t *turns) probe(k, v cty.Value) cty.Value {
	ctx := t.scope(k, v)
	out := t.result
	for _, e := range []hclsyntax.Expression{t.e.CondExpr, t.e.KeyExpr, t.e.ValExpr} {
		if e == nil {
			continue
		}
		val, diags := e.Value(ctx)
		if t.s != nil && t.s.Validate {
			t.report(diags...)
		}
		out = Raise(out, val)
	}
	return out
}

// finish returns the result of the loop: a tuple, or an object if the loop has keys. In a loop that groups with "...",
// the values of the object are tuples. The result has the marks of conditions and keys. If the result is unknown, it
// also has the marks of all elements.
func (t *turns) finish() cty.Value {
	if !t.known {
		out := Raise(Raise(t.result, t.dropped...), t.list...)
		for _, v := range t.obj {
			out = Raise(out, v)
		}
		for _, vs := range t.groups {
			out = Raise(out, vs...)
		}
		return out
	}
	var v cty.Value
	switch {
	case t.e.KeyExpr == nil:
		v = cty.TupleVal(t.list)
	case t.e.Group:
		vals := make(map[string]cty.Value, len(t.groups))
		for k, vs := range t.groups {
			vals[k] = cty.TupleVal(vs)
		}
		v = cty.ObjectVal(vals)
	default:
		v = cty.ObjectVal(t.obj)
	}
	return Raise(v, t.result)
}

// Splat is source[*].each.
type Splat struct{ *hclsyntax.SplatExpr }

func (e *Splat) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	if v, ok := sample(e.Source, ctx); ok {
		out, diags := e.splatOf(cty.TupleVal([]cty.Value{v}), nil).Value(ctx)
		return Raise(cty.DynamicVal, out), e.Source.(*Ref).ofAny(diags, ctx)
	}
	v, diags := e.Source.Value(ctx)
	out, diags := e.splatOf(v, diags).Value(ctx)
	if diags.HasErrors() || !out.IsKnown() {
		out = sameMarks(out, v)
		out = sameMarks(out, elementsOf(v)...)
	}
	return out, diags
}

// splatOf returns the splat e with v as the already evaluated value of its source.
func (e *Splat) splatOf(v cty.Value, diags hcl.Diagnostics) *hclsyntax.SplatExpr {
	return &hclsyntax.SplatExpr{Source: &evaluated{e.Source, v, diags}, Each: e.Each, Item: e.Item, SrcRange: e.SrcRange, MarkerRange: e.MarkerRange}
}

// elementsOf returns the elements of a known list, set or tuple, and nil for any other value.
func elementsOf(v cty.Value) []cty.Value {
	v, _ = mark.Unmark(v)
	if ty := v.Type(); v.IsNull() || !v.IsKnown() || !ty.IsListType() && !ty.IsSetType() && !ty.IsTupleType() {
		return nil
	}
	return v.AsValueSlice()
}

// sample returns a value that represents any instance of source, if source refers to a repeated declaration whose
// instances are not known (Scope.Sample). For any other source, ok is false.
func sample(source hclsyntax.Expression, ctx *hcl.EvalContext) (cty.Value, bool) {
	e, ok := source.(*Ref)
	if !ok || !e.Repeated || e.HasKey || e.Wrong || len(e.Rest) > 0 {
		return cty.NilVal, false
	}
	s := envOf(ctx)
	if s == nil {
		return cty.NilVal, false
	}
	return s.Scope.Sample(e)
}
