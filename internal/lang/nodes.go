package lang

import (
	"fmt"
	"math"
	"math/big"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// The nodes here take the place of the library's where this language wants more than it does:
//
//   - no mark is lost. The library drops marks that lie inside of what makes a result unknown, and
//     those of keys into objects and maps; it takes the marks of a collection off its elements while
//     a for expression looks at them, so that messages would show them.
//   - work stays linear: one context for all turns of a loop, types looked at once.
//   - what an evaluation may make is bounded (budget.go).
//
// Where they report something they say what the library says: people know its texts.

// raise puts every mark in vs, at any depth, onto v itself.
func raise(v cty.Value, vs ...cty.Value) cty.Value {
	for _, from := range vs {
		if from == cty.NilVal || !from.ContainsMarked() {
			continue
		}
		_, remark := mark.BareDeep(from)
		v = remark(v)
	}
	return v
}

// sameMarks gives v the marks that other values themselves have.
func sameMarks(v cty.Value, from ...cty.Value) cty.Value {
	for _, w := range from {
		v = mark.Same(v, w)
	}
	return v
}

// errorIn is one error about an expression.
func errorIn(e hcl.Expression, ctx *hcl.EvalContext, at, context hcl.Range, title, detail string) *hcl.Diagnostic {
	return &hcl.Diagnostic{Severity: hcl.DiagError, Summary: title, Detail: detail, Subject: &at, Context: &context, Expression: e, EvalContext: ctx}
}

// choice is condition ? one : other.
type choice struct{ *hclsyntax.ConditionalExpr }

func (e *choice) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	yes, yesDiags := e.TrueResult.Value(ctx)
	no, noDiags := e.FalseResult.Value(ctx)
	ty, ok := unifyArms(yes, no)
	if !ok {
		return sameMarks(cty.DynamicVal, yes, no), e.mismatch(yes.Type(), no.Type(), ctx)
	}
	cond, diags := e.Condition.Value(ctx)
	if cond.IsNull() {
		return sameMarks(cty.UnknownVal(ty), cond, yes, no), append(diags, errorIn(e.Condition, ctx, e.Condition.Range(), e.SrcRange, "Null condition", "The condition value is null. Conditions must either be true or false."))
	}
	cond, remark := mark.Bare(cond)
	if !cond.IsKnown() {
		return remark(raise(e.either(yes, no, ty), yes, no)), diags
	}
	b, err := convert.Convert(cond, cty.Bool)
	if err != nil {
		return remark(sameMarks(cty.UnknownVal(ty), yes, no)), append(diags, errorIn(e.Condition, ctx, e.Condition.Range(), e.SrcRange, "Incorrect condition type", "The condition expression must be of type bool."))
	}
	taken, other, arm, which, more := no, yes, e.FalseResult, "false", noDiags
	if b.True() {
		taken, other, arm, which, more = yes, no, e.TrueResult, "true", yesDiags
	}
	diags = append(diags, more...)
	out, err := convertValue(taken, ty)
	if err != nil {
		diags = append(diags, errorIn(arm, ctx, arm.Range(), e.SrcRange, "Inconsistent conditional result types", fmt.Sprintf("The %s result value has the wrong type: %s.", which, err)))
		out = cty.UnknownVal(ty)
	}
	return remark(mark.Same(out, other)), diags
}

// unifyArms finds the type of a conditional's result.
func unifyArms(yes, no cty.Value) (cty.Type, bool) {
	yt, nt := yes.Type(), no.Type()
	switch {
	case isNullLiteral(yes):
		return nt, true
	case isNullLiteral(no):
		return yt, true
	case yt == cty.DynamicPseudoType || nt == cty.DynamicPseudoType:
		return cty.DynamicPseudoType, true
	case yt.Equals(nt):
		return yt, true
	}
	ty := unify([]cty.Type{yt, nt})
	return ty, ty != cty.NilType
}

func isNullLiteral(v cty.Value) bool { return v.Type() == cty.DynamicPseudoType && v.IsNull() }

