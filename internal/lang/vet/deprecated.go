package vet

import (
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/expr"
	"github.com/lethe-iac/lethe/internal/lang/program"
)

// deprecatedOutputs warns if a deprecated output of a module is selected by its name: from the module call, from its
// instances, or from a local that is a whole module call. It does not find uses of the output through a collection or
// another module. Marks on values could find these uses, but they would also cause warnings where a whole module is
// only passed on and nothing uses the deprecated output.
func deprecatedOutputs(p *program.Program, bag *diag.Bag) {
	for n := range p.Nodes() {
		for _, use := range n.Unit.OutputUses {
			if child := calledBy(n, use); child != nil {
				deprecated(child, n, use.Name, use.At, bag)
			}
		}
	}
}

// calledBy returns the module from which an output is selected. It returns nil if the output is selected from a local
// that is not a whole module call.
func calledBy(n *program.Node, use program.OutputUse) *program.Node {
	d := n.Unit.Defs[use.Of]
	if d.Kind == program.Local {
		e, ok := d.Value.(*expr.Ref)
		if !ok || e.Root != expr.RootCall || e.Output != "" || use.Each != (e.Repeated && !e.HasKey) {
			return nil
		}
		d = n.Unit.Defs[e.Local]
	}
	return n.Children[d.Nth]
}

// deprecated warns about a reference to an output of the module n, if the output is deprecated and the configuration
// does not disable the warning (silenced). The reference is in the module from.
func deprecated(n, from *program.Node, output string, at diag.Range, bag *diag.Bag) {
	i, ok := n.Unit.Index(program.Output, output)
	if !ok || silenced(n, from) {
		return
	}
	if o := n.Unit.Defs[i].Src.Out; o.Deprecated != "" {
		bag.Add(diag.Warningf("Deprecated value used", "This value is derived from module.%s.%s, which is deprecated with the following message:\n\n%s", n.Config.Call.Name, output, o.Deprecated).At(at).See("declared here", o.Range))
	}
}

// silenced reports whether the configuration disables the warnings about deprecated names of the module n for
// references in the module from. It does so if the call of from, or of a module that contains from, has
// ignore_nested_deprecations, or if n has NoDeprecations.
func silenced(n, from *program.Node) bool {
	for ; from.Parent != nil; from = from.Parent {
		if from.Config.Call.IgnoreNestedDeprecations {
			return true
		}
	}
	return n.Config.NoDeprecations
}
