package framework

import (
	"context"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/lethe-iac/lethe/test/providers/cloud"
)

// A call is a function: a name, a definition and its implementation.
type call struct {
	name       string
	definition function.Definition
	run        func(ctx context.Context, args function.ArgumentsData, result *function.ResultData) *function.FuncError
}

func (c *call) Metadata(_ context.Context, _ function.MetadataRequest, resp *function.MetadataResponse) {
	resp.Name = c.name
}

func (c *call) Definition(_ context.Context, _ function.DefinitionRequest, resp *function.DefinitionResponse) {
	resp.Definition = c.definition
}

func (c *call) Run(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	resp.Error = c.run(ctx, req.Arguments, &resp.Result)
}

// functions returns the functions of the provider: pure functions, and the function impure, which an engine must
// detect.
func functions() []func() function.Function {
	var list []func() function.Function
	for _, c := range []*call{echo(), concat(), fail(), secretLen(), impure(), shape()} {
		list = append(list, func() function.Function { return c })
	}
	return list
}

func echo() *call {
	return &call{"echo", function.Definition{
		Summary:    "Returns its argument, whatever it is.",
		Parameters: []function.Parameter{function.DynamicParameter{Name: "value", AllowNullValue: true}},
		Return:     function.DynamicReturn{},
	}, func(ctx context.Context, args function.ArgumentsData, result *function.ResultData) *function.FuncError {
		var v types.Dynamic
		return function.ConcatFuncErrors(args.Get(ctx, &v), result.Set(ctx, &v))
	}}
}

func concat() *call {
	return &call{"concat", function.Definition{
		Summary:           "Joins any number of texts.",
		Parameters:        []function.Parameter{function.StringParameter{Name: "separator"}},
		VariadicParameter: function.StringParameter{Name: "texts"},
		Return:            function.StringReturn{},
	}, func(ctx context.Context, args function.ArgumentsData, result *function.ResultData) *function.FuncError {
		var separator string
		var texts []string
		if err := args.Get(ctx, &separator, &texts); err != nil {
			return err
		}
		return result.Set(ctx, strings.Join(texts, separator))
	}}
}

func fail() *call {
	return &call{"fail", function.Definition{
		Summary: "Refuses its second argument.",
		Parameters: []function.Parameter{
			function.StringParameter{Name: "fine"},
			function.StringParameter{Name: "refused", Description: "Shown in the error, unless it is empty."},
		},
		Return: function.StringReturn{},
	}, func(ctx context.Context, args function.ArgumentsData, result *function.ResultData) *function.FuncError {
		var fine, refused string
		if err := args.Get(ctx, &fine, &refused); err != nil {
			return err
		}
		if refused == "" {
			return function.NewFuncError("the function failed as a whole")
		}
		return function.NewArgumentFuncError(1, "refused: "+refused)
	}}
}

func secretLen() *call {
	return &call{"secret_len", function.Definition{
		Summary:    "The length of a secret.",
		Parameters: []function.Parameter{function.StringParameter{Name: "secret"}},
		Return:     function.Int64Return{},
	}, func(ctx context.Context, args function.ArgumentsData, result *function.ResultData) *function.FuncError {
		var secret string
		if err := args.Get(ctx, &secret); err != nil {
			return err
		}
		return result.Set(ctx, int64(len(secret)))
	}}
}

func impure() *call {
	return &call{"impure", function.Definition{
		Summary:            "Returns something else each time, which a function must not.",
		DeprecationMessage: "Functions must be pure.",
		Return:             function.StringReturn{},
	}, func(ctx context.Context, _ function.ArgumentsData, result *function.ResultData) *function.FuncError {
		return result.Set(ctx, cloud.Random(16))
	}}
}

func shape() *call {
	return &call{"shape", function.Definition{
		Summary: "Takes a list, a map, an object and a number, the number unknown if need be, and returns an object.",
		Parameters: []function.Parameter{
			function.ListParameter{Name: "list", ElementType: types.StringType},
			function.MapParameter{Name: "map", ElementType: types.NumberType},
			function.ObjectParameter{Name: "object", AttributeTypes: shapeObject},
			function.NumberParameter{Name: "number", AllowNullValue: true, AllowUnknownValues: true},
		},
		Return: function.ObjectReturn{AttributeTypes: shapeResult},
	}, func(ctx context.Context, args function.ArgumentsData, result *function.ResultData) *function.FuncError {
		var list, m, object, number = types.ListNull(types.StringType), types.MapNull(types.NumberType), types.ObjectNull(shapeObject), types.NumberNull()
		if err := args.Get(ctx, &list, &m, &object, &number); err != nil {
			return err
		}
		v, _ := types.ObjectValue(shapeResult, map[string]attr.Value{
			"list": types.Int64Value(int64(len(list.Elements()))),
			"map":  types.Int64Value(int64(len(m.Elements()))),
			"flag": object.Attributes()["flag"],
			"null": types.BoolValue(number.IsNull()),
		})
		return result.Set(ctx, v)
	}}
}

var (
	shapeObject = map[string]attr.Type{"name": types.StringType, "flag": types.BoolType}
	shapeResult = map[string]attr.Type{"list": types.Int64Type, "map": types.Int64Type, "flag": types.BoolType, "null": types.BoolType}
)