// mismatch lets the library describe how two types differ.
func (e *choice) mismatch(yes, no cty.Type, ctx *hcl.EvalContext) hcl.Diagnostics {
	stub := *e.ConditionalExpr
	stub.Condition = &hclsyntax.LiteralValueExpr{Val: cty.True, SrcRange: e.Condition.Range()}
	stub.TrueResult = &hclsyntax.LiteralValueExpr{Val: cty.UnknownVal(yes), SrcRange: e.TrueResult.Range()}
	stub.FalseResult = &hclsyntax.LiteralValueExpr{Val: cty.UnknownVal(no), SrcRange: e.FalseResult.Range()}
	_, diags := stub.Value(nil)
	s := envOf(ctx)
	telling := s != nil && (s.Names.in(yes) || s.Names.in(no))
	for _, d := range diags {
		if d.Expression, d.EvalContext = e.ConditionalExpr, ctx; telling {
			d.Detail = "The true and false result expressions must have consistent types. How they differ is not shown, because it could reveal a value that is ephemeral."
		}
	}
	return diags
}

// either is what is known of a result that can be one of two values: the library knows how to
// combine their ranges.
func (e *choice) either(yes, no cty.Value, ty cty.Type) cty.Value {
	yes, _ = mark.BareDeep(yes)
	no, _ = mark.BareDeep(no)
	if yes.IsNull() && no.IsNull() {
		return cty.NullVal(ty)
	}
	if yt, err := convertValue(yes, ty); err == nil {
		yes = yt
	}
	if nt, err := convertValue(no, ty); err == nil {
		no = nt
	}
	if yes.Type() == cty.DynamicPseudoType || no.Type() == cty.DynamicPseudoType || !yes.Type().Equals(no.Type()) {
		return cty.UnknownVal(ty)
	}
	lit := func(v cty.Value) hclsyntax.Expression { return &hclsyntax.LiteralValueExpr{Val: v} }
	stub := hclsyntax.ConditionalExpr{Condition: lit(cty.UnknownVal(cty.Bool)), TrueResult: lit(yes), FalseResult: lit(no)}
	v, _ := stub.Value(nil)
	return v
}

// operation is a binary operation. Two known numbers, strings or booleans are compared and counted
// with without the ceremony of a function call; everything else is the library's.
type operation struct{ *hclsyntax.BinaryOpExpr }

func (e *operation) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	l, ldiags := e.LHS.Value(ctx)
	r, rdiags := e.RHS.Value(ctx)
	if len(ldiags) == 0 && len(rdiags) == 0 {
		if v, ok := e.quick(l, r); ok {
			return v, nil
		}
	}
	s := envOf(ctx)
	within := func(toil int) bool { return s == nil || s.Meter == nil || s.Meter.Work(toil, l, e.SrcRange) }
	equality := e.Op == hclsyntax.OpEqual || e.Op == hclsyntax.OpNotEqual
	if !within(toilMake) {
		return raise(cty.DynamicVal, l, r), nil
	}
	if !within(toilCompare) {
		return raise(cty.DynamicVal, l, r), nil
	}
	stub := *e.BinaryOpExpr
	stub.LHS, stub.RHS = &evaluated{e.LHS, l, ldiags}, &evaluated{e.RHS, r, rdiags}
	v, diags := stub.Value(ctx)
	if e.Op == hclsyntax.OpAdd && len(ldiags) == 0 && len(rdiags) == 0 {
		diags = howToJoin(l, r, diags)
	}
	if err := tooLong(v); err != nil && !diags.HasErrors() {
		diags = append(diags, errorIn(e, ctx, e.SrcRange, e.SrcRange, "Operation failed", "Error during operation: "+err.Error()+"."))
		v = cty.UnknownVal(cty.Number)
	}
	if equality && !diags.HasErrors() && !v.IsKnown() && surelyDiffer(l, r) {
		return raise(cty.BoolVal(e.Op == hclsyntax.OpNotEqual), l, r), diags
	}
	if diags.HasErrors() || !v.IsKnown() {
		v = raise(v, l, r)
	}
	return v, diags
}

// howToJoin tells those who added what are no numbers how such values are joined. That is one mistake, not one for
// each operand.
func howToJoin(l, r cty.Value, ds hcl.Diagnostics) hcl.Diagnostics {
	if len(ds) == 0 || ds[0].Summary != "Invalid operand" {
		return ds
	}
	a, b := l.Type(), r.Type()
	way := ""
	switch {
	case a == cty.String && b == cty.String:
		way = `Texts are joined by naming both in one: "${a}${b}".`
	case (a.IsTupleType() || a.IsListType() || a.IsSetType()) && (b.IsTupleType() || b.IsListType() || b.IsSetType()):
		way = "Lists are joined by concat(a, b), sets by setunion(a, b)."
	case (a.IsObjectType() || a.IsMapType()) && (b.IsObjectType() || b.IsMapType()):
		way = "Maps and objects are joined by merge(a, b)."
	default:
		return ds
	}
	ds[0].Detail += " " + way
	return ds[:1]
}

