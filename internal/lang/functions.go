package lang

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// ErrReported is what a Caller answers where a provider could not be configured, or asked, and that is
// in the bag.
var ErrReported = errors.New("the provider cannot be asked")

// Caller calls functions of providers.
type Caller interface {
	// Call runs a function. config is the provider configuration that is meant, if the name says
	// one or the module has a default one. The error is a diag.Diagnostic where no answer came.
	Call(config Decl, p addr.Provider, fn string, args []cty.Value) (cty.Value, error)
	// Function gives a function's signature, nil if the provider's schema has no such function.
	Function(p addr.Provider, fn string) *provider.Function
	// Configured gives the functions of a configured provider, which may be more than its schema
	// has. They are not known while its settings are not. The error is ErrReported.
	Configured(config Decl, p addr.Provider) (fs map[string]*provider.Function, known bool, err error)
}

// provided is a call of a provider's function: provider::LOCAL::NAME or provider::LOCAL::ALIAS::NAME.
type provided struct {
	*hclsyntax.FunctionCallExpr
	provider addr.Provider
	local    string
	alias    string
	name     string
	// configured is set by Check if only a configured provider has the function, wrong if nobody has.
	configured, wrong bool
}

// providerFunction compiles a call into a provider's namespace; nil for other functions.
func (r *rewriter) providerFunction(e *hclsyntax.FunctionCallExpr) hclsyntax.Expression {
	if !strings.HasPrefix(e.Name, "provider::") {
		return nil
	}
	parts := strings.Split(e.Name, "::")
	if len(parts) != 3 && len(parts) != 4 {
		r.c.error("Invalid function call", "The name of a provider's function is provider::NAME::FUNCTION, or provider::NAME::ALIAS::FUNCTION for one configuration of the provider.", e.NameRange)
		return unknownAt(e.Range())
	}
	for i, a := range e.Args {
		e.Args[i] = &argumentOf{a, toilNone}
	}
	out := &provided{FunctionCallExpr: e, local: parts[1], name: parts[len(parts)-1], provider: r.c.n.cfg.Provider(parts[1])}
	if len(parts) == 4 {
		out.alias = parts[2]
	}
	r.c.noteFunction(out)
	return out
}

// noteFunction records a call for Check, and that a configuration is used if the name says which.
func (c *compiler) noteFunction(e *provided) {
	if c.quiet {
		return
	}
	c.u.functions = append(c.u.functions, e)
	if c.arg != nil {
		c.arg.functions = append(c.arg.functions, e)
		return
	}
	c.d.functions = append(c.d.functions, e)
}

// owner is the index of the declaration being compiled, -1 if it is none of the unit's.
func (c *compiler) owner() int32 {
	if i := c.d.index; int(i) < len(c.u.decls) && c.u.decls[i] == c.d {
		return i
	}
	return -1
}

// run calls the function through the walk's caller.
func (e *provided) run(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	if e.wrong {
		return cty.DynamicVal, nil // as Check has reported
	}
	s := scopeOf(ctx)
	sig, diags := e.signature(s)
	if diags.HasErrors() {
		return cty.DynamicVal, diags
	}
	child := ctx.NewChild()
	child.Functions = map[string]function.Function{e.Name: e.function(s, sig)}
	call := e.FunctionCallExpr
	return (&called{call, true}).Value(child)
}

// anything is the signature of a function of which nothing is known.
var anything = &provider.Function{Variadic: &provider.Param{Name: "args", Type: cty.DynamicPseudoType, AllowNull: true}, Return: cty.DynamicPseudoType}

// signature finds out what the function takes and gives: from the provider's schema, or if that does
// not have it, from the configured provider.
func (e *provided) signature(s *scope) (*provider.Function, hcl.Diagnostics) {
	caller := s.f.w.o.Caller
	if caller == nil {
		return anything, nil
	}
	if sig := caller.Function(e.provider, e.name); sig != nil {
		return sig, nil
	}
	if !e.configured || s.f.w.o.Validate {
		return anything, nil
	}
	all, known, err := caller.Configured(e.config(s.f), e.provider)
	switch sig := all[e.name]; {
	case err != nil:
		s.failed = true
		return anything, nil
	case !known:
		return anything, nil
	case sig == nil:
		return nil, errorAt("Unknown provider function", e.unknown(all), e.NameRange)
	default:
		return sig, nil
	}
}

// unknown says that the provider has no such function, and which may have been meant.
func (e *provided) unknown(all map[string]*provider.Function) string {
	return fmt.Sprintf("The function %q is not available from the provider %q.%s", e.name, e.local, didYouMean(e.name, sorted(all)))
}

// undeclared says that required_providers has no entry for the provider. Resource types imply one, names of
// functions do not: they would be gone with the last resource.
func (e *provided) undeclared(required map[string]*config.Requirement) string {
	why := fmt.Sprintf("There is no provider with the local name %q in this module.", e.local)
	if required[e.local] != nil {
		why = fmt.Sprintf("The provider %q is only implied by what else is in this module, and functions need it to be declared.", e.local)
	} else if hint := didYouMean(e.local, sorted(required)); hint != "" {
		return why + hint
	}
	return fmt.Sprintf("%s Add an entry for it to required_providers in a terraform block:\n    %s = { source = %q }", why, e.local, e.provider.ForDisplay())
}

// function wraps the provider's function for the library. Marks, nulls and unknown values are seen
// to here, so that messages do not show what they must not.
func (e *provided) function(s *scope, sig *provider.Function) function.Function {
	spec := &function.Spec{Type: function.StaticReturnType(sig.Return)}
	for i := range sig.Params {
		spec.Params = append(spec.Params, parameter(&sig.Params[i]))
	}
	if sig.Variadic != nil {
		p := parameter(sig.Variadic)
		spec.VarParam = &p
	}
	spec.Impl = func(args []cty.Value, ret cty.Type) (cty.Value, error) { return e.invoke(s, sig, args) }
	return function.New(spec)
}

