package funcs

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/customdecode"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/convert"
	"github.com/lethe-iac/lethe/internal/limits"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/syntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// templates has the functions that render templates. A template can call all functions, including these two. The depth
// of templates inside templates is limited, and nested templates share one budget (syntax.Budget), so that templates
// that call each other end.
var templates = []*builtin{
	{
		name: "templatefile", doc: "Reads a file and renders its content as a template.",
		params: []param{
			{name: "path", typ: cty.String, doc: "The file, text in UTF-8."},
			{name: "vars", typ: cty.DynamicPseudoType, doc: "An object or map with the variables of the template.", mode: marked | quick},
		},
		returns: cty.DynamicPseudoType, observed: true, run: templateFile,
	},
	{
		name: "templatestring", doc: "Renders a string as a template.",
		params: []param{
			{name: "template", typ: customdecode.ExpressionClosureType, doc: "A reference to the string. A literal template is not allowed.", shown: cty.String},
			{name: "vars", typ: cty.DynamicPseudoType, doc: "An object or map with the variables of the template.", mode: marked | quick},
		},
		returns: cty.String, world: true, run: templateString,
	},
}

// errTooDeep is the error for too many templates inside templates. The outer templates return it unchanged, because
// otherwise it would be wrapped a thousand times.
type errTooDeep struct{ limit int }

func (e errTooDeep) Error() string {
	return fmt.Sprintf("templates call each other too deeply; the limit is %d templates; TF_TEMPLATE_RECURSION_DEPTH changes it", e.limit)
}

// rendering is one call of templatefile or templatestring.
type rendering struct {
	c      *call
	secret string // the mark of the template's text ("sensitive" or "ephemeral"), so that messages must not show it; "" if they may
}

func templateFile(c *call) (cty.Value, error) {
	x := &rendering{c: c}
	path := c.args[0].AsString()
	vars, err := x.vars()
	if err != nil {
		return cty.NilVal, err
	}
	src, err := fileArgument{c}.text()
	if err != nil {
		return cty.NilVal, err
	}
	r, err := x.inner()
	if err != nil {
		return cty.NilVal, err
	}
	t, diags := r.parse(c.show(0, path), []byte(src), c.limits)
	if diags.HasErrors() {
		return cty.NilVal, x.failure(diags)
	}
	return x.evaluate(r, t, vars)
}

func templateString(c *call) (cty.Value, error) {
	x := &rendering{c: c}
	e := customdecode.ExpressionClosureFromVal(c.given[0])
	if why := notReference(e.Expression); why != "" {
		return cty.NilVal, bad(0, "invalid template expression: %s", why)
	}
	v, diags := e.Value()
	if diags.HasErrors() {
		return cty.NilVal, bad(0, "invalid template expression: %w", x.failure(diags))
	}
	for _, tag := range []mark.Tag{mark.Sensitive, mark.Ephemeral} {
		if mark.Is(v, tag) {
			x.secret = tag.String()
		}
	}
	v = c.marks.unmark(v)
	if v.IsNull() || v.Type() != cty.String && v.Type() != cty.DynamicPseudoType {
		return cty.NilVal, bad(0, "invalid template value: a string is required")
	}
	vars, err := x.vars()
	if err != nil || !v.IsKnown() {
		return cty.UnknownVal(cty.String), err
	}
	return x.renderString(v, vars)
}

func (x *rendering) renderString(v cty.Value, vars map[string]cty.Value) (cty.Value, error) {
	r, err := x.inner()
	if err != nil {
		return cty.NilVal, err
	}
	t, diags := r.parse("<templatestring argument>", []byte(v.AsString()), x.c.limits)
	if diags.HasErrors() {
		return cty.NilVal, bad(0, "invalid template: %w", x.failure(diags))
	}
	result, err := x.evaluate(r, t, vars)
	if err != nil {
		return cty.NilVal, err
	}
	if result, err = convert.To(result, cty.String); err != nil {
		return cty.NilVal, fmt.Errorf("invalid template result: %w", err)
	}
	return result, nil
}

