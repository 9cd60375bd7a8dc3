package config

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/syntax"
)

// reader reads arguments of blocks, and reports mistakes in them to bag. It knows nothing about the module that
// contains the blocks.
type reader struct {
	opts   Options
	bag    diag.Bag
	errors int // number of mistakes found so far
}

// add adds a message to the bag. After 10*maxMessages messages, it adds one message that more errors exist, and drops
// all further messages.
func (rd *reader) add(d diag.Diagnostic) {
	if d.Severity == diag.Error {
		rd.errors++
	}
	switch n := rd.bag.Len(); {
	case n < 10*maxMessages:
		rd.bag.Add(d)
	case n == 10*maxMessages:
		rd.bag.Add(diag.Errorf("Too many errors", "This module has more errors than are listed here. Correct these errors, and run the command again."))
	}
}

// error reports a mistake at a range.
func (rd *reader) error(at hcl.Range, title, format string, a ...any) {
	rd.add(diag.Errorf(title, format, a...).At(at))
}

// again reports an error about a second declaration. The parameters at and first are the ranges of the second and the
// first declaration, to which the message refers.
func (rd *reader) again(at, first hcl.Range, title, format string, a ...any) {
	rd.add(diag.Errorf(title, format, a...).At(at).See("declared here", first))
}

// letheOnly reports whether a range is in a file that only Lethe reads (see letheSuffix). If not, letheOnly reports an
// error: Terraform and OpenTofu would refuse the file. The parameter what names the refused feature in the error.
func letheOnly(rd *reader, at hcl.Range, what string) bool {
	base, json := strings.CutSuffix(at.Filename, ".json")
	if strings.HasSuffix(base, letheSuffix) {
		return true
	}
	end := letheSuffix
	if json {
		end += ".json"
	}
	file := filepath.Base(filepath.ToSlash(at.Filename))
	base, _ = configBase(file, nil)
	rd.error(at, "Language of .lethe files", "Only Lethe understands %s, so it is not allowed in a file that other programs read. Copy %s to %s and write it there: Lethe then reads only that file, and other programs read only %[2]s.", what, file, base+end)
	return false
}

// warn reports a problem that has no effect yet.
func (rd *reader) warn(at hcl.Range, title, format string, a ...any) {
	rd.add(diag.Warningf(title, format, a...).At(at))
}

// hcl reports the diagnostics of the HCL library. It returns false if they contain an error.
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
	{Type: "action", LabelNames: []string{"type", "name"}},
	{Type: "check", LabelNames: []string{"name"}},
	{Type: "moved"},
	{Type: "removed"},
	{Type: "import"},
}}

// content returns the content of a body that matches the schema, and false if the body contains anything else.
func (rd *reader) content(b hcl.Body, s *hcl.BodySchema) (*hcl.BodyContent, bool) {
	c, ds := b.Content(s)
	for _, d := range ds {
		var typ string
		if _, err := fmt.Sscanf(d.Detail, "Blocks of type %q are not expected here.", &typ); err == nil {
			d.Detail += Misplaced(typ)
			if typ == "list" {
				d.Detail += " List blocks belong in query files (NAME.tfquery.hcl), which `lethe query` reads."
			}
		}
	}
	rd.hcl(withoutMeant(ds))
	return c, !ds.HasErrors()
}

// Misplaced returns a sentence to append to the message about an unexpected block. If blocks of this type belong at the
// top level of a file, the sentence suggests that a closing brace is missing before the block. For other types,
// Misplaced returns "".
func Misplaced(typ string) string {
	for _, b := range rootSchema.Blocks {
		if b.Type == typ {
			return " These blocks belong at the top level of a file. Check for a missing closing brace before this block."
		}
	}
	return ""
}

// argument returns the expression of an argument, or nil if it is not set.
func argument(c *hcl.BodyContent, name string) hcl.Expression {
	if a := c.Attributes[name]; a != nil {
		return a.Expr
	}
	return nil
}

// withoutMeant removes errors about a missing required argument if another error suggests that the argument is present
// but misspelt.
func withoutMeant(ds hcl.Diagnostics) hcl.Diagnostics {
	return slices.DeleteFunc(slices.Clone(ds), func(d *hcl.Diagnostic) bool {
		return d.Summary == "Missing required argument" && slices.ContainsFunc(ds, func(other *hcl.Diagnostic) bool {
			_, meant, found := strings.Cut(other.Detail, " Did you mean ")
			return found && strings.Contains(d.Detail, "argument "+strings.TrimSuffix(meant, "?"))
		})
	})
}

// place returns the range of a block's header. In JSON syntax several blocks can share their header, so it returns the
// last label, or the end of a block without labels.
func place(b *hcl.Block) hcl.Range {
	switch n := len(b.LabelRanges); {
	case !IsJSON(b.Body):
		return b.DefRange
	case n > 0:
		return b.LabelRanges[n-1]
	}
	return b.Body.MissingItemRange()
}

// only returns the first of blocks, or nil if blocks is empty. It reports the others, because only one is allowed. The
// parameter what names the enclosing block in messages.
func (rd *reader) only(blocks hcl.Blocks, what string) *hcl.Block {
	if len(blocks) == 0 {
		return nil
	}
	first := blocks[0]
	for _, b := range blocks[1:] {
		rd.again(b.DefRange, first.DefRange, "Duplicate "+b.Type+" block", "This %s already has a %s block at %s. Merge the two blocks.", what, b.Type, first.DefRange)
	}
	return first
}

// ValidName reports whether s is a valid identifier, like hclsyntax.ValidIdentifier. It is faster for ASCII names.
func ValidName(s string) bool {
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

// suggestion returns " Did you mean …?" for a name that is similar to a known name, otherwise "".
func suggestion(given string, known []string) string {
	if s := diag.Suggest(given, known); s != "" {
		return fmt.Sprintf(" Did you mean %q?", s)
	}
	return ""
}
