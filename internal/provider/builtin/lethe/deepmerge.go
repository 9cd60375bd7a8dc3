package lethe

import (
	"maps"
	"slices"

	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/provider/builtin"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// deepmerge returns the function that merges objects and maps at all levels.
func deepmerge() *builtin.Function {
	values := provider.Param{
		Name: "values", Type: cty.DynamicPseudoType, AllowNull: true, AllowUnknown: true,
		Description: "Objects and maps. Later values have precedence; null is left out. The last argument may be \"replace\" or \"append\": what happens to lists.",
	}
	return &builtin.Function{
		Function: provider.Function{
			Variadic: &values, Return: cty.DynamicPseudoType,
			Summary:     "Merges objects and maps at all levels.",
			Description: "Returns an object or map with the attributes of all arguments. Objects and maps at the same place are merged. Of all other values at the same place, the last is taken, also if it is null. With \"append\" as the last argument, lists at the same place are joined, and sets united.",
		},
		Impl: function.New(&function.Spec{
			VarParam: &function.Parameter{Name: values.Name, Type: values.Type, AllowNull: true, AllowUnknown: true, AllowDynamicType: true},
			Type:     function.StaticReturnType(cty.DynamicPseudoType),
			Impl:     func(args []cty.Value, _ cty.Type) (cty.Value, error) { return mergeArguments(args) },
		}),
	}
}

// merging is one call of deepmerge.
type merging struct{ appends bool } // appends is true if lists are joined, and false if the later list replaces the earlier list

// mergeArguments checks the arguments and merges them. An error names the position of the wrong argument, but contains
// no value.
func mergeArguments(args []cty.Value) (cty.Value, error) {
	var m merging
	if n := len(args) - 1; n >= 0 && args[n].Type() == cty.String {
		switch option := args[n]; {
		case !option.IsKnown():
			return cty.DynamicVal, nil
		case option.IsNull() || option.AsString() != "replace" && option.AsString() != "append":
			return cty.NilVal, function.NewArgErrorf(n, `the last argument may be "replace" or "append"`)
		default:
			m.appends = option.AsString() == "append"
		}
		args = args[:n]
	}
	var given []cty.Value
	for i, v := range args {
		switch ty := v.Type(); {
		case ty == cty.DynamicPseudoType && !v.IsKnown():
			given = append(given, v)
		case ty != cty.DynamicPseudoType && !ctyvalue.IsDict(ty):
			return cty.NilVal, function.NewArgErrorf(i, "an object or a map is required, not %s", ty.FriendlyName())
		case !v.IsKnown() || !v.IsNull():
			given = append(given, v)
		}
	}
	if len(given) == 0 {
		return cty.EmptyObjectVal, nil
	}
	return m.merge(given), nil
}

// merge merges the values that the arguments have at one place. Later values have precedence over earlier values. Each
// element is visited once.
func (m merging) merge(vals []cty.Value) cty.Value {
	last := len(vals) - 1
	if last == 0 {
		return vals[0]
	}
	alike := ctyvalue.IsDict
	if ctyvalue.IsSequence(vals[last].Type()) && m.appends {
		alike = ctyvalue.IsSequence
	} else if !ctyvalue.IsDict(vals[last].Type()) {
		return vals[last]
	}
	if !vals[last].IsKnown() {
		return cty.DynamicVal // an unknown value may be null, which would replace the earlier values
	}
	if vals[last].IsNull() {
		return vals[last]
	}
	first := last
	for first > 0 {
		before := vals[first-1]
		if !before.IsKnown() && (before.Type() == cty.DynamicPseudoType || alike(before.Type())) {
			return cty.DynamicVal
		}
		if !alike(before.Type()) || before.IsNull() {
			break
		}
		first--
	}
	if vals = vals[first:]; len(vals) == 1 {
		return vals[0]
	}
	if ctyvalue.IsSequence(vals[0].Type()) {
		return join(vals)
	}
	return m.fields(vals)
}

// fields merges objects and maps. If all values are maps of one type, and the merged elements have the element type,
// the result is a map. Otherwise it is an object.
func (m merging) fields(vals []cty.Value) cty.Value {
	at := map[string][]cty.Value{}
	for _, v := range vals {
		for k, e := range v.AsValueMap() {
			at[k] = append(at[k], e)
		}
	}
	out := make(map[string]cty.Value, len(at))
	for k, all := range at {
		out[k] = m.merge(all)
	}
	ty := vals[0].Type()
	if !ty.IsMapType() || !oneType(vals, ty) || !oneType(slices.Collect(maps.Values(out)), ty.ElementType()) {
		return cty.ObjectVal(out)
	}
	if len(out) == 0 {
		return cty.MapValEmpty(ty.ElementType())
	}
	return cty.MapVal(out)
}

// join joins lists, tuples and sets. If all are sets of one type, the result is a set. If all are lists of one type, it
// is a list. Otherwise it is a tuple.
func join(vals []cty.Value) cty.Value {
	var out []cty.Value
	for _, v := range vals {
		out = append(out, v.AsValueSlice()...)
	}
	ty := vals[0].Type()
	switch same := oneType(vals, ty); {
	case !same || ty.IsTupleType():
		return cty.TupleVal(out)
	case len(out) == 0:
		return vals[0]
	case ty.IsSetType():
		return cty.SetVal(out)
	}
	return cty.ListVal(out)
}

func oneType(vals []cty.Value, ty cty.Type) bool {
	return !slices.ContainsFunc(vals, func(v cty.Value) bool { return !v.Type().Equals(ty) })
}
