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

// Call calls a provider's function through the walk's caller (expr.Scope).
func (s *scope) Call(e *expr.ProviderCall, ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	sig, diags := s.signature(e)
	if diags.HasErrors() {
		return cty.DynamicVal, diags
	}
	return expr.CallWith(e.FunctionCallExpr, s.function(e, sig), ctx)
}

// anything is the signature of a function of which nothing is known.
var anything = &provider.Function{Variadic: &provider.Param{Name: "args", Type: cty.DynamicPseudoType, AllowNull: true}, Return: cty.DynamicPseudoType}

// signature finds out what the function takes and gives: from the provider's schema, or if that does
// not have it, from the configured provider.
func (s *scope) signature(e *expr.ProviderCall) (*provider.Function, hcl.Diagnostics) {
	caller := s.f.w.o.Run
	if sig := caller.Function(e.Provider, e.Name); sig != nil {
		return sig, nil
	}
	if !e.Configured || s.f.w.o.Validate {
		return anything, nil
	}
	all, known, err := caller.Configured(s.configOf(e), e.Provider)
	switch sig := all[e.Name]; {
	case err != nil:
		s.Failed = !s.unavailable(err) || s.Failed
		return anything, nil
	case !known:
		return anything, nil
	case sig == nil:
		return nil, expr.ErrorAt("Unknown provider function", program.UnknownFunction(e, all), e.NameRange)
	default:
		return sig, nil
	}
}

// function wraps the provider's function for the library. Marks, nulls and unknown values are seen
// to here, so that messages do not show what they must not.
func (s *scope) function(e *expr.ProviderCall, sig *provider.Function) function.Function {
	spec := &function.Spec{Type: function.StaticReturnType(sig.Return)}
	for i := range sig.Params {
		spec.Params = append(spec.Params, parameter(&sig.Params[i]))
	}
	if sig.Variadic != nil {
		p := parameter(sig.Variadic)
		spec.VarParam = &p
	}
	spec.Impl = func(args []cty.Value, ret cty.Type) (cty.Value, error) { return s.invoke(e, sig, args) }
	return function.New(spec)
}

func parameter(p *provider.Param) function.Parameter {
	return function.Parameter{Name: p.Name, Type: p.Type, AllowNull: true, AllowUnknown: true, AllowDynamicType: true, AllowMarked: true}
}

// invoke calls the function with plain values.
func (s *scope) invoke(e *expr.ProviderCall, sig *provider.Function, args []cty.Value) (cty.Value, error) {
	plain := make([]cty.Value, len(args))
	unknown := false
	for i, v := range args {
		p := sig.Variadic
		if i < len(sig.Params) {
			p = &sig.Params[i]
		}
		plain[i], _ = mark.BareDeep(v)
		if plain[i].IsNull() && !p.AllowNull {
			return cty.NilVal, function.NewArgErrorf(i, "argument must not be null")
		}
		unknown = unknown || !p.AllowUnknown && !plain[i].IsWhollyKnown()
	}
	if unknown || sig == anything {
		return expr.Raise(cty.UnknownVal(sig.Return), args...), nil
	}
	name := "provider::" + e.Provider.String() + "::" + e.Name
	s.f.w.o.Run.Handed(name, args)
	out, err := s.f.w.o.Run.Call(s.configOf(e), e.Provider, e.Name, plain)
	if s.unavailable(err) {
		return expr.Raise(cty.UnknownVal(sig.Return), args...), nil
	}
	var silent diag.Diagnostic
	if errors.As(err, &silent) { // no matter of this call alone: try and can do not make up for it
		d := unanswered(silent, args).At(e.NameRange)
		d.Call = calling(e.FunctionCallExpr.Name, sig)
		s.Error(d)
		return expr.Raise(cty.UnknownVal(sig.Return), args...), nil
	}
	if err != nil {
		return cty.NilVal, callError(err, args)
	}
	out = expr.Raise(out, args...)
	if err := s.f.w.o.Run.Observe(name, args, out); err != nil {
		return cty.NilVal, err
	}
	return out, nil
}

// unavailable reports whether an error says that there is no process to ask, and if so fails the evaluation with the
// reasons.
func (s *scope) unavailable(err error) bool {
	var u *Unavailable
	if !errors.As(err, &u) {
		return false
	}
	s.Failed = true
	u.Said.Replay(s.Bag)
	return true
}

// configOf is the configuration that a call means, noDecl if there is none.
func (s *scope) configOf(e *expr.ProviderCall) program.Decl {
	return s.f.w.p.Existing(s.f.n, e.Provider, e.Alias)
}

// calling describes a call for messages.
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

// unanswered does not show what a provider said last if an argument is not to be shown.
func unanswered(d diag.Diagnostic, args []cty.Value) diag.Diagnostic {
	if expr.Raise(cty.True, args...).IsMarked() {
		d.Detail = "The provider gave no answer. What is known of it is not shown because an argument is sensitive or ephemeral; more may be in the log (TF_LOG=error or lower)."
	}
	return d
}

// callError blames the argument that the provider blames. The provider's text is not shown if an
// argument is not to be shown: it may well repeat it.
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