func parameter(p *provider.Param) function.Parameter {
	return function.Parameter{Name: p.Name, Type: p.Type, AllowNull: true, AllowUnknown: true, AllowDynamicType: true, AllowMarked: true}
}

// invoke calls the function with plain values.
func (e *provided) invoke(s *scope, sig *provider.Function, args []cty.Value) (cty.Value, error) {
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
		return raise(cty.UnknownVal(sig.Return), args...), nil
	}
	name := "provider::" + e.provider.String() + "::" + e.name
	if s.f.w.o.Handed != nil {
		s.f.w.o.Handed(name, args)
	}
	out, err := s.f.w.o.Caller.Call(e.config(s.f), e.provider, e.name, plain)
	if err == ErrReported {
		s.failed = true
		return raise(cty.UnknownVal(sig.Return), args...), nil
	}
	var silent diag.Diagnostic
	if errors.As(err, &silent) { // no matter of this call alone: try and can do not make up for it
		s.error(unanswered(silent, args).At(e.NameRange))
		return raise(cty.UnknownVal(sig.Return), args...), nil
	}
	if err != nil {
		return cty.NilVal, callError(err, args)
	}
	out = raise(out, args...)
	if s.f.w.o.Observe != nil && out.IsWhollyKnown() {
		if err := s.f.w.o.Observe(name, args, out); err != nil {
			return cty.NilVal, err
		}
	}
	return out, nil
}

// config is the configuration that a call means, noDecl if there is none.
func (e *provided) config(f *Frame) Decl {
	return f.w.p.existing(f.n, e.provider, e.alias)
}

// unanswered does not show what a provider said last if an argument is not to be shown.
func unanswered(d diag.Diagnostic, args []cty.Value) diag.Diagnostic {
	if raise(cty.True, args...).IsMarked() {
		d.Detail = "The provider gave no answer. What is known of it is not shown because an argument is sensitive or ephemeral; more may be in the log (TF_LOG=error or lower)."
	}
	return d
}

// callError blames the argument that the provider blames. The provider's text is not shown if an
// argument is not to be shown: it may well repeat it.
func callError(err error, args []cty.Value) error {
	text := err.Error()
	if raise(cty.True, args...).IsMarked() {
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

// functions holds the calls of a unit against what providers offer. A function that the schema
// does not have may be one of a configured provider, if there is a configuration.
func (c *checker) functions(n *node) {
	for _, e := range n.unit.functions {
		if req := n.unit.mod.Required[e.local]; req == nil || req.Range == (diag.Range{}) {
			e.wrong = true
			if n.unit.mod.MayDeclare(e.local) {
				c.ok = false
				continue
			}
			c.error(diag.Errorf("Unknown provider function", "%s", e.undeclared(n.unit.mod.Required)).At(e.NameRange))
			continue
		}
		schemas := c.s.Of(e.provider)
		if schemas == nil {
			e.wrong, c.ok = true, false
			continue
		}
		if schemas.Functions[e.name] != nil {
			continue
		}
		if config := c.p.existing(n, e.provider, e.alias); config != noDecl && c.p.at[config] != nil {
			e.configured = true
			continue
		}
		e.wrong = true
		c.error(diag.Errorf("Unknown provider function", "%s", e.unknown(schemas.Functions)).At(e.NameRange))
	}
}

// configured adds the references that calls of configured providers' functions make: before
// Check it is not known which functions those are.
func (c *checker) configured() {
	added := false
	for id, d := range c.p.decls {
		n := c.p.at[id]
		if n == nil || len(n.unit.functions) == 0 {
			continue
		}
		calls := n.unit.decls[d.ID-n.base].functions
		if d.Kind == Variable && n.parent != nil {
			if a := n.parent.unit.decls[n.call].args[d.Name]; a != nil {
				calls = a.functions
			}
		}
		for _, e := range calls {
			if e.configured && e.alias == "" {
				config := c.p.existing(n, e.provider, "")
				c.p.refs[id] = append(c.p.refs[id], Ref{To: config, Use: ByFunction, Key: AllKeys, Range: e.NameRange})
				added = true
			}
		}
	}
	if added && !c.p.cyclic && !c.p.findCycles(c.bag) {
		c.p.cyclic, c.ok = true, false
	}
}

// functions adds references to the configurations whose functions are called and that the calls
// name.
func (l *linker) functions(n *node, calls []*provided) {
	for _, e := range calls {
		if e.alias == "" {
			continue
		}
		if d, _ := l.p.find(n, config.ProviderName{Local: e.local, Alias: e.alias}); d != noDecl {
			if prov := l.p.decls[d].Prov; prov != nil && prov.ForEach != nil {
				l.ok = false
				l.bag.Add(diag.Errorf("Missing provider instance key", "The configuration %q has for_each set, and the name of a function has no place for the key of an instance. Call the function through a configuration without for_each.", e.local+"."+e.alias).At(e.NameRange).See("declared here", prov.Range))
				continue
			}
			l.add(Ref{To: d, Use: ByFunction, Key: AllKeys, Range: e.NameRange})
			continue
		}
		l.ok = false
		if mayConfigure(n, config.ProviderName{Local: e.local, Alias: e.alias}) {
			continue
		}
		l.bag.Add(diag.Errorf("Provider configuration not present", "There is no configuration %q %s whose function could be called.", e.local+"."+e.alias, moduleOf(n)).At(e.NameRange))
	}
}