// tooLong refuses a number so large or so small that whatever looks at its digits may never end. As no
// operation makes one, and no conversion, there are none.
func tooLong(v cty.Value) error {
	if v.Type() != cty.Number {
		return nil
	}
	bare, _ := mark.Bare(v)
	if !bare.IsKnown() || bare.IsNull() {
		return nil
	}
	return writable(bare)
}

// surelyDiffer reports whether two values of one type are different whatever their unknown parts will be. The
// library stops at the first such part that it comes across, in no order.
func surelyDiffer(l, r cty.Value) bool {
	l, _ = mark.Bare(l)
	r, _ = mark.Bare(r)
	ty := l.Type()
	if !ty.Equals(r.Type()) || !l.IsKnown() || !r.IsKnown() || ty.IsSetType() || ty.IsCapsuleType() {
		return false
	}
	switch {
	case l.IsNull() || r.IsNull():
		return l.IsNull() != r.IsNull()
	case ty.IsPrimitiveType():
		return l.Equals(r).False()
	case l.LengthInt() != r.LengthInt():
		return true
	case ty.IsObjectType() || ty.IsMapType():
		other := r.AsValueMap()
		for name, v := range l.AsValueMap() {
			if w, ok := other[name]; !ok || surelyDiffer(v, w) {
				return true
			}
		}
		return false
	}
	other := r.AsValueSlice()
	for i, v := range l.AsValueSlice() {
		if surelyDiffer(v, other[i]) {
			return true
		}
	}
	return false
}

// quick does what can be done at once.
func (e *operation) quick(l, r cty.Value) (cty.Value, bool) {
	ty := l.Type()
	if !ty.IsPrimitiveType() || ty != r.Type() || !isPlain(l) || !isPlain(r) {
		return cty.NilVal, false
	}
	switch e.Op {
	case hclsyntax.OpEqual:
		return l.Equals(r), true
	case hclsyntax.OpNotEqual:
		return l.Equals(r).Not(), true
	case hclsyntax.OpLogicalAnd, hclsyntax.OpLogicalOr:
		if ty == cty.Bool {
			return cty.BoolVal(e.Op == hclsyntax.OpLogicalAnd && l.True() && r.True() || e.Op == hclsyntax.OpLogicalOr && (l.True() || r.True())), true
		}
	}
	if ty != cty.Number {
		return cty.NilVal, false
	}
	return e.count(l, r)
}

// count calculates with two numbers, or compares them. Zero and what is large, small or negative is left to the
// library if that could matter.
func (e *operation) count(l, r cty.Value) (cty.Value, bool) {
	switch e.Op {
	case hclsyntax.OpLessThan:
		return l.LessThan(r), true
	case hclsyntax.OpLessThanOrEqual:
		return l.LessThanOrEqualTo(r), true
	case hclsyntax.OpGreaterThan:
		return l.GreaterThan(r), true
	case hclsyntax.OpGreaterThanOrEqual:
		return l.GreaterThanOrEqualTo(r), true
	}
	if !common(l) && l.Equals(cty.Zero) != cty.True || !common(r) {
		return cty.NilVal, false
	}
	switch e.Op {
	case hclsyntax.OpAdd:
		return l.Add(r), true
	case hclsyntax.OpSubtract:
		return l.Subtract(r), true
	case hclsyntax.OpMultiply:
		return l.Multiply(r), true
	case hclsyntax.OpDivide:
		return l.Divide(r), true
	case hclsyntax.OpModulo:
		return modulo(l, r), true
	}
	return cty.NilVal, false
}

// common reports whether a known number lies between 1/2 and 2⁶⁴, as most do: neither it nor what one operation makes
// of two such numbers has many digits.
func common(v cty.Value) bool {
	f := ctyvalue.Number(v)
	e := f.MantExp(nil)
	return f.Sign() > 0 && e >= 0 && e <= 64
}

