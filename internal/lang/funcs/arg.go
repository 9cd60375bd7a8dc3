package funcs

import (
	"reflect"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/customdecode"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/zclconf/go-cty/cty"
)

// argType is the cty type of nearly every parameter: a capsule that contains the value of the argument. The HCL library
// puts the value there, through its interface customdecode.
//
// Without the capsule, cty would search each argument for marks several times in each call, and the HCL library would
// convert it with a function whose work grows with the square of the number of elements. With the capsule, `[for i in
// range(n) : element(big, i)]` does not visit all elements of big n times.
var argType = newArgType()

func newArgType() (ty cty.Type) {
	ty = cty.CapsuleWithOps("argument", reflect.TypeFor[cty.Value](), decodeWith(
		func(e hcl.Expression, ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
			v, diags := e.Value(ctx)
			return cty.CapsuleVal(ty, &v), diags
		}))
	return ty
}

// constraintType is the cty type of a parameter that takes a type constraint, which is written as in a variable block.
var constraintType = newConstraintType()

// constraint is a type constraint with the defaults of its optional attributes.
type constraint struct {
	typ      cty.Type
	defaults *typeexpr.Defaults
}

func newConstraintType() (ty cty.Type) {
	ty = cty.CapsuleWithOps("type constraint", reflect.TypeFor[constraint](), decodeWith(
		func(e hcl.Expression, _ *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
			want, defaults, diags := typeexpr.TypeConstraintWithDefaults(e)
			return cty.CapsuleVal(ty, &constraint{want, defaults}), diags
		}))
	return ty
}

func decodeWith(f customdecode.CustomExpressionDecoderFunc) *cty.CapsuleOps {
	return &cty.CapsuleOps{ExtensionData: func(key any) any {
		if key != customdecode.CustomExpressionDecoder {
			return nil
		}
		return f
	}}
}

// unwrap returns the value inside the capsule. It returns expressions and type constraints, which are not in an argType
// capsule, unchanged.
func unwrap(v cty.Value) cty.Value {
	if v.Type() != argType {
		return v
	}
	return *v.EncapsulatedValue().(*cty.Value)
}
