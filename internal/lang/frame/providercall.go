package frame

import (
	"errors"

	"github.com/hashicorp/hcl/v2"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/expr"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// Call calls a provider function through the Run of the walk. It is a method of expr.Scope.
func (r references) Call(e *expr.ProviderCall, ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	c := providerCall{&r.s.Env, r.s.f, e}
	sig, diags := c.signature()
	if diags.HasErrors() {
		return cty.DynamicVal, diags
	}
	return expr.CallWith(e.FunctionCallExpr, c.function(sig), ctx)
}

// providerCall is one call of a provider function in an evaluation.
type providerCall struct {
	env *expr.Env
	f   *Frame
	e   *expr.ProviderCall
}

// anything is the signature for a function whose signature is not known: it accepts all arguments.
var anything = &provider.Function{Variadic: &provider.Param{Name: "args", Type: cty.DynamicPseudoType, AllowNull: true}, Return: cty.DynamicPseudoType}

// signature returns the function's signature. It comes from the provider's schema or, if the schema does not have the
// function, from the configured provider. If the configured provider is not known or cannot be used, signature returns
// anything, the signature that accepts all arguments. If the function does not exist, signature returns nil and an
// error.
func (c providerCall) signature() (*provider.Function, hcl.Diagnostics) {
	caller := c.f.w.o.Run
	if sig := caller.Function(c.e.Provider, c.e.Name); sig != nil {
		return sig, nil
	}
	if !c.e.Configured || c.f.w.o.Validate {
		return anything, nil
	}
	all, known, err := caller.Configured(c.configOf(), c.e.Provider)
	switch sig := all[c.e.Name]; {
	case err != nil:
		c.env.Failed = !c.unavailable(err) || c.env.Failed
		return anything, nil
	case !known:
		return anything, nil
	case sig == nil:
		return nil, expr.ErrorAt("Unknown provider function", program.UnknownFunction(c.e, all), c.e.NameRange)
	default:
		return sig, nil
	}
}

// function wraps the provider's function for the HCL library. The wrapped function accepts marks, nulls and unknown
// values, which invoke handles. If the library handled them, its messages could show marked values.
func (c providerCall) function(sig *provider.Function) function.Function {
	spec := &function.Spec{Type: function.StaticReturnType(sig.Return)}
	for i := range sig.Params {
		spec.Params = append(spec.Params, parameter(&sig.Params[i]))
	}
	if sig.Variadic != nil {
		p := parameter(sig.Variadic)
		spec.VarParam = &p
	}
	spec.Impl = func(args []cty.Value, ret cty.Type) (cty.Value, error) { return c.invoke(sig, args) }
	return function.New(spec)
}

func parameter(p *provider.Param) function.Parameter {
	return function.Parameter{Name: p.Name, Type: p.Type, AllowNull: true, AllowUnknown: true, AllowDynamicType: true, AllowMarked: true}
}

// invoke calls the function with unmarked values, and adds the marks of the arguments to the result. The result is
// unknown if an argument is unknown and its parameter does not permit that, or if the provider is unavailable or does
// not answer. invoke returns an error for a null argument that the parameter does not permit, and for an error of the
// function.
func (c providerCall) invoke(sig *provider.Function, args []cty.Value) (cty.Value, error) {
	plain := make([]cty.Value, len(args))
	unknown := false
	for i, v := range args {
		p := sig.Variadic
		if i < len(sig.Params) {
			p = &sig.Params[i]
		}
		plain[i], _ = mark.UnmarkDeep(v)
		if plain[i].IsNull() && !p.AllowNull {
			return cty.NilVal, function.NewArgErrorf(i, "argument must not be null")
		}
		unknown = unknown || !p.AllowUnknown && !plain[i].IsWhollyKnown()
	}
	if unknown || sig == anything {
		return expr.Raise(cty.UnknownVal(sig.Return), args...), nil
	}
	name := "provider::" + c.e.Provider.String() + "::" + c.e.Name
	c.f.w.o.Run.Handed(name, args)
	out, err := c.f.w.o.Run.Call(c.configOf(), c.e.Provider, c.e.Name, plain)
	if c.unavailable(err) {
		return expr.Raise(cty.UnknownVal(sig.Return), args...), nil
	}
	var silent diag.Diagnostic
	if errors.As(err, &silent) { // the provider did not answer; try and can do not catch this error, because it is added to the bag
		d := unanswered(silent, args).At(c.e.NameRange)
		d.Call = calling(c.e.FunctionCallExpr.Name, sig)
		c.env.Error(d)
		return expr.Raise(cty.UnknownVal(sig.Return), args...), nil
	}
	if err != nil {
		return cty.NilVal, callError(err, args)
	}
	out = expr.Raise(out, args...)
	if err := c.f.w.o.Run.Observe(name, args, out); err != nil {
		return cty.NilVal, err
	}
	return out, nil
}

// unavailable reports whether err is an *Unavailable. If so, it sets Failed in the evaluation, and adds the reasons to
// the bag of the evaluation.
func (c providerCall) unavailable(err error) bool {
	var u *Unavailable
	if !errors.As(err, &u) {
		return false
	}
	c.env.Failed = true
	u.Diagnostics.Replay(c.env.Bag)
	return true
}

// configOf returns the provider configuration that a call uses, or NoDecl if none exists.
func (c providerCall) configOf() program.Decl {
	return c.f.w.p.Existing(c.f.n, c.e.Provider, c.e.Alias)
}

// calling returns the name and the signature of a function for diagnostics about a call.
func calling(name string, sig *provider.Function) *diag.Call {
	param := func(p *provider.Param) diag.Param {
		return diag.Param{Name: p.Name, Type: p.Type, Nullable: p.AllowNull}
	}
	out := &diag.Call{Function: name, Returns: sig.Return}
	for i := range sig.Params {
		out.Params = append(out.Params, param(&sig.Params[i]))
	}
	if sig.Variadic != nil {
		p := param(sig.Variadic)
		out.Variadic = &p
	}
	return out
}

// unanswered returns the diagnostic d, whose detail contains the last output of the provider. If an argument is
// sensitive or ephemeral, it replaces the detail by a text without that output.
func unanswered(d diag.Diagnostic, args []cty.Value) diag.Diagnostic {
	if expr.Raise(cty.True, args...).IsMarked() {
		d.Detail = "The provider did not answer. Details are not shown, because an argument is sensitive or ephemeral. The log may have more (TF_LOG=error or lower)."
	}
	return d
}

// callError converts a provider's error to an error about the argument that the provider names. If an argument is
// sensitive or ephemeral, the text has no message of the provider, which may repeat the argument.
func callError(err error, args []cty.Value) error {
	text := err.Error()
	if expr.Raise(cty.True, args...).IsMarked() {
		text = "the provider's message is not shown because an argument is sensitive or ephemeral"
	}
	var blame *provider.CallError
	if errors.As(err, &blame) && blame.Arg >= 0 && blame.Arg < len(args) {
		return function.NewArgErrorf(blame.Arg, "%s", text)
	}
	var arg function.ArgError
	if errors.As(err, &arg) && arg.Index >= 0 && arg.Index < len(args) {
		return function.NewArgErrorf(arg.Index, "%s", text)
	}
	return errors.New(text)
}
