package lang

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
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

// unknownFunction says that the provider has no such function, and which may have been meant.
func unknownFunction(e *provided, all map[string]*provider.Function) string {
	return fmt.Sprintf("The function %q is not available from the provider %q.%s", e.name, e.local, diag.DidYouMean(e.name, sorted(all)))
}

// undeclaredFunction says that required_providers has no entry for the provider. Resource types imply one, names of
// functions do not: they would be gone with the last resource.
func undeclaredFunction(e *provided, required map[string]*config.Requirement) string {
	why := fmt.Sprintf("There is no provider with the local name %q in this module.", e.local)
	if required[e.local] != nil {
		why = fmt.Sprintf("The provider %q is only implied by what else is in this module, and functions need it to be declared.", e.local)
	} else if hint := diag.DidYouMean(e.local, sorted(required)); hint != "" {
		return why + hint
	}
	return fmt.Sprintf("%s Add an entry for it to required_providers in a terraform block:\n    %s = { source = %q }", why, e.local, e.provider.ForDisplay())
}

// functions holds the calls of a unit against what providers offer. A function that the schema
// does not have may be one of a configured provider, if there is a configuration.
func (c *binder) functions(n *node) {
	for _, e := range n.unit.functions {
		if req := n.unit.mod.Required[e.local]; req == nil || req.Range == (diag.Range{}) {
			e.wrong = true
			if n.unit.mod.MayDeclare(e.local) {
				c.ok = false
				continue
			}
			c.error(diag.Errorf("Unknown provider function", "%s", undeclaredFunction(e, n.unit.mod.Required)).At(e.NameRange))
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
		c.error(diag.Errorf("Unknown provider function", "%s", unknownFunction(e, schemas.Functions)).At(e.NameRange))
	}
}

// configured adds the references that calls of configured providers' functions make: before
// Bind it is not known which functions those are.
func (c *binder) configured() bool {
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
	return added
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
