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

// caller calls provider functions for expressions, in a process that is not configured, or in the session of the
// configuration that the call names. The interface of frames has no contexts, so the caller keeps the context of the
// walk.
type caller struct {
	frame.NoRun
	ctx      context.Context
	settings *Settings
	handover *Handover
	bag      *diag.Bag
	sessions *Sessions // nil: nothing is configured yet, or ever
}

// NewCaller returns a caller for checking a program before any run. It uses only processes that are not configured.
func NewCaller(ctx context.Context, env Env, bag *diag.Bag) frame.Run {
	return &caller{ctx: ctx, settings: env.Settings, handover: env.Handover, bag: bag}
}

// Function returns a function's signature, or nil if the provider has no function of that name.
func (c *caller) Function(p addr.Provider, name string) *provider.Function {
	f, _ := c.function(p, name)
	return f
}

// function returns a function's signature, and whether the provider answered. If not, it has added the reason to the
// bag.
func (c *caller) function(p addr.Provider, name string) (*provider.Function, bool) {
	if c.settings.Providers.Absent[p] {
		return nil, false
	}
	schemas, ds := c.settings.Pool.Schemas(c.ctx, p)
	if c.bag.Add(ds...); ds.HasErrors() {
		return nil, false
	}
	return schemas.Functions[name], true
}

// Configured returns the functions of the configured provider. It asks each session once.
func (c *caller) Configured(config program.Decl, p addr.Provider) (map[string]*provider.Function, bool, error) {
	s, err := c.configured(config)
	if err != nil || s == nil {
		return nil, false, err
	}
	s.asking.Do(func() {
		var ds provider.Diags
		s.functions, ds = s.Provider.ConfiguredFunctions(c.ctx)
		if ds.HasErrors() {
			s.failed = &frame.Unavailable{Diagnostics: diag.Shared(ds)}
		} else {
			c.bag.Add(ds...)
		}
	})
	return s.functions, s.failed == nil, s.failed
}

// Call calls a function with arguments of its parameters' types.
func (c *caller) Call(config program.Decl, p addr.Provider, name string, args []cty.Value) (cty.Value, error) {
	f, known := c.function(p, name)
	if !known {
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
	faulty := &c.handover.faulty
	if fault, ok := faulty.Load(functionName{p, name}); ok {
		return cty.DynamicVal, fault.(diag.Diagnostic)
	}
	d, err := to.Call(c.ctx, name, sent)
	var complaint *provider.CallError
	var fault diag.Diagnostic
	switch {
	case errors.As(err, &fault):
		first, _ := faulty.LoadOrStore(functionName{p, name}, fault) // or the fault of a concurrent call
		return cty.DynamicVal, first.(diag.Diagnostic)
	case errors.As(err, &complaint) && complaint.Arg >= 0 && complaint.Arg < len(args):
		return cty.NilVal, function.NewArgError(complaint.Arg, err)
	case err != nil:
		return cty.NilVal, errors.New(strings.TrimSuffix(err.Error(), ".")) // it becomes part of a sentence
	case d.JSON != nil:
		return schema.DecodeJSON(d.JSON, f.Return)
	}
	return schema.Decode(d.Msgpack, f.Return)
}

// functionName is a key of Handover.faulty: the functions whose call was not answered, usually because the provider
// crashed. They are not called again, because that might crash another process and end all its calls. Later calls
// return the same error.
type functionName struct {
	provider addr.Provider
	name     string
}

// process returns the process that runs a function. It is a configured process if the call names its alias, or if only
// a configured provider has the function (own). Then it is nil while the settings are unknown.
func (c *caller) process(config program.Decl, p addr.Provider, own bool) (provider.Provider, error) {
	named := config != program.NoDecl && c.sessions != nil && c.sessions.prog.Decls()[config].Provider.Alias != ""
	if !own && !named {
		return c.settings.Pool.Idle(c.ctx, p)
	}
	s, err := c.configured(config)
	if err != nil || s == nil {
		return nil, err
	}
	return s.Provider, nil
}

// configured returns the session of a configuration, or nil while the settings are unknown.
func (c *caller) configured(config program.Decl) (*Session, error) {
	if config == program.NoDecl || c.sessions == nil {
		return nil, nil
	}
	u := declared.Use{Decl: config, Declared: true, Instance: addr.ProviderInstance{ProviderConfig: c.sessions.prog.Decls()[config].Provider}}
	var bag diag.Bag
	s, ok := c.sessions.Get(c.ctx, &bag, u, frame.After)
	if !ok {
		return nil, &frame.Unavailable{Diagnostics: bag.List()}
	}
	c.bag.Move(&bag) // warnings
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

// evaluated connects the frames of a walk with its providers, its guard and its function results.
type evaluated struct {
	caller
	guard   *registrar // nil: values are unknown, or there is no guard
	results *Results
}

// Handed registers the arguments of a provider's function with the guard.
func (e *evaluated) Handed(name string, args []cty.Value) {
	if e.guard != nil {
		e.guard.arguments(name, args)
	}
}

// Observe compares the result of a function with the plan, and the result of a provider's function with the known
// secrets. A review at the end compares it with all secrets.
func (e *evaluated) Observe(name string, args []cty.Value, result cty.Value) error {
	secrets := e.settings.Secrets
	since := secrets.Rules()
	if err := leaks(secrets, name, args, result); err != nil {
		return err
	}
	if e.guard != nil && strings.HasPrefix(name, "provider::") {
		e.guard.objects.Guard.LookAgain(since, func() {
			if err := leaks(secrets, name, args, result); err != nil {
				e.bag.Add(diag.Errorf("Error in function call", "Call to function %q failed: %s.", name, err))
			}
		})
	}
	return e.results.observe(name, args, result)
}

// Guard registers the value of an ephemeral variable with the guard.
func (e *evaluated) Guard(at addr.ModuleInstance, variable string, v cty.Value) {
	if e.guard != nil {
		e.guard.variable(at, variable, v)
	}
}
