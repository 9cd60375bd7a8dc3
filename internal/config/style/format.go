package style

import (
	"bytes"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/limits"
	"github.com/lethe-iac/lethe/internal/syntax"
	"github.com/zclconf/go-cty/cty"
)

// maxRounds is how often a text is formatted until it stays as it is. The first round almost always
// does everything, and the second one finds that out.
const maxRounds = 4

// Format lays a text in native syntax out in the canonical style. What cannot be parsed comes back
// as it is: that is reported, and the result false.
func Format(name string, src []byte, bag *diag.Bag) ([]byte, bool) {
	l := limits.Limits{}.Filled()
	for range maxRounds {
		body, ds, p := syntax.Parse(src, name, l)
		if p.Kind != syntax.None {
			bag.Add(config.Refused(p, name, src, l))
			return src, false
		}
		if !bag.HCL(ds) {
			return src, false
		}
		out := layout(src, body)
		if bytes.Equal(out, src) {
			break
		}
		src = out
	}
	return src, true
}

// layout is one round.
func layout(src []byte, body *hclsyntax.Body) []byte {
	e := &editor{src: src}
	e.body(body, nil)
	return hclwrite.Format(e.apply())
}

// editor collects edits of a text.
type editor struct {
	src   []byte
	edits []edit
}

// edit replaces the bytes from start to end.
type edit struct {
	start, end int
	text       []byte
}

func (e *editor) replace(start, end int, text []byte) {
	if !bytes.Equal(e.src[start:end], text) {
		e.edits = append(e.edits, edit{start, end, text})
	}
}

// apply makes the edits, which do not overlap.
func (e *editor) apply() []byte {
	if len(e.edits) == 0 {
		return e.src
	}
	slices.SortFunc(e.edits, func(a, b edit) int { return a.start - b.start })
	var out []byte
	at := 0
	for _, d := range e.edits {
		out = append(append(out, e.src[at:d.start]...), d.text...)
		at = d.end
	}
	return append(out, e.src[at:]...)
}

// body looks at a body, which the blocks of those types lead to.
func (e *editor) body(b *hclsyntax.Body, types []string) {
	for _, a := range b.Attributes {
		if len(types) == 1 && types[0] == "variable" && a.Name == "type" {
			e.typeOf(a)
		} else {
			e.unwrap(a)
		}
	}
	for _, block := range b.Blocks {
		e.labels(block)
		e.body(block.Body, append(types, block.Type))
	}
}

// labels quotes the labels of a block.
func (e *editor) labels(b *hclsyntax.Block) {
	n := len(b.Labels)
	if n == 0 {
		return
	}
	var text []byte
	for _, l := range b.Labels {
		text = append(text, ' ')
		text = append(text, hclwrite.TokensForValue(cty.StringVal(l)).Bytes()...)
	}
	e.replace(b.TypeRange.End.Byte, b.LabelRanges[n-1].End.Byte, text)
}

// unwrap takes an expression out of a string that is nothing but an interpolation of it, and of
// strings around that.
func (e *editor) unwrap(a *hclsyntax.Attribute) {
	w := e.wrapped(a.Expr)
	if w == nil {
		return
	}
	for next := e.wrapped(w.Wrapped); next != nil; next = e.wrapped(w.Wrapped) {
		w = next
	}
	whole := a.Expr.Range()
	inner := bytes.TrimSuffix(e.src[w.SrcRange.Start.Byte+len(`"${`):w.SrcRange.End.Byte-len(`}"`)], []byte("~"))
	inner = trimLines(bytes.TrimPrefix(inner, []byte("~")))
	if spansLines(inner, e.endsLine(whole.End.Byte)) {
		inner = slices.Concat([]byte("("), inner, []byte(")"))
	}
	e.replace(whole.Start.Byte, whole.End.Byte, inner)
}

// wrapped is an expression that is a quoted string with one interpolation, nil for any other.
func (e *editor) wrapped(x hclsyntax.Expression) *hclsyntax.TemplateWrapExpr {
	w, ok := x.(*hclsyntax.TemplateWrapExpr)
	if !ok || e.src[w.SrcRange.Start.Byte] != '"' {
		return nil
	}
	return w
}

// trimLines takes empty space off both ends, but for the line end that ends a comment.
func trimLines(text []byte) []byte {
	text = bytes.TrimLeft(text, " \t\r\n")
	toks, _ := hclsyntax.LexExpression(text, "", hcl.InitialPos)
	end := 0
	for _, t := range toks {
		if t.Type != hclsyntax.TokenNewline && t.Type != hclsyntax.TokenEOF {
			end = t.Range.End.Byte
		}
	}
	return text[:end]
}

// spansLines reports whether an expression goes over several lines in a way that takes
// parentheses. In Terraform and OpenTofu every line end does, but for those of comments, and in an
// expression that begins and ends with a parenthesis none does. Both are wrong for line ends
// outside of all brackets: these do, at the very end of a comment only if more follows on the line.
func spansLines(text []byte, last bool) bool {
	toks, _ := hclsyntax.LexExpression(text, "", hcl.InitialPos)
	between := bytes.HasPrefix(text, []byte("(")) && bytes.HasSuffix(text, []byte(")"))
	depth := 0
	for _, t := range toks {
		switch t.Type {
		case hclsyntax.TokenNewline:
			if depth == 0 || !between {
				return true
			}
		case hclsyntax.TokenOParen, hclsyntax.TokenOBrace, hclsyntax.TokenOBrack, hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl:
			depth++
		case hclsyntax.TokenCParen, hclsyntax.TokenCBrace, hclsyntax.TokenCBrack, hclsyntax.TokenTemplateSeqEnd:
			depth--
		case hclsyntax.TokenComment:
			atEnd := last && t.Range.End.Byte == len(text)
			if depth == 0 && !atEnd && bytes.HasSuffix(t.Bytes, []byte("\n")) {
				return true
			}
		}
	}
	return false
}

// endsLine reports whether nothing but a comment follows on the line.
func (e *editor) endsLine(at int) bool {
	rest := bytes.TrimLeft(e.src[at:], " \t\r")
	return len(rest) == 0 || rest[0] == '\n' || rest[0] == '#' || bytes.HasPrefix(rest, []byte("//"))
}

// oldTypes are the ways to write types that have a better one.
var oldTypes = map[string]string{
	`"string"`: "string",
	`"list"`:   "list(string)",
	`"map"`:    "map(string)",
	"list":     "list(any)",
	"set":      "set(any)",
	"map":      "map(any)",
}

// typeOf writes the type of a variable in the new way.
func (e *editor) typeOf(a *hclsyntax.Attribute) {
	r := a.Expr.Range()
	if better, ok := oldTypes[string(e.src[r.Start.Byte:r.End.Byte])]; ok {
		e.replace(r.Start.Byte, r.End.Byte, []byte(better))
	}
}
