package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/syntax"
)

// reader reads the arguments of all blocks, and reports what is wrong with them. It knows nothing of the module.
type reader struct {
	opts   Options
	bag    diag.Bag
	errors int // how many mistakes were found so far
}

// add puts a message into the bag, up to a number of them.
func (rd *reader) add(d diag.Diagnostic) {
	if d.Severity == diag.Error {
		rd.errors++
	}
	switch n := rd.bag.Len(); {
	case n < 10*maxMessages:
		rd.bag.Add(d)
	case n == 10*maxMessages:
		rd.bag.Add(diag.Errorf("Too many errors", "There are more errors in this module than can be listed. Correct those that are, and try again."))
	}
}

// error reports a mistake at a place.
func (rd *reader) error(at hcl.Range, title, format string, a ...any) {
	rd.add(diag.Errorf(title, format, a...).At(at))
}

// again reports a second declaration of something, pointing at the first.
func (rd *reader) again(at, first hcl.Range, title, format string, a ...any) {
	rd.add(diag.Errorf(title, format, a...).At(at).See("declared here", first))
}

// warn reports something to be mended that does no harm yet.
func (rd *reader) warn(at hcl.Range, title, format string, a ...any) {
	rd.add(diag.Warningf(title, format, a...).At(at))
}

// hcl passes on what the HCL library says.
func (rd *reader) hcl(ds hcl.Diagnostics) bool {
	for _, d := range ds {
		rd.add(diag.FromHCL(d))
	}
	return !ds.HasErrors()
}

var rootSchema = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{
	{Type: "terraform"},
	{Type: "language"},
	{Type: "locals"},
	{Type: "variable", LabelNames: []string{"name"}},
	{Type: "output", LabelNames: []string{"name"}},
	{Type: "module", LabelNames: []string{"name"}},
	{Type: "provider", LabelNames: []string{"name"}},
	{Type: "resource", LabelNames: []string{"type", "name"}},
	{Type: "data", LabelNames: []string{"type", "name"}},
	{Type: "ephemeral", LabelNames: []string{"type", "name"}},
	{Type: "check", LabelNames: []string{"name"}},
	{Type: "moved"},
	{Type: "removed"},
	{Type: "import"},
}}

// notYet are blocks of the language that are not misspelt where they are found: they are not there yet.
var notYet = []string{"action", "action_trigger", "list", "state_store"}

// content asks a body for exactly what the schema describes; false if it holds anything else.
func (rd *reader) content(b hcl.Body, s *hcl.BodySchema) (*hcl.BodyContent, bool) {
	c, ds := b.Content(s)
	for _, d := range ds {
		var typ string
		if _, err := fmt.Sscanf(d.Detail, "Blocks of type %q are not expected here.", &typ); err == nil {
			d.Detail += Misplaced(typ)
			if slices.Contains(notYet, typ) {
				d.Detail += " Newer versions of Terraform have such blocks, and Lethe does not support them."
			}
		}
	}
	rd.hcl(withoutMeant(ds))
	return c, !ds.HasErrors()
}

// Misplaced is a sentence to add to the message about a block that is not expected where it is: if it is one that stands at the
// top of a file, a brace is missing more often than not.
func Misplaced(typ string) string {
	for _, b := range rootSchema.Blocks {
		if b.Type == typ {
			return " Such blocks stand at the top of a file: is a closing brace missing before this one?"
		}
	}
	return ""
}

// argument is the expression of an argument, nil if it is not set.
func argument(c *hcl.BodyContent, name string) hcl.Expression {
	if a := c.Attributes[name]; a != nil {
		return a.Expr
	}
	return nil
}

// withoutMeant leaves out that a required argument is missing where another message finds it under
// a wrong name.
func withoutMeant(ds hcl.Diagnostics) hcl.Diagnostics {
	return slices.DeleteFunc(slices.Clone(ds), func(d *hcl.Diagnostic) bool {
		return d.Summary == "Missing required argument" && slices.ContainsFunc(ds, func(other *hcl.Diagnostic) bool {
			_, meant, found := strings.Cut(other.Detail, " Did you mean ")
			return found && strings.Contains(d.Detail, "argument "+strings.TrimSuffix(meant, "?"))
		})
	})
}

// place is where a block is declared. In JSON syntax several blocks can share their header, so it
// is the last label there, or the end of the block where there are none.
func place(b *hcl.Block) hcl.Range {
	switch n := len(b.LabelRanges); {
	case !IsJSON(b.Body):
		return b.DefRange
	case n > 0:
		return b.LabelRanges[n-1]
	}
	return b.Body.MissingItemRange()
}

// loader reads one module.
type loader struct {
	rd      *reader
	mod     *Module
	entries map[string]*hcl.Attribute // of required_providers

	declared map[string]hcl.Range // where: see first
}

func newModule(dir string) *Module {
	return &Module{
		Dir:       dir,
		Required:  map[string]*Requirement{},
		Meta:      map[string]*Meta{},
		Variables: map[string]*Variable{},
		Locals:    map[string]*Local{},
		Outputs:   map[string]*Output{},
		Calls:     map[string]*Call{},
		Providers: map[ProviderName]*Provider{},
		Resources: map[Name]*Resource{},
		Checks:    map[string]*Check{},
	}
}

// first takes note of a declaration, by its kind and what it is called. A second one is reported: format begins with what
// it is called, and ends with where the first one is.
func (l *loader) first(kind string, at hcl.Range, title, format string, called ...any) bool {
	key := fmt.Sprintf("%s %q", kind, called)
	before, again := l.declared[key]
	if again {
		l.rd.again(at, before, title, format, append(called, before)...)
		return false
	}
	l.declared[key] = at
	return true
}

const badName = "A name must start with a letter or underscore and may contain only letters, digits, underscores, and dashes."

// name checks a label that becomes part of references.
func (l *loader) name(b *hcl.Block, i int, title string) bool {
	if validName(b.Labels[i]) {
		return true
	}
	l.mod.unreadable = true
	l.rd.error(b.LabelRanges[i], title, "%s", badName)
	return false
}

// only is the first of some blocks that there may be one of, nil if there is none. The others are reported: what is
// what they are in.
func (rd *reader) only(blocks hcl.Blocks, what string) *hcl.Block {
	if len(blocks) == 0 {
		return nil
	}
	first := blocks[0]
	for _, b := range blocks[1:] {
		rd.again(b.DefRange, first.DefRange, "Duplicate "+b.Type+" block", "This %s already has a %s block at %s. Put everything into one of them.", what, b.Type, first.DefRange)
	}
	return first
}

// validName is hclsyntax.ValidIdentifier with a fast way for the usual names.
func validName(s string) bool {
	if s == "" || !syntax.IdentPart(s[0]) || s[0] == '-' || s[0] >= '0' && s[0] <= '9' {
		return false
	}
	for i := range len(s) {
		if s[i] >= 0x80 {
			return hclsyntax.ValidIdentifier(s)
		}
		if !syntax.IdentPart(s[i]) {
			return false
		}
	}
	return true
}

// suggestion is " Did you mean …?" for a name that is close to one of those that are known.
func suggestion(given string, known []string) string {
	if s := diag.Suggest(given, known); s != "" {
		return fmt.Sprintf(" Did you mean %q?", s)
	}
	return ""
}
