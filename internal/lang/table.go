package lang

import (
	"strings"
	"sync"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/lang/funcs"
)

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