// modulo is l.Modulo(r), which divides, rounds, multiplies and subtracts. The result is as precise as l.
func modulo(l, r cty.Value) cty.Value {
	a, b := ctyvalue.Number(l), ctyvalue.Number(r)
	m, lok := a.Int64()
	n, rok := b.Int64()
	if lok != big.Exact || rok != big.Exact || m > math.MaxInt32 || n > math.MaxInt32 {
		return l.Modulo(r)
	}
	return cty.NumberVal(new(big.Float).SetMode(a.Mode()).SetPrec(a.Prec()).SetInt64(m % n))
}

// isPlain reports whether a primitive value has nothing special about it.
func isPlain(v cty.Value) bool { return !v.IsMarked() && v.IsKnown() && !v.IsNull() }

// evaluated is an expression whose value is there already.
type evaluated struct {
	hclsyntax.Expression
	val   cty.Value
	diags hcl.Diagnostics
}

func (e *evaluated) Value(*hcl.EvalContext) (cty.Value, hcl.Diagnostics) { return e.val, e.diags }

// unary is !x or -x.
type unary struct{ *hclsyntax.UnaryOpExpr }

func (e *unary) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	v, diags := e.Val.Value(ctx)
	bare, remark := mark.Bare(v)
	stub := *e.UnaryOpExpr
	stub.Val = &evaluated{e.Val, bare, diags}
	out, diags := stub.Value(ctx)
	return remark(out), diags
}

// nullTest is x == null or x != null: it depends on nothing inside of x, so marks there do not count.
type nullTest struct{ *hclsyntax.BinaryOpExpr }

func (e *nullTest) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	other := e.LHS
	if v, ok := constant(e.LHS); ok && v.IsNull() {
		other = e.RHS
	}
	v, diags := other.Value(ctx)
	if diags.HasErrors() {
		return cty.UnknownVal(cty.Bool), diags
	}
	v, remark := mark.Bare(v)
	out := cty.UnknownVal(cty.Bool).RefineNotNull()
	switch {
	case v.IsNull():
		out = cty.True
	case v.IsKnown() || v.Type() != cty.DynamicPseudoType && v.Range().DefinitelyNotNull():
		out = cty.False
	}
	if e.Op == hclsyntax.OpNotEqual {
		out = out.Not()
	}
	return remark(out), diags
}

// objectCons is { key = value, … }.
type objectCons struct {
	*hclsyntax.ObjectConsExpr
	names   []string // of all attributes, if all were written down
	builder *ctyvalue.ObjectBuilder
}

func newObjectCons(e *hclsyntax.ObjectConsExpr) *objectCons {
	names := make([]string, 0, len(e.Items))
	for _, item := range e.Items {
		name, ok := constant(item.KeyExpr)
		if !ok || name.IsMarked() || name.Type() != cty.String || name.IsNull() || !name.IsKnown() {
			return &objectCons{ObjectConsExpr: e}
		}
		names = append(names, name.AsString())
	}
	return &objectCons{ObjectConsExpr: e, names: names, builder: new(ctyvalue.ObjectBuilder)}
}

func (e *objectCons) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	if e.names != nil {
		return e.named(ctx)
	}
	vals := make(map[string]cty.Value, len(e.Items))
	var diags hcl.Diagnostics
	var keys []cty.Value // marked ones
	lost := []cty.Value{}
	known := true
	for _, item := range e.Items {
		key, keyDiags := item.KeyExpr.Value(ctx)
		val, valDiags := item.ValueExpr.Value(ctx)
		diags = append(append(diags, keyDiags...), valDiags...)
		name, ok, d := objectKey(key, item, ctx)
		if d != nil && !keyDiags.HasErrors() {
			diags = append(diags, d)
		}
		if key.IsMarked() {
			keys = append(keys, key)
			heardKey(ctx, key, name)
		}
		if !ok || keyDiags.HasErrors() {
			known = false
			lost = append(lost, val)
			continue
		}
		vals[name] = val
	}
	if !known {
		for _, v := range vals {
			lost = append(lost, v)
		}
		return raise(raise(cty.DynamicVal, keys...), lost...), diags
	}
	return raise(cty.ObjectVal(vals), keys...), diags
}

// named is the value where all names were written down.
func (e *objectCons) named(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	var diags hcl.Diagnostics
	var few [8]cty.Value
	vals := few[:0]
	for _, item := range e.Items {
		val, valDiags := item.ValueExpr.Value(ctx)
		vals, diags = append(vals, val), append(diags, valDiags...)
	}
	return e.builder.Object(e.names, vals), diags
}

