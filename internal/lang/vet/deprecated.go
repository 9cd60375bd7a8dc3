package vet

import (
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/expr"
	"github.com/lethe-iac/lethe/internal/lang/program"
)

// deprecatedOutputs warns where a deprecated output of a module is selected by its name: of the call, of its
// instances, and of a local value that is a whole call. What is handed on further, into collections or other
// modules, is not followed: marks on values would find more, and would also complain where a module is merely
// handed on whose old output is never used.
func deprecatedOutputs(p *program.Program, bag *diag.Bag) {
	for n := range p.Nodes() {
		for _, use := range n.Unit.OutputUses {
			if child := calledBy(n, use); child != nil {
				deprecated(child, n, use.Name, use.At, bag)
			}
		}
	}
}

// calledBy is the module that an output is selected from; nil if the local is no whole call.
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

// deprecated warns of a reference to an output that says not to use it.
func deprecated(n, from *program.Node, output string, at diag.Range, bag *diag.Bag) {
	i, ok := n.Unit.Index(program.Output, output)
	if !ok || silenced(n, from) {
		return
	}
	if o := n.Unit.Defs[i].Out; o.Deprecated != "" {
		bag.Add(diag.Warningf("Deprecated value used", "This value is derived from module.%s.%s, which is deprecated with the following message:\n\n%s", n.Config.Call.Name, output, o.Deprecated).At(at).See("declared here", o.Range))
	}
}

// silenced reports whether it is not to be reported that another module uses what is deprecated in this one:
// so says the call of this one, or one on the way to the other has ignore_nested_deprecations.
func silenced(n, from *program.Node) bool {
	for ; from.Parent != nil; from = from.Parent {
		if from.Config.Call.IgnoreNestedDeprecations {
			return true
		}
	}
	return n.Config.NoDeprecations
}
