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

// caller calls provider functions for expressions. It calls them in a process that is not configured, or in the session
// (the configured process) of the provider configuration that the call names. The methods of frame.Run have no
// contexts, so caller keeps the context of the walk (the run of the graph).
type caller struct {
	frame.NoRun
	ctx      context.Context
	settings *Settings
	handover *Handover
	bag      *diag.Bag
	sessions *Sessions // nil: no provider is configured yet, or none will be
}

// NewCaller returns a frame.Run for checks of a program outside of a walk, such as validation. It calls provider
// functions only in processes that are not configured.
func NewCaller(ctx context.Context, env Env, bag *diag.Bag) frame.Run {
	return &caller{ctx: ctx, settings: env.Settings, handover: env.Handover, bag: bag}
}

// Function returns a function's signature, or nil if the provider has no function of that name.
func (c *caller) Function(p addr.Provider, name string) *provider.Function {
	f, _ := c.function(p, name)
	return f
}

// function returns a function's signature, or nil if the provider has no such function. It returns false if the
// provider cannot start (Providers.Absent, which was reported before), or if its schemas cannot be loaded. It adds the
// errors of loading to the bag.
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

// Configured returns the functions that the provider p has only after it was configured with the configuration config.
// It asks each configured process once. It returns false if the provider's settings are unknown. If the provider cannot
// be configured or the request fails, it also returns an error.
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

// Call calls the named function of the provider p. args must have the types of its parameters. config is the provider
// configuration that the call names. If the provider's settings are unknown, the result is an unknown value without an
// error. If the provider cannot be started or configured, or does not answer, the result is an unknown value and an
// error. If the function returns an error, or the provider has no such function, the result is cty.NilVal and an error.
func (c *caller) Call(config program.Decl, p addr.Provider, name string, args []cty.Value) (cty.Value, error) {
	f, known := c.function(p, name)
	if !known {
		return cty.DynamicVal, &frame.Unavailable{}
	}
	own := f == nil // only the configured provider has the function
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
		first, _ := faulty.LoadOrStore(functionName{p, name}, fault) // the fault of the first call that failed, which may be a concurrent call
		return cty.DynamicVal, first.(diag.Diagnostic)
	case errors.As(err, &complaint) && complaint.Arg >= 0 && complaint.Arg < len(args):
		return cty.NilVal, function.NewArgError(complaint.Arg, err)
	case err != nil:
		return cty.NilVal, errors.New(strings.TrimSuffix(err.Error(), ".")) // the error becomes a part of a sentence, so its full stop is removed
	case d.JSON != nil:
		return schema.DecodeJSON(d.JSON, f.Return)
	}
	return schema.Decode(d.Msgpack, f.Return)
}

// functionName is a key of Handover.faulty: a function that a provider did not answer, usually because the provider
// crashed. Such a function is not called again, because this could crash another process and end all its calls. Later
// calls return the first error.
type functionName struct {
	provider addr.Provider
	name     string
}

// process returns the process that runs a function. It returns a configured process if the call names a provider alias,
// or if only a configured provider has the function (own is true). In these two cases, process returns nil if the
// settings are unknown, and an error if the provider cannot be configured.
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

// configured returns the session (the configured process) of the provider configuration config. It returns nil if
// config is NoDecl, if the walk configures no provider, or if the settings are unknown. It returns an error if the
// provider cannot be configured.
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
	c.bag.Move(&bag) // the remaining diagnostics are warnings
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

// evaluated has the methods that the evaluation of expressions calls during a walk (frame.Run). They call provider
// functions, register ephemeral values as secrets, and compare the results of functions with the plan.
type evaluated struct {
	caller
	guard   *registrar // nil during validation, whose ephemeral values are unknown, and if the command has no set of secrets
	results *Results
}

// Handed registers the ephemeral values in the arguments of a provider's function as secrets.
func (e *evaluated) Handed(name string, args []cty.Value) {
	if e.guard != nil {
		e.guard.arguments(name, args)
	}
}

// Observe returns an error if the result of a function differs from the plan or from an earlier call, or if the result
// of a provider's function contains a secret that is not in its arguments. Guard.Review, at the end of the walk,
// repeats the second check with the secrets that were registered later.
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

// Guard registers the value of an ephemeral variable as a secret.
func (e *evaluated) Guard(at addr.ModuleInstance, variable string, v cty.Value) {
	if e.guard != nil {
		e.guard.variable(at, variable, v)
	}
}
