package lint

import (
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/program"
)

// The titles of the rules.
const (
	unused       = "Unused declaration"
	secretLike   = "Literal looks like a secret"
	stored       = "Secret kept in the state"
	unopened     = "Unused ephemeral resource"
	longLease    = "Lease held longer than needed"
	unversioned  = "Provider without a version constraint"
	countOver    = "Count over a list"
	onlyTemplate = "Interpolation-only expression"
	oldSyntax    = "Deprecated syntax"
	badComment   = "Invalid lint comment"
)

// checker collects the findings of one program.
type checker struct {
	p        *program.Program
	seen     map[*config.Module]bool
	others   []string                  // the texts of test files and query files
	local    map[*config.Node]bool     // modules that are checked: their source and the sources of all modules that contain them are paths
	found    []diag.Diagnostic         // all findings, including the findings that a comment suppresses
	secrets  []string                  // the literals that look like secrets
	ignores  map[place]map[string]bool // codes that a comment suppresses, by the line to which the comment applies
	comments []diag.Diagnostic         // warnings about invalid comments, which cannot be suppressed
}

// add records a finding.
func (c *checker) add(title string, at diag.Range, format string, a ...any) {
	c.found = append(c.found, diag.Warningf(title, format, a...).At(at))
}

// place is a line of a file.
type place struct {
	file string
	line int
}

// own reports whether a declaration is in a module that is checked: the source of the module and the sources of all
// modules around it are paths.
func (c *checker) own(d *program.Declaration) bool { return c.local[c.p.NodeOf(d.ID).Config] }
