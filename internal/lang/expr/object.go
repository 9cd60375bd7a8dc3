package expr

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/convert"
	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// Object is { key = value, … }.
type Object struct {
	*hclsyntax.ObjectConsExpr
	names   []string // the names of all attributes, if all keys are constant strings; otherwise nil
	builder *ctyvalue.ObjectBuilder
}

// NewObject returns the node for an object constructor whose parts are compiled. If all keys are constant strings, the
// node keeps them as names, which makes its evaluation faster.
func NewObject(e *hclsyntax.ObjectConsExpr) *Object {
	names := make([]string, 0, len(e.Items))
	for _, item := range e.Items {
		name, ok := Constant(item.KeyExpr)
		if !ok || name.IsMarked() || name.Type() != cty.String || name.IsNull() || !name.IsKnown() {
			return &Object{ObjectConsExpr: e}
		}
		names = append(names, name.AsString())
	}
	return &Object{ObjectConsExpr: e, names: names, builder: new(ctyvalue.ObjectBuilder)}
}

func (e *Object) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	if e.names != nil {
		return e.named(ctx)
	}
	vals := make(map[string]cty.Value, len(e.Items))
	var diags hcl.Diagnostics
	var keys []cty.Value // the keys that have marks
	dropped := []cty.Value{}
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
			noteKey(ctx, key, name)
		}
		if !ok || keyDiags.HasErrors() {
			known = false
			dropped = append(dropped, val)
			continue
		}
		vals[name] = val
	}
	if !known {
		for _, v := range vals {
			dropped = append(dropped, v)
		}
		return Raise(Raise(cty.DynamicVal, keys...), dropped...), diags
	}
	return Raise(cty.ObjectVal(vals), keys...), diags
}

// named evaluates an object whose keys are all constant.
func (e *Object) named(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	var diags hcl.Diagnostics
	var few [8]cty.Value
	vals := few[:0]
	for _, item := range e.Items {
		val, valDiags := item.ValueExpr.Value(ctx)
		vals, diags = append(vals, val), append(diags, valDiags...)
	}
	return e.builder.Object(e.names, vals), diags
}

// noteKey records the attribute name in Env.Names, if the key from which it was made is ephemeral.
func noteKey(ctx *hcl.EvalContext, key cty.Value, name string) {
	if s := envOf(ctx); s != nil && mark.Is(key, mark.Ephemeral) {
		s.Names.add(name)
	}
}

// objectKey converts a key to an attribute name. It returns false if the key is invalid or unknown, and a diagnostic
// only if the key is invalid.
func objectKey(key cty.Value, item hclsyntax.ObjectConsItem, ctx *hcl.EvalContext) (string, bool, *hcl.Diagnostic) {
	key, _ = mark.Unmark(key)
	if key.IsNull() {
		at := item.ValueExpr.Range()
		return "", false, &hcl.Diagnostic{Severity: hcl.DiagError, Summary: "Null value as key", Detail: "Can't use a null value as a key.", Subject: &at, Expression: item.KeyExpr, EvalContext: ctx}
	}
	str, err := convert.To(key, cty.String)
	if err != nil {
		at := item.KeyExpr.Range()
		return "", false, &hcl.Diagnostic{Severity: hcl.DiagError, Summary: "Incorrect key type", Detail: fmt.Sprintf("Can't use this value as a key: %s.", err), Subject: &at, Expression: item.KeyExpr, EvalContext: ctx}
	}
	if !str.IsKnown() {
		return "", false, nil
	}
	return str.AsString(), true, nil
}
