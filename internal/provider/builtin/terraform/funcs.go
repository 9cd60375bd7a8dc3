package terraform

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/config/style"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/limits"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/provider/builtin"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// functions returns the functions that convert between values and configuration text.
func functions() map[string]*builtin.Function {
	return map[string]*builtin.Function{
		"decode_tfvars": define(provider.Function{
			Params:  []provider.Param{{Name: "src", Type: cty.String, Description: "The text of a variables file."}},
			Return:  cty.DynamicPseudoType,
			Summary: "Decodes the text of a .tfvars file.", Description: "Returns an object with one attribute for each value that the text sets.",
		}, decodeValues),
		"encode_expr": define(provider.Function{
			Params:  []provider.Param{{Name: "value", Type: cty.DynamicPseudoType, Description: "Any value."}},
			Return:  cty.String,
			Summary: "Encodes a value as an expression.", Description: "Returns the text of an expression that evaluates to the value, formatted as in configuration.",
		}, func(v cty.Value) (cty.Value, error) {
			return cty.StringVal(style.WriteValue(v)), nil
		}),
		"encode_tfvars": define(provider.Function{
			Params:  []provider.Param{{Name: "value", Type: cty.DynamicPseudoType, Description: "An object or map whose keys are names of variables."}},
			Return:  cty.String,
			Summary: "Encodes the text of a .tfvars file.", Description: "Returns one line NAME = VALUE for each attribute, in the order of their names.",
		}, encodeValues),
	}
}

func define(sig provider.Function, run func(cty.Value) (cty.Value, error)) *builtin.Function {
	p := sig.Params[0]
	return &builtin.Function{Function: sig, Impl: function.New(&function.Spec{
		Params: []function.Parameter{{Name: p.Name, Type: p.Type}},
		Type:   function.StaticReturnType(sig.Return),
		Impl:   func(args []cty.Value, _ cty.Type) (cty.Value, error) { return run(args[0]) },
	})}
}

func encodeValues(v cty.Value) (cty.Value, error) {
	if ty := v.Type(); !ty.IsObjectType() && !ty.IsMapType() {
		return cty.NilVal, errors.New("invalid value to encode: must be an object whose attribute names will become the encoded variable names")
	}
	text, err := style.WriteValues(v.AsValueMap())
	return cty.StringVal(text), err
}

func decodeValues(src cty.Value) (cty.Value, error) {
	var bag diag.Bag
	values, ok := config.LoadValues("<decode_tfvars argument>", []byte(src.AsString()), limits.Limits{}, &bag)
	if !ok {
		return cty.NilVal, errors.New(complaint(bag.List()))
	}
	attrs := make(map[string]cty.Value, len(values))
	for name, v := range values {
		attrs[name] = v.Value
	}
	return cty.ObjectVal(attrs), nil
}

// complaint returns the first error as one line.
func complaint(ds []diag.Diagnostic) string {
	d := ds[slices.IndexFunc(ds, func(d diag.Diagnostic) bool { return d.Severity == diag.Error })]
	at := ""
	if d.Subject != nil {
		at = fmt.Sprintf("%s:%d,%d: ", d.Subject.Filename, d.Subject.Start.Line, d.Subject.Start.Column)
	}
	return "invalid values: " + at + d.Summary + "; " + strings.TrimSuffix(strings.Join(strings.Fields(d.Detail), " "), ".")
}
