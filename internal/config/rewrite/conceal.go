package rewrite

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/rogpeppe/go-internal/diff"
	"github.com/zclconf/go-cty/cty"
)

// noteConstants records the constant strings of an expression, so that differences do not show them.
func (d *Draft) noteConstants(f *part, e hclsyntax.Expression) {
	hclsyntax.VisitAll(e, func(n hclsyntax.Node) hcl.Diagnostics {
		t, ok := n.(*hclsyntax.TemplateExpr)
		if !ok {
			return nil
		}
		text := strings.TrimRight(f.source(t.SrcRange), "\r\n") // the text of a heredoc may contain its line end
		switch {
		case strings.HasPrefix(text, "<<"):
			lines := strings.Split(text, "\n")
			for i := 1; i < len(lines)-1; i++ {
				lines[i] = mark.Sensitive.Mask()
			}
			d.constants[text] = strings.Join(lines, "\n")
		case !strings.HasPrefix(text, `"`) || !hasWords(text): // the text is a part of a template, or a separator without letters and digits
		case strings.Contains(text, "%{") || t.IsStringLiteral():
			d.constants[text] = mark.Sensitive.Mask()
		default:
			d.constants[text] = f.withoutWords(t)
		}
		d.concealer = nil
		return nil
	})
}

func hasWords(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
}

// withoutWords returns the text of a template. A mask replaces each constant part that contains a letter or a digit.
func (f *part) withoutWords(t *hclsyntax.TemplateExpr) string {
	var b strings.Builder
	at := t.SrcRange.Start.Byte
	for _, part := range t.Parts {
		l, ok := part.(*hclsyntax.LiteralValueExpr)
		if !ok || l.Val.Type() != cty.String || !hasWords(l.Val.AsString()) {
			continue
		}
		b.Write(f.text[at:l.SrcRange.Start.Byte])
		b.WriteString(mark.Sensitive.Mask())
		at = l.SrcRange.End.Byte
	}
	b.Write(f.text[at:t.SrcRange.End.Byte])
	return b.String()
}

// Conceal masks the secrets in a text: values of the state, and constants in the expressions that moves have changed.
func (d *Draft) Conceal(text string) string {
	if d.concealer == nil {
		longest := slices.SortedFunc(maps.Keys(d.constants), func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
		var pairs []string
		for _, constant := range longest {
			pairs = append(pairs, constant, d.constants[constant])
		}
		d.concealer = strings.NewReplacer(pairs...)
	}
	if text = d.concealer.Replace(text); d.in.Hide != nil {
		text = d.in.Hide(text)
	}
	return text
}

// Difference returns the difference of a changed file in the format of diff -u, with secrets masked.
func (d *Draft) Difference(f File) string {
	_, text, _ := strings.Cut(string(diff.Diff(f.Name, []byte(d.Conceal(string(f.Before))), f.Name, []byte(d.Conceal(string(f.After))))), "\n")
	return hunks().ReplaceAllStringFunc(text, func(head string) string {
		var from, old, to, next int
		if n, _ := fmt.Sscanf(head, "@@ -%d,%d +%d,%d @@", &from, &old, &to, &next); n < 4 {
			return head // the matched text is a line of the file, not the head of a hunk
		}
		return fmt.Sprintf("@@ -%d,%d +%d,%d @@", from+f.Line, old, to+f.Line, next)
	})
}

// hunks matches the lines that begin a hunk (a group of changed lines) of a difference.
var hunks = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^@@ .* @@$`) })
