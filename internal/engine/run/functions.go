package run

import (
	"context"
	"errors"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/declared"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// caller runs provider functions for expressions: on the unconfigured process, or on the one of the
// configuration that the call names.
type caller struct {
	frame.NoRun
	ctx        context.Context
	run        *Run
	validating bool // nothing is configured
}

// NewCaller is for checking a program, before any run: it reaches processes that are not configured.
func NewCaller(ctx context.Context, env Env, bag *diag.Bag) frame.Run {
	return &caller{ctx: ctx, run: &Run{Settings: env.Settings, handover: env.Handover, Bag: bag}}
}

// Function gives a function's signature, nil if the provider has none of that name.
func (c *caller) Function(p addr.Provider, name string) *provider.Function {
	f, _ := c.function(p, name)
	return f
}

// function also says whether the provider could tell. That it could not is reported.
func (c *caller) function(p addr.Provider, name string) (*provider.Function, bool) {
	if c.run.Settings.Absent[p] {
		return nil, false
	}
	schemas, ds := c.run.Settings.Pool.Schemas(c.ctx, p)
	if c.run.Bag.Add(ds...); ds.HasErrors() {
		return nil, false
	}
	return schemas.Functions[name], true
}

// Configured asks the configured provider, each session once.
func (c *caller) Configured(config program.Decl, p addr.Provider) (map[string]*provider.Function, bool, error) {
	s, err := c.configured(config)
	if err != nil || s == nil {
		return nil, false, err
	}
	s.asking.Do(func() {
		var ds provider.Diags
		s.functions, ds = s.Provider.ConfiguredFunctions(c.ctx)
		if ds.HasErrors() {
			s.failed = &frame.Unavailable{Said: diag.Shared(ds)}
		} else {
			c.run.Bag.Add(ds...)
		}
	})
	return s.functions, s.failed == nil, s.failed
}

// Call calls a function with arguments of its parameters' types.
func (c *caller) Call(config program.Decl, p addr.Provider, name string, args []cty.Value) (cty.Value, error) {
	f, told := c.function(p, name)
	if !told {
		return cty.DynamicVal, &frame.Unavailable{}
	}
	own := f == nil // only the configured provider has it
	if own {
		all, known, err := c.Configured(config, p)
		if err != nil || !known {
			return cty.DynamicVal, err
		}
		if f = all[name]; f == nil {
			return cty.NilVal, errors.New("the provider has no such function")
		}
	}
	sent := make([]provider.Dynamic, len(args))
	for i, a := range args {
		b, err := schema.Encode(a, paramType(f, i))
		if err != nil {
			return cty.NilVal, function.NewArgError(i, err)
		}
		sent[i] = provider.Dynamic{Msgpack: b}
	}
	to, err := c.process(config, p, own)
	if err != nil || to == nil {
		return cty.UnknownVal(f.Return), err
	}
	faulty := &c.run.handover.faulty
	if fault, ok := faulty.Load(functionName{p, name}); ok {
		return cty.DynamicVal, fault.(diag.Diagnostic)
	}
	d, err := to.Call(c.ctx, name, sent)
	var complaint *provider.CallError
	var fault diag.Diagnostic
	switch {
	case errors.As(err, &fault):
		first, _ := faulty.LoadOrStore(functionName{p, name}, fault) // or what another call got at the same time
		return cty.DynamicVal, first.(diag.Diagnostic)
	case errors.As(err, &complaint) && complaint.Arg >= 0 && complaint.Arg < len(args):
		return cty.NilVal, function.NewArgError(complaint.Arg, err)
	case err != nil:
		return cty.NilVal, errors.New(strings.TrimSuffix(err.Error(), ".")) // it becomes a part of a sentence
	case d.JSON != nil:
		return schema.DecodeJSON(d.JSON, f.Return)
	}
	return schema.Decode(d.Msgpack, f.Return)
}

// functionName is a key of Handover.faulty: the functions of which a call got no answer, mostly because the provider
// crashed. They are not called again, each call gets the same error: it would end one more process, and with it all
// other calls that it is answering.
type functionName struct {
	provider addr.Provider
	name     string
}

// process is where a function is called. A configuration is meant where the call names its alias, and
// where only a configured provider has the function; it is nil while the settings are not known.
func (c *caller) process(config program.Decl, p addr.Provider, own bool) (provider.Provider, error) {
	named := config != program.NoDecl && c.run.Frame != nil && c.run.Program.Decls()[config].Provider.Alias != ""
	if c.validating || !own && !named {
		return c.run.Settings.Pool.Idle(c.ctx, p)
	}
	s, err := c.configured(config)
	if err != nil || s == nil {
		return nil, err
	}
	return s.Provider, nil
}

// configured is the session of a configuration, nil while its settings are not known.
func (c *caller) configured(config program.Decl) (*Session, error) {
	if config == program.NoDecl || c.run.Frame == nil || c.validating {
		return nil, nil
	}
	u := declared.Use{Decl: config, Declared: true, Instance: addr.ProviderInstance{ProviderConfig: c.run.Program.Decls()[config].Provider}}
	var bag diag.Bag
	s, ok := c.run.Sessions.Get(c.ctx, &bag, u, frame.After)
	if !ok {
		return nil, &frame.Unavailable{Said: bag.List()}
	}
	c.run.Bag.Take(&bag) // warnings
	if s.Unknown {
		return nil, nil
	}
	return s, nil
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

// evaluated is what the frames of a walk tell it and ask of it.
type evaluated struct {
	caller
	guards bool // there is a guard, and values that are known
}

// Handed tells the guard what a provider's function gets.
func (e *evaluated) Handed(name string, args []cty.Value) {
	if e.guards {
		e.run.guardArguments(name, args)
	}
}

// Observe holds what functions gave against the plan, and what providers' functions gave against the secrets.
func (e *evaluated) Observe(name string, args []cty.Value, result cty.Value) error {
	return e.run.observe(name, args, result)
}

// Guard tells the guard the value of an ephemeral variable.
func (e *evaluated) Guard(at addr.ModuleInstance, variable string, v cty.Value) {
	if e.guards {
		e.run.guardVariable(at, variable, v)
	}
}
