package expr

import (
	"fmt"
	"math"
	"strconv"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/convert"
	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// TemplateJoin is a %{ for } loop in a template.
type TemplateJoin struct{ *hclsyntax.TemplateJoinExpr }

func (e *TemplateJoin) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	tuple, diags := e.Tuple.Value(ctx)
	if tuple.IsNull() || !tuple.IsKnown() || tuple.Type() == cty.DynamicPseudoType {
		return Raise(cty.UnknownVal(cty.String), tuple), diags
	}
	stub := &hclsyntax.TemplateJoinExpr{Tuple: &hclsyntax.LiteralValueExpr{Val: tuple, SrcRange: e.Tuple.Range()}}
	v, more := stub.Value(ctx)
	v = mark.Compact(v)
	if !v.IsKnown() || more.HasErrors() {
		v = Raise(v, tuple)
	}
	return v, append(diags, more...)
}

// Template is a template with more than one part. Unlike the template of the HCL library, it limits the length of its
// result: if each of several templates contains the previous one twice, the length doubles with every template.
type Template struct{ *hclsyntax.TemplateExpr }

func (e *Template) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	w := &writer{e: e, ctx: ctx, known: true, limit: math.MaxInt}
	if s := envOf(ctx); s != nil && s.Meter != nil {
		w.limit = s.Meter.TextLimit()
	}
	for _, part := range e.Parts {
		w.part(part)
	}
	return w.value()
}

// writer builds the result of a template.
type writer struct {
	e     *Template
	ctx   *hcl.EvalContext
	buf   []byte
	known bool        // all parts that were evaluated so far are known
	long  bool        // the result exceeds limit, and an error was reported
	limit int         // the maximum length of the result in bytes
	marks []cty.Value // the parts with marks, which the result gets
	diags hcl.Diagnostics
}

func (w *writer) part(part hclsyntax.Expression) {
	v, diags := part.Value(w.ctx)
	w.diags = append(w.diags, diags...)
	if v.IsMarked() {
		v = mark.Piece(v)
		w.marks = append(w.marks, v)
		v, _ = mark.Unmark(v)
	}
	if v.IsNull() {
		w.error(part, "The expression result is null, and a string template cannot include null. Use coalesce() to set a default.")
		return
	}
	if !v.IsKnown() {
		w.known = false
		return
	}
	switch {
	case !w.known && v.Type().IsPrimitiveType(): // the text after the first unknown part is dropped
	case v.Type() == cty.String:
		w.write(part, v.AsString())
	case v.Type() == cty.Number:
		w.write(part, numberText(v))
	default:
		str, err := convert.To(v, cty.String)
		if err != nil {
			w.error(part, fmt.Sprintf("Cannot include the given value in a string template: %s.", err))
			return
		}
		w.write(part, str.AsString())
	}
}

func (w *writer) write(part hclsyntax.Expression, s string) {
	switch {
	case !w.known || w.long:
	case len(w.buf)+len(s) > w.limit:
		w.long = true
		w.diags = append(w.diags, errorIn(part, w.ctx, part.Range(), w.e.SrcRange, "Template result too long", fmt.Sprintf("This template produces more than %d bytes, the limit for one string. Shorten it, or raise the limit with LETHE_LIMITS=bytes=NUMBER.", w.limit)))
	default:
		w.buf = append(w.buf, s...)
	}
}

func (w *writer) error(part hclsyntax.Expression, detail string) {
	w.diags = append(w.diags, errorIn(part, w.ctx, part.Range(), w.e.SrcRange, "Invalid template interpolation value", detail))
}

// prefixLength is the number of bytes before the first unknown part that an unknown result keeps as its known prefix.
// The HCL library keeps as many.
const prefixLength = 128

func (w *writer) value() (cty.Value, hcl.Diagnostics) {
	var v cty.Value
	switch {
	case w.known && !w.long:
		v = cty.StringVal(string(w.buf))
	case len(w.buf) > 0 && !w.diags.HasErrors():
		v = cty.UnknownVal(cty.String).Refine().NotNull().StringPrefix(string(w.buf[:min(len(w.buf), prefixLength)])).NewValue()
	default:
		v = cty.UnknownVal(cty.String).RefineNotNull()
	}
	for _, m := range w.marks {
		v = mark.Compact(mark.Same(v, m))
	}
	return v, w.diags
}

// numberText formats a number as the HCL library does. A number with too many digits gets an exponent. Small integers
// are formatted faster.
func numberText(v cty.Value) string {
	f := ctyvalue.Number(v)
	if n, acc := f.Int64(); acc == 0 && n > -1e15 && n < 1e15 {
		return strconv.FormatInt(n, 10)
	}
	str, err := convert.To(v, cty.String)
	if err != nil {
		return f.Text('g', -1)
	}
	return str.AsString()
}
