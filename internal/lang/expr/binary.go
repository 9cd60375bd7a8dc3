package expr

import (
	"math"
	"math/big"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/convert"
	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// Binary is a binary operation. Two known numbers, strings or booleans are compared and counted
// with without the ceremony of a function call; everything else is the library's.
type Binary struct{ *hclsyntax.BinaryOpExpr }

func (e *Binary) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	l, ldiags := e.LHS.Value(ctx)
	r, rdiags := e.RHS.Value(ctx)
	if len(ldiags) == 0 && len(rdiags) == 0 {
		if v, ok := e.quick(l, r); ok {
			return v, nil
		}
	}
	s := envOf(ctx)
	equality := e.Op == hclsyntax.OpEqual || e.Op == hclsyntax.OpNotEqual
	if s != nil && s.Meter != nil && !s.Meter.Work(costMake, l, e.SrcRange) {
		return Raise(cty.DynamicVal, l, r), nil
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
		return Raise(cty.BoolVal(e.Op == hclsyntax.OpNotEqual), l, r), diags
	}
	if diags.HasErrors() || !v.IsKnown() {
		v = Raise(v, l, r)
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
		way = `Strings are joined by naming both in one: "${a}${b}".`
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

// tooLong refuses a number so large or so small that a look at all its digits may never end. As no
// operation makes one, and no conversion, there are none.
func tooLong(v cty.Value) error {
	if v.Type() != cty.Number {
		return nil
	}
	bare, _ := mark.Bare(v)
	if !bare.IsKnown() || bare.IsNull() {
		return nil
	}
	return convert.Writable(bare)
}

// surelyDiffer reports whether two values of one type are different with any values of their unknown parts. The
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
func (e *Binary) quick(l, r cty.Value) (cty.Value, bool) {
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
func (e *Binary) count(l, r cty.Value) (cty.Value, bool) {
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

// Unary is !x or -x.
type Unary struct{ *hclsyntax.UnaryOpExpr }

func (e *Unary) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	v, diags := e.Val.Value(ctx)
	bare, remark := mark.Bare(v)
	stub := *e.UnaryOpExpr
	stub.Val = &evaluated{e.Val, bare, diags}
	out, diags := stub.Value(ctx)
	return remark(out), diags
}

// NullTest is x == null or x != null: it depends on nothing inside of x, so marks there do not count.
type NullTest struct{ *hclsyntax.BinaryOpExpr }

func (e *NullTest) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	other := e.LHS
	if v, ok := Constant(e.LHS); ok && v.IsNull() {
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

// TestsNull reports whether an operation compares something with null.
func TestsNull(e *hclsyntax.BinaryOpExpr) bool {
	if e.Op != hclsyntax.OpEqual && e.Op != hclsyntax.OpNotEqual {
		return false
	}
	l, lok := Constant(e.LHS)
	r, rok := Constant(e.RHS)
	return lok && l.IsNull() != (rok && r.IsNull()) || !lok && rok && r.IsNull()
}
