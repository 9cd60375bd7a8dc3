package engine

import (
	"context"
	"errors"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/lang"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// caller runs provider functions for expressions: on the unconfigured process, or on the one of the
// configuration that the call names.
type caller struct {
	ctx        context.Context
	run        *run
	validating bool // nothing is configured
}

// Function gives a function's signature, nil if the provider has none of that name.
func (c *caller) Function(p addr.Provider, name string) *provider.Function {
	f, _ := c.function(p, name)
	return f
}

// function also says whether the provider could tell. That it could not is reported.
func (c *caller) function(p addr.Provider, name string) (*provider.Function, bool) {
	schemas, ds := c.run.Pool.Schemas(c.ctx, p)
	if c.run.bag.Add(ds...); ds.HasErrors() {
		return nil, false
	}
	return schemas.Functions[name], true
}

// Call calls a function with arguments of its parameters' types.
func (c *caller) Call(config lang.Decl, p addr.Provider, name string, args []cty.Value) (cty.Value, error) {
	f, told := c.function(p, name)
	switch {
	case !told:
		return cty.DynamicVal, nil
	case f == nil:
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
	to, err := c.process(config, p)
	if err != nil || to == nil {
		return cty.UnknownVal(f.Return), err
	}
	d, err := to.Call(c.ctx, name, sent)
	var complaint *provider.CallError
	switch {
	case errors.As(err, &complaint) && complaint.Arg >= 0 && complaint.Arg < len(args):
		return cty.NilVal, function.NewArgError(complaint.Arg, err)
	case err != nil:
		return cty.NilVal, errors.New(strings.TrimSuffix(err.Error(), ".")) // it becomes a part of a sentence
	case d.JSON != nil:
		return schema.DecodeJSON(d.JSON, f.Return)
	}
	return schema.Decode(d.Msgpack, f.Return)
}

// process is where a function is called. Only a call that names an alias means a configuration; it
// is nil while the settings of that are not known.
func (c *caller) process(config lang.Decl, p addr.Provider) (provider.Provider, error) {
	if config == lang.Nowhere || c.run.frame == nil || c.run.prog.Decls()[config].Provider.Alias == "" || c.validating {
		return c.run.Pool.Idle(c.ctx, p)
	}
	u := use{decl: config, declared: true, instance: addr.ProviderInstance{ProviderConfig: c.run.prog.Decls()[config].Provider}}
	s, ok := c.run.session(c.ctx, u, lang.After)
	switch {
	case !ok:
		return nil, errors.New("the provider could not be configured")
	case s.unknown:
		return nil, nil
	}
	return s.provider, nil
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