// notReference returns the reason why an expression is not a reference to a string, or "" if it is one. A compiled
// reference is a node of package expr. So every node that is neither a node of the HCL library nor a call counts as a
// reference.
func notReference(e hcl.Expression) string {
	const only = "templatestring is only for rendering templates retrieved dynamically from elsewhere"
	const composed = "must be a direct reference to a single string from elsewhere, containing valid template syntax"
	switch e := hcl.UnwrapExpression(e).(type) {
	case *hclsyntax.ParenthesesExpr, *hclsyntax.ConditionalExpr, *hclsyntax.BinaryOpExpr, *hclsyntax.UnaryOpExpr, *hclsyntax.TupleConsExpr,
		*hclsyntax.ObjectConsExpr, *hclsyntax.ForExpr, *hclsyntax.SplatExpr, *hclsyntax.TemplateJoinExpr:
		return composed
	case *hclsyntax.TemplateWrapExpr:
		return only + "; to render the referenced template, write the reference without quotes and ${ }"
	case *hclsyntax.TemplateExpr, *hclsyntax.LiteralValueExpr:
		return only + ", not for literal templates; a string with ${ } is already a template"
	case *hclsyntax.IndexExpr:
		return notReference(e.Collection)
	case *hclsyntax.RelativeTraversalExpr:
		return notReference(e.Source)
	case *hclsyntax.ScopeTraversalExpr:
		return ""
	}
	if _, diags := hcl.ExprCall(e); !diags.HasErrors() {
		return composed
	}
	return ""
}

// inner returns the state for rendering a template, perhaps inside another template. All nested templates share one
// budget. If the depth of templates exceeds the limit, inner returns an error.
func (x *rendering) inner() (*render, error) {
	outer := x.c.render
	if outer == nil {
		return &render{depth: 1, budget: syntax.NewBudget(x.c.limits, innerError), parsed: map[string]*template{}}, nil
	}
	if outer.depth >= x.c.limits.Templates {
		return nil, errTooDeep{x.c.limits.Templates}
	}
	outer.budget.Step(callCost)
	return &render{depth: outer.depth + 1, budget: outer.budget, parsed: outer.parsed}, nil
}

// parse parses a template, and caches the result, because other templates may call the template often. If the template
// is too complicated or invalid, it returns nil and the errors.
func (r *render) parse(name string, src []byte, l limits.Limits) (*template, hcl.Diagnostics) {
	key := name + "\x00" + string(src)
	if t := r.parsed[key]; t != nil {
		return t, nil
	}
	start := hcl.Pos{Line: 1, Column: 1}
	if p := syntax.CheckTemplate(src, l); p.Kind != syntax.None {
		return nil, hcl.Diagnostics{{
			Severity: hcl.DiagError,
			Summary:  "Template too complicated",
			Detail:   tooComplicated(p, l),
			Subject:  &hcl.Range{Filename: name, Start: start, End: start},
		}}
	}
	expr, diags := hclsyntax.ParseTemplate(src, name, start)
	if diags.HasErrors() {
		return nil, diags
	}
	t := &template{expr: expr, refs: expr.Variables()}
	var pieces [][]hclsyntax.Expression // found before Bind, because HCL's visitor does not visit the inside of its wrappers
	_ = hclsyntax.VisitAll(expr, func(n hclsyntax.Node) hcl.Diagnostics {
		switch n := n.(type) {
		case *hclsyntax.TemplateExpr:
			pieces = append(pieces, n.Parts)
		case *hclsyntax.FunctionCallExpr:
			pieces = append(pieces, n.Args)
		}
		return nil
	})
	r.budget.Bind(expr)
	for _, list := range pieces {
		notePieces(list)
	}
	r.parsed[key] = t
	return t, nil
}

// notePieces wraps the expressions in list in a piece, except literals.
func notePieces(list []hclsyntax.Expression) {
	for i, e := range list {
		if _, literal := e.(*hclsyntax.LiteralValueExpr); !literal {
			list[i] = &piece{e}
		}
	}
}

// piece wraps an argument of a function, or a value in a template. It records the text of its value as a piece (a
// source) of the result, so that a secret piece is hidden in output, too (see mark.Piece).
type piece struct{ hclsyntax.Expression }

func (e *piece) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	v, diags := e.Expression.Value(ctx)
	return mark.Piece(v), diags
}

// UnwrapExpression returns the wrapped expression, for functions that need a reference as an argument.
func (e *piece) UnwrapExpression() hcl.Expression { return e.Expression }

// callCost is the number of steps that a call of a nested template takes from the budget.
const callCost = 100

func tooComplicated(p syntax.Problem, l limits.Limits) string {
	switch p.Kind {
	case syntax.Deep, syntax.Long:
		return fmt.Sprintf("Expressions and control sequences in a template can be nested %d levels deep. An operator counts a tenth.", l.Nesting)
	case syntax.Tokens:
		return fmt.Sprintf("Expressions and control sequences in a template can have %d tokens in all.", l.Tokens)
	}
	return "A name, a number, a comment or the text is too long."
}

