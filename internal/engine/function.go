package engine

import (
	"context"
	"errors"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/lang"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// caller runs provider functions for expressions, on the unconfigured process.
type caller struct {
	ctx context.Context
	run *run
}

// Function gives a function's signature, nil if the provider has none of that name.
func (c *caller) Function(p addr.Provider, name string) *provider.Function {
	schemas, ds := c.run.Pool.Schemas(c.ctx, p)
	if c.run.bag.Add(ds...); ds.HasErrors() {
		return nil
	}
	return schemas.Functions[name]
}

// Call calls a function with arguments of its parameters' types.
func (c *caller) Call(_ lang.Decl, p addr.Provider, name string, args []cty.Value) (cty.Value, error) {
	f := c.Function(p, name)
	if f == nil {
		return cty.NilVal, errors.New("the provider has no such function")
	}
	sent := make([]provider.Dynamic, len(args))
	for i, a := range args {
		b, err := schema.Encode(a, paramType(f, i))
		if err != nil {
			return cty.NilVal, function.NewArgError(i, err)
		}
		sent[i] = provider.Dynamic{Msgpack: b}
	}
	idle, err := c.run.Pool.Idle(c.ctx, p)
	if err != nil {
		return cty.NilVal, err
	}
	d, err := idle.Call(c.ctx, name, sent)
	var complaint *provider.CallError
	switch {
	case errors.As(err, &complaint) && complaint.Arg >= 0 && complaint.Arg < len(args):
		return cty.NilVal, function.NewArgError(complaint.Arg, err)
	case err != nil:
		return cty.NilVal, err
	case d.JSON != nil:
		return schema.DecodeJSON(d.JSON, f.Return)
	}
	return schema.Decode(d.Msgpack, f.Return)
}

func paramType(f *provider.Function, i int) cty.Type {
	if i < len(f.Params) {
		return f.Params[i].Type
	}
	if f.Variadic != nil {
		return f.Variadic.Type
	}
	return cty.DynamicPseudoType
}
