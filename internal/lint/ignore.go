package lint

import (
	"bytes"
	"regexp"
	"strings"
	"sync"
	"unicode"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/diag/code"
)

// ignore matches the comment that suppresses findings: `# lethe-ignore: LE1801, LE1802 reason`.
var ignore = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`lethe-ignore:?\s*((?:LE\d{4}\s*,?\s*)*)`) })

// readComments finds the comments of a native file that suppress findings, and warns of comments without codes and of
// unknown codes. A comment that follows code on its line applies to this line. Any other comment applies to the first
// line after the comment that is not a comment itself. JSON files have no comments.
func (c *checker) readComments(f config.File) {
	if !bytes.Contains(f.Bytes, []byte("lethe-ignore")) || strings.HasSuffix(f.Name, ".json") {
		return
	}
	tokens, _ := hclsyntax.LexConfig(f.Bytes, f.Name, hcl.InitialPos)
	for i, t := range tokens {
		if t.Type != hclsyntax.TokenComment {
			continue
		}
		m := ignore().FindSubmatch(t.Bytes)
		if m == nil {
			continue
		}
		line := t.Range.Start.Line
		if alone := i == 0 || tokens[i-1].Type == hclsyntax.TokenNewline || tokens[i-1].Type == hclsyntax.TokenComment; alone {
			next := i + 1
			for tokens[next].Type == hclsyntax.TokenComment { // a next token always exists, because the last token is the end of the file
				next++
			}
			line = tokens[next].Range.End.Line // after /* */, the token is the line end, whose range ends on the next line
		}
		codes := strings.FieldsFunc(string(m[1]), func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
		if len(codes) == 0 {
			c.comments = append(c.comments, diag.Warningf(badComment, "The comment suppresses nothing, because it names no code. Write the codes after it, such as lethe-ignore: LE1801.").At(t.Range))
		}
		for _, name := range codes {
			if code.Find(name) == nil {
				c.comments = append(c.comments, diag.Warningf(badComment, "There is no rule with the code %s.", name).At(t.Range))
			}
			c.suppress(place{f.Name, line}, name)
		}
	}
}

func (c *checker) suppress(at place, name string) {
	if c.ignores == nil {
		c.ignores = map[place]map[string]bool{}
	}
	if c.ignores[at] == nil {
		c.ignores[at] = map[string]bool{}
	}
	c.ignores[at][name] = true
}

// ignored reports whether a comment suppresses a finding.
func (c *checker) ignored(d diag.Diagnostic) bool {
	return d.Subject != nil && c.ignores[place{d.Subject.Filename, d.Subject.Start.Line}][d.Coded().Code]
}