// vars returns the second argument, which has the variables of the template. It returns an error if that is not a map
// or an object with valid names.
func (x *rendering) vars() (map[string]cty.Value, error) {
	v := x.c.args[1]
	if ty := v.Type(); !ty.IsObjectType() && !ty.IsMapType() {
		return nil, bad(1, "invalid vars value: must be a map")
	}
	v = x.c.marks.unmark(v)
	vars := make(map[string]cty.Value, v.LengthInt())
	for it := v.ElementIterator(); it.Next(); {
		k, e := it.Element()
		name := k.AsString()
		if !hclsyntax.ValidIdentifier(name) {
			return nil, bad(1, "invalid template variable name %s: must start with a letter, followed by zero or more letters, digits, and underscores",
				x.c.quote(1, name))
		}
		vars[name] = e
	}
	return vars, nil
}

// evaluate renders a template with the given variables. It returns an error if the template refers to another variable,
// if the evaluation fails, or if the result is null. Errors do not quote a secret template.
func (x *rendering) evaluate(r *render, t *template, vars map[string]cty.Value) (cty.Value, error) {
	for _, ref := range t.refs {
		if _, ok := vars[ref.RootName()]; !ok && x.secret != "" {
			return cty.NilVal, bad(1, "the template, which is %s, refers to keys that the vars map does not contain", x.secret)
		} else if !ok {
			return cty.NilVal, bad(1, "vars map does not contain key %q, referenced at %s", ref.RootName(), ref.SourceRange())
		}
	}
	base := &hcl.EvalContext{Functions: x.c.table}
	ctx := base.NewChild()
	ctx.Variables = vars
	ctx.Functions = x.functions(r)
	v, diags := t.expr.Value(ctx)
	if diags.HasErrors() {
		return cty.NilVal, x.failure(diags)
	}
	if unmarked, _ := mark.Unmark(v); unmarked.IsNull() {
		return cty.NilVal, fmt.Errorf("%s: Template result is null; a template must render to something other than null", t.expr.Range())
	}
	return v, nil
}

// functions returns the functions that differ inside a template from those outside: templatefile and templatestring.
func (x *rendering) functions(r *render) map[string]function.Function {
	s := *x.c.scope
	s.render = r
	fs := make(map[string]function.Function, 2*len(x.c.own))
	for _, b := range x.c.own {
		of := shapeOf(b)
		f := of.function(&s, &of.spec)
		fs[b.name], fs["core::"+b.name] = f, f
	}
	return fs
}

// failure returns the mistakes in a template as one error, with a line for each mistake. For a secret template, the
// error does not show the mistakes. If outer templates must return the error of one of the mistakes unchanged
// (innerError), failure returns only that error.
func (x *rendering) failure(diags hcl.Diagnostics) error {
	var lines []string
	for _, d := range diags {
		if d.Severity != hcl.DiagError {
			continue
		}
		if inner := innerError(d); inner != nil {
			return inner
		}
		if x.secret != "" {
			return fmt.Errorf("the mistake is not shown, because the template is %s", x.secret)
		}
		line := d.Summary + "; " + x.suggested(d)
		if d.Subject != nil {
			line = d.Subject.String() + ": " + line
		}
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return errors.New(strings.Join(lines, "\n"))
}

// innerError returns the error of a diagnostic if outer templates must return that error unchanged, and otherwise nil.
func innerError(d *hcl.Diagnostic) error {
	extra, ok := hcl.DiagnosticExtra[hclsyntax.FunctionCallDiagExtra](d)
	if !ok {
		return nil
	}
	var deep errTooDeep
	if err := extra.FunctionCallError(); errors.As(err, &deep) || errors.Is(err, syntax.ErrSpent) {
		return err
	}
	return nil
}

// suggested returns the detail of a diagnostic. For an unknown function it suggests a similar name, because HCL
// searches only the functions that are replaced inside the template.
func (x *rendering) suggested(d *hcl.Diagnostic) string {
	extra, ok := hcl.DiagnosticExtra[hclsyntax.FunctionCallUnknownDiagExtra](d)
	if !ok || extra.CalledFunctionNamespace() != "" {
		return d.Detail
	}
	text := fmt.Sprintf("There is no function named %q.", extra.CalledFunctionName())
	return text + meant(extra.CalledFunctionName(), slices.Sorted(maps.Keys(x.c.table)))
}
