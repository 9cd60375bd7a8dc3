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

// providerFunction compiles a call of a provider function. For any other function it returns nil. For a name with too
// few or too many parts it reports an error and returns an expression with an unknown value.
func (r *rewriter) providerFunction(e *hclsyntax.FunctionCallExpr) hclsyntax.Expression {
	if !strings.HasPrefix(e.Name, "provider::") {
		return nil
	}
	parts := strings.Split(e.Name, "::")
	if len(parts) != 3 && len(parts) != 4 {
		r.c.error("Invalid function call", "Name a provider's function as provider::NAME::FUNCTION, or provider::NAME::ALIAS::FUNCTION for one configuration of the provider.", e.NameRange)
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

// noteFunction records a call of a provider function for the module, and for the argument or declaration that is being
// compiled. Bind checks the recorded calls. A text that was compiled before is not recorded again.
func (c *compiler) noteFunction(e *expr.ProviderCall) {
	if c.discard {
		return
	}
	c.u.functions = append(c.u.functions, e)
	if c.arg != nil {
		c.arg.functions = append(c.arg.functions, e)
		return
	}
	c.d.refs.functions = append(c.d.refs.functions, e)
}

// UnknownFunction returns the message that a provider does not have the function of the call e. It suggests a similar
// name in all.
func UnknownFunction(e *expr.ProviderCall, all map[string]*provider.Function) string {
	return fmt.Sprintf("The function %q is not available from the provider %q.%s", e.Name, e.Local, diag.DidYouMean(e.Name, slices.Sorted(maps.Keys(all))))
}

// UndeclaredFunction returns the message that required_providers has no entry for the provider of the call e. A
// resource implies such an entry, but a call of a function needs an explicit entry, because the implied entry
// disappears with the last resource.
func UndeclaredFunction(e *expr.ProviderCall, required map[string]*config.Requirement) string {
	why := fmt.Sprintf("There is no provider with the local name %q in this module.", e.Local)
	if required[e.Local] != nil {
		why = fmt.Sprintf("This module does not declare the provider %q, and calls of its functions require that.", e.Local)
	} else if hint := diag.DidYouMean(e.Local, slices.Sorted(maps.Keys(required))); hint != "" {
		return why + hint
	}
	return fmt.Sprintf("%s Add an entry for it to required_providers in a terraform block:\n    %s = { source = %q }", why, e.Local, e.Provider.ForDisplay())
}

// functionNames returns the names that calls may use, except names of provider functions. It includes the removed
// functions list and map, because the error of their evaluation names the replacement.
var functionNames = sync.OnceValue(func() map[string]bool {
	out := map[string]bool{"type": true, "list": true, "map": true}
	for _, name := range funcs.Names() {
		out[name] = true
	}
	return out
})

// checkFunction reports whether the function of a call exists. If not, it reports an error. Inside try and can it
// returns true without an error, because configurations use try and can to support several versions; the evaluation
// then finds the error.
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
