package expr

import (
	"math"
	"math/big"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/convert"
	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// Binary is a binary operation, such as a + b. If both operands are known numbers, strings or booleans without marks,
// it computes most results itself, which is faster. For all other operands, the HCL library evaluates the operation.
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
	if e.undecided(l, r) {
		diags := slices.Concat(ldiags, rdiags)
		if !diags.HasErrors() {
			diags = append(diags, errorIn(e, ctx, e.SrcRange, e.SrcRange, "Operation failed", "Error during operation: argument must not be null."))
		}
		return Raise(cty.UnknownVal(cty.Bool), l, r), diags
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

// undecided reports whether a logical operation has a null operand, and the other operand does not decide the result. The
// HCL library treats null as false in such an operation if it short-circuits.
func (e *Binary) undecided(l, r cty.Value) bool {
	if e.Op != hclsyntax.OpLogicalAnd && e.Op != hclsyntax.OpLogicalOr {
		return false
	}
	null := false
	for _, v := range []cty.Value{l, r} {
		v, _ = mark.Unmark(v)
		if v.IsNull() {
			null = true
			continue
		}
		b, err := convert.To(v, cty.Bool)
		if err != nil || b.IsKnown() && b.True() == (e.Op == hclsyntax.OpLogicalOr) {
			return false
		}
	}
	return null
}

// howToJoin adds to the errors of an addition whose operands are strings, collections or objects how to join such
// operands. It keeps only the first error, because errors about the two operands have one cause. It returns all other
// errors unchanged.
func howToJoin(l, r cty.Value, ds hcl.Diagnostics) hcl.Diagnostics {
	if len(ds) == 0 || ds[0].Summary != "Invalid operand" {
		return ds
	}
	a, b := l.Type(), r.Type()
	trail := ""
	switch {
	case a == cty.String && b == cty.String:
		trail = `To join strings, write "${a}${b}".`
	case (a.IsTupleType() || a.IsListType() || a.IsSetType()) && (b.IsTupleType() || b.IsListType() || b.IsSetType()):
		trail = "To join lists, use concat(a, b). To join sets, use setunion(a, b)."
	case (a.IsObjectType() || a.IsMapType()) && (b.IsObjectType() || b.IsMapType()):
		trail = "To join maps or objects, use merge(a, b)."
	default:
		return ds
	}
	ds[0].Detail += " " + trail
	return ds[:1]
}

// tooLong returns an error for a number that has too many digits to be written in reasonable time. Every operation and
// conversion calls tooLong for its result, so no value contains such a number.
func tooLong(v cty.Value) error {
	if v.Type() != cty.Number {
		return nil
	}
	unmarked, _ := mark.Unmark(v)
	if !unmarked.IsKnown() || unmarked.IsNull() {
		return nil
	}
	return convert.Writable(unmarked)
}

// surelyDiffer reports whether two values of one type differ whatever the values of their unknown parts are. It is
// needed because the HCL library compares the parts in no defined order and stops at the first unknown part, so its
// result varies. surelyDiffer returns false for sets, for capsules, and for values of different types.
func surelyDiffer(l, r cty.Value) bool {
	l, _ = mark.Unmark(l)
	r, _ = mark.Unmark(r)
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

// quick evaluates an operation on two plain primitive values of the same type. It returns false if the HCL library must
// evaluate the operation.
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

// count calculates with two numbers, or compares them. It returns false if the HCL library must calculate: for a number
// that is negative, very large or very small, or for zero as the second number.
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

// modulo returns l.Modulo(r), faster for small whole numbers. The result has the precision of l, like the result of the
// library.
func modulo(l, r cty.Value) cty.Value {
	a, b := ctyvalue.Number(l), ctyvalue.Number(r)
	m, lok := a.Int64()
	n, rok := b.Int64()
	if lok != big.Exact || rok != big.Exact || m > math.MaxInt32 || n > math.MaxInt32 {
		return l.Modulo(r)
	}
	return cty.NumberVal(new(big.Float).SetMode(a.Mode()).SetPrec(a.Prec()).SetInt64(m % n))
}

// isPlain reports whether a primitive value is known, not null and not marked.
func isPlain(v cty.Value) bool { return !v.IsMarked() && v.IsKnown() && !v.IsNull() }

// Unary is !x or -x.
type Unary struct{ *hclsyntax.UnaryOpExpr }

func (e *Unary) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	v, diags := e.Val.Value(ctx)
	unmarked, remark := mark.Unmark(v)
	stub := *e.UnaryOpExpr
	stub.Val = &evaluated{e.Val, unmarked, diags}
	out, diags := stub.Value(ctx)
	return remark(out), diags
}

// NullTest is x == null or x != null. The result does not depend on the elements or attributes of x, so it does not get
// their marks.
type NullTest struct{ *hclsyntax.BinaryOpExpr }

func (e *NullTest) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	other := e.LHS
	if v, ok := Constant(e.LHS); ok && v.IsNull() {
		other = e.RHS
	}
	v, diags := other.Value(ctx)
	if diags.HasErrors() {
		return Raise(cty.UnknownVal(cty.Bool), v), diags
	}
	v, remark := mark.Unmark(v)
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

// TestsNull reports whether an operation is == or !=, and exactly one of its operands is the constant null.
func TestsNull(e *hclsyntax.BinaryOpExpr) bool {
	if e.Op != hclsyntax.OpEqual && e.Op != hclsyntax.OpNotEqual {
		return false
	}
	l, lok := Constant(e.LHS)
	r, rok := Constant(e.RHS)
	return lok && l.IsNull() != (rok && r.IsNull()) || !lok && rok && r.IsNull()
}