// heardKey remembers a name that was made of ephemeral text.
func heardKey(ctx *hcl.EvalContext, key cty.Value, name string) {
	if s := envOf(ctx); s != nil && mark.Is(key, mark.Ephemeral) {
		s.Names.add(name)
	}
}

// objectKey turns a key into an attribute name; ok is false if there is none (yet).
func objectKey(key cty.Value, item hclsyntax.ObjectConsItem, ctx *hcl.EvalContext) (string, bool, *hcl.Diagnostic) {
	key, _ = mark.Bare(key)
	if key.IsNull() {
		at := item.ValueExpr.Range()
		return "", false, &hcl.Diagnostic{Severity: hcl.DiagError, Summary: "Null value as key", Detail: "Can't use a null value as a key.", Subject: &at, Expression: item.KeyExpr, EvalContext: ctx}
	}
	str, err := convert.Convert(key, cty.String)
	if err != nil {
		at := item.KeyExpr.Range()
		return "", false, &hcl.Diagnostic{Severity: hcl.DiagError, Summary: "Incorrect key type", Detail: fmt.Sprintf("Can't use this value as a key: %s.", err), Subject: &at, Expression: item.KeyExpr, EvalContext: ctx}
	}
	if !str.IsKnown() {
		return "", false, nil
	}
	return str.AsString(), true, nil
}

// spread is source[*].each.
type spread struct{ *hclsyntax.SplatExpr }

func (e *spread) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	if v, ok := sample(e.Source, ctx); ok {
		out, diags := e.over(cty.TupleVal([]cty.Value{v}), nil).Value(ctx)
		return raise(cty.DynamicVal, out), diags
	}
	v, diags := e.Source.Value(ctx)
	out, diags := e.over(v, diags).Value(ctx)
	if diags.HasErrors() || !out.IsKnown() {
		out = sameMarks(out, v)
		out = sameMarks(out, elementsOf(v)...)
	}
	return out, diags
}

// over is the same splat over a value that is there already.
func (e *spread) over(v cty.Value, diags hcl.Diagnostics) *hclsyntax.SplatExpr {
	return &hclsyntax.SplatExpr{Source: &evaluated{e.Source, v, diags}, Each: e.Each, Item: e.Item, SrcRange: e.SrcRange, MarkerRange: e.MarkerRange}
}

// elementsOf lists the elements of a known list, set or tuple.
func elementsOf(v cty.Value) []cty.Value {
	v, _ = mark.Bare(v)
	if ty := v.Type(); v.IsNull() || !v.IsKnown() || !ty.IsListType() && !ty.IsSetType() && !ty.IsTupleType() {
		return nil
	}
	return v.AsValueSlice()
}

// sample stands for any instance of something repeated of which the instances are not known: its
// elements are ephemeral, for example, while nothing is said about how many there are. ok is false
// if source is something else.
func sample(source hclsyntax.Expression, ctx *hcl.EvalContext) (cty.Value, bool) {
	e, ok := source.(*ref)
	if !ok || !e.repeated || e.hasKey || e.wrong || len(e.rest) > 0 {
		return cty.NilVal, false
	}
	s := envOf(ctx)
	if s == nil {
		return cty.NilVal, false
	}
	return s.Scope.Sample(e)
}

// joined is the text of a template's loop.
type joined struct{ *hclsyntax.TemplateJoinExpr }

func (e *joined) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	tuple, diags := e.Tuple.Value(ctx)
	if tuple.IsNull() || !tuple.IsKnown() || tuple.Type() == cty.DynamicPseudoType {
		return raise(cty.UnknownVal(cty.String), tuple), diags
	}
	stub := &hclsyntax.TemplateJoinExpr{Tuple: &hclsyntax.LiteralValueExpr{Val: tuple, SrcRange: e.Tuple.Range()}}
	v, more := stub.Value(ctx)
	if !v.IsKnown() {
		v = raise(v, tuple)
	}
	return v, append(diags, more...)
}

// testsNull reports whether an operation compares something with null.
func testsNull(e *hclsyntax.BinaryOpExpr) bool {
	if e.Op != hclsyntax.OpEqual && e.Op != hclsyntax.OpNotEqual {
		return false
	}
	l, lok := constant(e.LHS)
	r, rok := constant(e.RHS)
	return lok && l.IsNull() != (rok && r.IsNull()) || !lok && rok && r.IsNull()
}
