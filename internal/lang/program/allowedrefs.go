package program

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/lang/expr"
	"github.com/lethe-iac/lethe/internal/lang/funcs"
	"github.com/lethe-iac/lethe/internal/syntax"
)

// The titles of errors about count and each outside of repeated blocks.
const (
	withoutCount   = `Reference to "count" in non-counted context`
	withoutForEach = `Reference to "each" in context without for_each`
)

// allowed reports whether the expression may use the symbol count, each or self. In a lifecycle argument, each.key is
// allowed, and each.value is not. The same holds in a provisioner of a removed block. If the symbol is not allowed,
// allowed reports an error. It returns true for all other references.
func (r *rewriter) allowed(e *expr.Ref) bool {
	switch e.Root {
	case expr.RootCount:
		if r.place.Count {
			return true
		}
		r.c.error(withoutCount, `The "count" object can only be used in "module", "resource", "data" and "ephemeral" blocks, and only when the "count" argument is set.`, e.SrcRange)
		return false
	case expr.RootEach:
		if r.place.Each && r.why == ByLifecycle && e.Field == "value" {
			r.c.error(`Invalid "each" reference`, `Only each.key can be used in this argument: it is also evaluated for objects whose key is no longer in "for_each".`, e.SrcRange)
			return false
		}
		if r.place.Each && r.place.Keys && e.Field == "value" {
			r.c.error("Invalid reference from destroy provisioner", `A removed block has no for_each, so there is no each.value. Use each.key or an attribute of "self".`, e.SrcRange)
			return false
		}
		if r.place.Each {
			return true
		}
		r.c.error(withoutForEach, `The "each" object can be used only in "module", "resource", "data", "ephemeral" and "provider" blocks, and only when the "for_each" argument is set.`, e.SrcRange)
		return false
	case expr.RootSelf:
		if r.place.Self {
			return true
		}
		r.c.error(`Invalid "self" reference`, `The "self" object is not available in this context. This object can be used only in resource provisioner, connection, and postcondition blocks.`, e.SrcRange)
		return false
	}
	return true
}

// ownKey reports whether e is exactly count.index or each.key, with or without parentheses.
func ownKey(e hclsyntax.Expression) bool {
	for {
		switch x := e.(type) {
		case *hclsyntax.ParenthesesExpr:
			e = x.Expression
			continue
		case *expr.Ref:
			return (x.Root == expr.RootCount || x.Root == expr.RootEach && x.Field == "key") && len(x.Rest) == 0
		}
		return false
	}
}

// staticOnly reports whether the reference e may be used in the expression that is being compiled. A static evaluation
// (before a program exists) may use only variables, locals, path and terraform.workspace. For any other reference in
// it, staticOnly reports an error and returns false.
func (r *rewriter) staticOnly(e *expr.Ref) bool {
	if r.c.static == "" {
		return true
	}
	switch e.Root {
	case expr.RootVariable, expr.RootLocal, expr.RootPath:
		return true
	case expr.RootTerraform:
		if e.Field == "workspace" {
			return true
		}
	}
	r.c.error("Dynamic value in static context", fmt.Sprintf("Unable to use %s in static context, which is required by %s.\n\nUse only input variables, local values, functions and the workspace name: the value must be known before the plan.", syntax.ReferenceText(e.Traversal), r.c.static), e.SrcRange)
	return false
}

// staticFunction reports whether a function may be called in the expression that is being compiled. A static evaluation
// (before a program exists) cannot call functions of providers, because providers are started later. It also cannot
// call functions whose result varies, because init, plan and apply would see different modules; the exception is an
// expression with place.Vary. In both cases, staticFunction reports an error and returns false.
func (r *rewriter) staticFunction(e *hclsyntax.FunctionCallExpr) bool {
	why := ""
	switch {
	case r.c.static == "":
		return true
	case strings.HasPrefix(e.Name, "provider::"):
		why = "providers are not running yet"
	case funcs.Impure(e.Name) && !r.place.Vary:
		why = "its result changes with each run"
	default:
		return true
	}
	r.c.error("Dynamic value in static context", fmt.Sprintf("Unable to use %s() in static context, which is required by %s: %s.", e.Name, r.c.static, why), e.NameRange)
	return false
}
