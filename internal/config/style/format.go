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

// maxRounds is the maximum number of times that a text is formatted until it does not change. Usually the first
// formatting makes all changes, and the second shows that the text no longer changes.
const maxRounds = 4

// Format formats a text in native syntax in the canonical style. If the text cannot be parsed, Format adds the errors
// to bag, and returns the text unchanged and false.
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

// layout returns the text after one formatting.
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

// apply returns the text after all edits, which must not overlap.
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

// body collects the edits of a body. types holds the types of the blocks around it, from the outermost to the
// innermost.
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

// labels puts quotes around the labels of a block that have none.
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

// unwrap replaces a string that consists of one interpolation by the expression in it. If this expression is such a
// string, too, unwrap removes all levels.
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

// wrapped returns x as a template if it is a quoted string that consists of one interpolation. For any other expression
// it returns nil.
func (e *editor) wrapped(x hclsyntax.Expression) *hclsyntax.TemplateWrapExpr {
	w, ok := x.(*hclsyntax.TemplateWrapExpr)
	if !ok || e.src[w.SrcRange.Start.Byte] != '"' {
		return nil
	}
	return w
}

// trimLines removes white space from both ends, except for the line end of a comment at the end.
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

// spansLines reports whether an expression spans several lines so that it needs parentheses. Terraform and OpenTofu add
// parentheses for every line end except in comments, but never to an expression that begins and ends with a
// parenthesis. Both rules are wrong for line ends outside of all brackets, which need parentheses. If the text ends
// with a comment, the line end of this comment needs parentheses only if last is false: then more text follows on the
// line.
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

// endsLine reports whether the rest of the line after an offset is empty or a comment.
func (e *editor) endsLine(at int) bool {
	rest := bytes.TrimLeft(e.src[at:], " \t\r")
	return len(rest) == 0 || rest[0] == '\n' || rest[0] == '#' || bytes.HasPrefix(rest, []byte("//"))
}

// oldTypes maps old forms of types to their present form.
var oldTypes = map[string]string{
	`"string"`: "string",
	`"list"`:   "list(string)",
	`"map"`:    "map(string)",
	"list":     "list(any)",
	"set":      "set(any)",
	"map":      "map(any)",
}

// typeOf replaces an old form of the type of a variable by the present form.
func (e *editor) typeOf(a *hclsyntax.Attribute) {
	r := a.Expr.Range()
	if better, ok := oldTypes[string(e.src[r.Start.Byte:r.End.Byte])]; ok {
		e.replace(r.Start.Byte, r.End.Byte, []byte(better))
	}
}
