package lang

import "github.com/lethe-iac/lethe/internal/diag"

// deprecatedOutputs warns where a deprecated output of a module is selected by its name: of the call, of its
// instances, and of a local value that is a whole call. What is handed on further, into collections or other
// modules, is not followed: marks on values would find more, and would also complain where a module is merely
// handed on whose old output is never used.
func deprecatedOutputs(p *Program, bag *diag.Bag) {
	for n := range p.Nodes() {
		for _, use := range n.unit.outputUses {
			if child := calledBy(n, use); child != nil {
				deprecated(child, n, use.name, use.at, bag)
			}
		}
	}
}

// calledBy is the module that an output is selected from; nil if the local is no whole call.
func calledBy(n *node, use outputUse) *node {
	d := n.unit.decls[use.of]
	if d.kind == Local {
		e, ok := d.value.(*ref)
		if !ok || e.root != rootCall || e.output != "" || use.each != (e.repeated && !e.hasKey) {
			return nil
		}
		d = n.unit.decls[e.local]
	}
	return n.children[d.nth]
}

// deprecated warns of a reference to an output that says not to use it.
func deprecated(n, from *node, output string, at diag.Range, bag *diag.Bag) {
	i, ok := n.unit.index(Output, output)
	if !ok || hushed(n, from) {
		return
	}
	if o := n.unit.decls[i].out; o.Deprecated != "" {
		bag.Add(diag.Warningf("Deprecated value used", "This value is derived from module.%s.%s, which is deprecated with the following message:\n\n%s", n.cfg.Call.Name, output, o.Deprecated).At(at).See("declared here", o.Range))
	}
}

// hushed reports whether it is not to be reported that another module uses what is deprecated in this one:
// so says the call of this one, or one on the way to the other has ignore_nested_deprecations.
func hushed(n, from *node) bool {
	for ; from.parent != nil; from = from.parent {
		if from.cfg.Call.IgnoreNestedDeprecations {
			return true
		}
	}
	return n.cfg.Hushed
}
