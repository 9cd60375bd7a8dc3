package program

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/expr"
	"github.com/lethe-iac/lethe/internal/lang/funcs"
	"github.com/lethe-iac/lethe/internal/provider"
)

// providerFunction compiles a call into a provider's namespace; nil for other functions.
func (r *rewriter) providerFunction(e *hclsyntax.FunctionCallExpr) hclsyntax.Expression {
	if !strings.HasPrefix(e.Name, "provider::") {
		return nil
	}
	parts := strings.Split(e.Name, "::")
	if len(parts) != 3 && len(parts) != 4 {
		r.c.error("Invalid function call", "The name of a provider's function is provider::NAME::FUNCTION, or provider::NAME::ALIAS::FUNCTION for one configuration of the provider.", e.NameRange)
		return expr.UnknownAt(e.Range())
	}
	for i, a := range e.Args {
		e.Args[i] = expr.FreeArgument(a)
	}
	out := &expr.ProviderCall{FunctionCallExpr: e, Local: parts[1], Name: parts[len(parts)-1], Provider: r.c.n.Config.Provider(parts[1])}
	if len(parts) == 4 {
		out.Alias = parts[2]
	}
	r.c.noteFunction(out)
	return out
}

// noteFunction records a call for Check, and that a configuration is used if the name says which.
func (c *compiler) noteFunction(e *expr.ProviderCall) {
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
	if i := c.d.Index; int(i) < len(c.u.Defs) && c.u.Defs[i] == c.d {
		return i
	}
	return -1
}

// UnknownFunction says that the provider has no such function, and which may have been meant.
func UnknownFunction(e *expr.ProviderCall, all map[string]*provider.Function) string {
	return fmt.Sprintf("The function %q is not available from the provider %q.%s", e.Name, e.Local, diag.DidYouMean(e.Name, slices.Sorted(maps.Keys(all))))
}

// UndeclaredFunction says that required_providers has no entry for the provider. Resource types imply one, names of
// functions do not: they would be gone with the last resource.
func UndeclaredFunction(e *expr.ProviderCall, required map[string]*config.Requirement) string {
	why := fmt.Sprintf("There is no provider with the local name %q in this module.", e.Local)
	if required[e.Local] != nil {
		why = fmt.Sprintf("The provider %q is only implied by what else is in this module, and functions need it to be declared.", e.Local)
	} else if hint := diag.DidYouMean(e.Local, slices.Sorted(maps.Keys(required))); hint != "" {
		return why + hint
	}
	return fmt.Sprintf("%s Add an entry for it to required_providers in a terraform block:\n    %s = { source = %q }", why, e.Local, e.Provider.ForDisplay())
}

// functions holds the calls of a unit against what providers offer. A function that the schema
// does not have may be one of a configured provider, if there is a configuration.
func (c *binder) functions(n *Node) {
	for _, e := range n.Unit.functions {
		if req := n.Unit.Module.Required[e.Local]; req == nil || req.Range == (diag.Range{}) {
			e.Wrong = true
			if n.Unit.Module.Unreadable() {
				c.ok = false
				continue
			}
			c.error(diag.Errorf("Unknown provider function", "%s", UndeclaredFunction(e, n.Unit.Module.Required)).At(e.NameRange))
			continue
		}
		schemas := c.s(e.Provider)
		if schemas == nil {
			e.Wrong, c.ok = true, false
			continue
		}
		if schemas.Functions[e.Name] != nil {
			continue
		}
		if config := c.p.Existing(n, e.Provider, e.Alias); config != NoDecl && c.p.at[config] != nil {
			e.Configured = true
			continue
		}
		e.Wrong = true
		c.error(diag.Errorf("Unknown provider function", "%s", UnknownFunction(e, schemas.Functions)).At(e.NameRange))
	}
}

// configured adds the references that calls of configured providers' functions make: before
// Bind it is not known which functions those are.
func (c *binder) configured() bool {
	added := false
	for id, d := range c.p.decls {
		n := c.p.at[id]
		if n == nil || len(n.Unit.functions) == 0 {
			continue
		}
		calls := n.Unit.Defs[d.ID-n.Base].functions
		if d.Kind == Variable && n.Parent != nil {
			if a := n.Parent.Unit.Defs[n.Call].Args[d.Name]; a != nil {
				calls = a.functions
			}
		}
		for _, e := range calls {
			if e.Configured && e.Alias == "" {
				config := c.p.Existing(n, e.Provider, "")
				c.p.refs[id] = append(c.p.refs[id], Ref{To: config, Use: ByFunction, Key: AllKeys, Range: e.NameRange})
				added = true
			}
		}
	}
	return added
}

// functions adds references to the configurations whose functions are called and that the calls
// name.
func (l *linker) functions(n *Node, calls []*expr.ProviderCall) {
	for _, e := range calls {
		if e.Alias == "" {
			continue
		}
		if d, _ := l.p.find(n, config.ProviderName{Local: e.Local, Alias: e.Alias}); d != NoDecl {
			if prov := l.p.decls[d].Prov; prov != nil && prov.ForEach != nil {
				l.ok = false
				l.bag.Add(diag.Errorf("Missing provider instance key", "The configuration %q has for_each set, and the name of a function has no place for the key of an instance. Call the function through a configuration without for_each.", e.Local+"."+e.Alias).At(e.NameRange).See("declared here", prov.Range))
				continue
			}
			l.add(Ref{To: d, Use: ByFunction, Key: AllKeys, Range: e.NameRange})
			continue
		}
		l.ok = false
		if n.Unit.Module.Unreadable() {
			continue
		}
		l.bag.Add(diag.Errorf("Provider configuration not present", "There is no configuration %q %s whose function could be called.", e.Local+"."+e.Alias, moduleOf(n)).At(e.NameRange))
	}
}

// functionNames are the names that calls may use, without those of providers. Functions that are
// gone are among them: calling one says what to use instead.
var functionNames = sync.OnceValue(func() map[string]bool {
	out := map[string]bool{"type": true, "list": true, "map": true}
	for _, name := range funcs.Names() {
		out[name] = true
	}
	return out
})

// checkFunction reports a function that there is not; false if there is none. Inside try and can
// that is left to the evaluation: configurations use them to get along with several versions.
func (r *rewriter) checkFunction(e *hclsyntax.FunctionCallExpr) bool {
	namespace, plain := "", e.Name
	if i := strings.LastIndex(e.Name, "::"); i >= 0 {
		namespace, plain = e.Name[:i], e.Name[i+2:]
	}
	switch {
	case r.lenient > 0:
		return true
	case namespace != "" && namespace != "core":
		r.c.error("Unknown provider function", `The function namespace "`+namespace+`" is not valid. Provider function calls must use the "provider::" namespace prefix.`, e.NameRange)
		return false
	case !functionNames()[plain]:
		r.c.error("Call to unknown function", `There is no function named "`+e.Name+`".`+funcs.Meant(plain), e.NameRange)
		return false
	}
	return true
}
