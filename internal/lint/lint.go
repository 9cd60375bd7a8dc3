// Package lint finds parts of a configuration that are valid and probably mistakes. It has only rules that need Lethe's
// knowledge of the language, of leases and of schemas. Rules about the arguments of single providers are the subject of
// other programs.
//
// Check returns warnings. Each rule has a title, and its own code:
//
//	unused.go    variables, locals and data sources that nothing uses
//	secrets.go   literals that look like secrets, secrets that a state will keep
//	leases.go    ephemeral resources that nothing uses, or that stay open for objects that do not use their values
//	syntax.go    forms of expressions; count over a list; providers without a version
//	ignore.go    comments that suppress findings
//	module.go    the text of one module
//	checker.go   the findings
//
// A module is checked if its source is a path, and the sources of all modules that contain it are paths, too. Other
// modules usually belong to other people.
package lint

import (
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/program"
)

// Report is the result of all rules.
type Report struct {
	// Findings has the warnings of the rules that no lethe-ignore comment suppresses. The warnings about invalid
	// lethe-ignore comments follow, which no comment can suppress.
	Findings []diag.Diagnostic
	// Secrets has the literals that look like secrets. The caller must mask them in messages, because the source text
	// in a message may contain them.
	Secrets []string
}

// Check runs all rules on a program after program.Bind, which has compiled its blocks against the schemas of providers.
// others are the texts of its test files and query files. A declaration that they name counts as used.
func Check(p *program.Program, others []string) Report {
	c := &checker{p: p, others: others, seen: map[*config.Module]bool{}, local: map[*config.Node]bool{}}
	p.Tree().Root.Walk(c.module)
	c.leases()
	c.kept()
	var r Report
	for _, d := range c.found {
		if !c.ignored(d) {
			r.Findings = append(r.Findings, d)
		}
	}
	r.Findings, r.Secrets = append(r.Findings, c.comments...), c.secrets
	return r
}

// module checks the text of the module n, once for all calls of it. It checks the root module, and a called module if
// its source and the sources of all modules around it are paths. Other modules are packages, which the user did not
// write.
func (c *checker) module(n *config.Node) {
	own := n.Parent == nil || c.local[n.Parent] && config.IsLocal(n.Source)
	c.local[n] = own
	if !own || c.seen[n.Module] {
		return
	}
	c.seen[n.Module] = true
	m := read(n.Module)
	m.others = append(m.others, c.others...)
	for _, f := range n.Module.Files {
		c.readComments(f)
	}
	c.unused(m)
	c.literals(m)
	c.forms(m)
	c.counts(m)
	c.versions(n)
}
