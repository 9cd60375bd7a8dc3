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

// Templates are evaluated with the same functions as everything else, template functions included: these
// know how deep they are and draw on one budget (syntax.Budget), so that templates that call each other
// come to an end.
var templates = []*builtin{
	{
		name: "templatefile", doc: "Reads a file and renders its content as a template.",
		params: []param{
			{name: "path", typ: cty.String, doc: "The file, text in UTF-8."},
			{name: "vars", typ: cty.DynamicPseudoType, doc: "An object or map of what the template can refer to.", mode: marked | quick},
		},
		returns: cty.DynamicPseudoType, observed: true, run: templateFile,
	},
	{
		name: "templatestring", doc: "Renders a string that comes from elsewhere as a template.",
		params: []param{
			{name: "template", typ: customdecode.ExpressionClosureType, doc: "A reference to the string: not the template itself.", shown: cty.String},
			{name: "vars", typ: cty.DynamicPseudoType, doc: "An object or map of what the template can refer to.", mode: marked | quick},
		},
		returns: cty.String, world: true, run: templateString,
	},
}

// errTooDeep passes through all levels as it is, instead of being wrapped a thousand times.
type errTooDeep struct{ limit int }

func (e errTooDeep) Error() string {
	return fmt.Sprintf("templates call each other too deeply; the limit is %d templates, which TF_TEMPLATE_RECURSION_DEPTH changes", e.limit)
}

func templateFile(c *call) (cty.Value, error) {
	path := c.args[0].AsString()
	vars, err := c.templateVars()
	if err != nil {
		return cty.NilVal, err
	}
	src, err := c.text()
	if err != nil {
		return cty.NilVal, err
	}
	r, err := c.inner()
	if err != nil {
		return cty.NilVal, err
	}
	t, diags := r.parse(c.show(0, path), src, c.limits)
	if diags.HasErrors() {
		return cty.NilVal, c.templateError(diags)
	}
	return c.evaluate(r, t, vars)
}

func templateString(c *call) (cty.Value, error) {
	e := customdecode.ExpressionClosureFromVal(c.given[0])
	if why := notReference(e.Expression); why != "" {
		return cty.NilVal, bad(0, "invalid template expression: %s", why)
	}
	v, diags := e.Value()
	if diags.HasErrors() {
		return cty.NilVal, bad(0, "invalid template expression: %w", c.templateError(diags))
	}
	for _, tag := range []mark.Tag{mark.Sensitive, mark.Ephemeral} {
		if mark.Is(v, tag) {
			c.secretReason = tag.String()
		}
	}
	v = c.taken.bare(v)
	if v.IsNull() || v.Type() != cty.String && v.Type() != cty.DynamicPseudoType {
		return cty.NilVal, bad(0, "invalid template value: a string is required")
	}
	vars, err := c.templateVars()
	if err != nil || !v.IsKnown() {
		return cty.UnknownVal(cty.String), err
	}
	return c.renderString(v, vars)
}

func (c *call) renderString(v cty.Value, vars map[string]cty.Value) (cty.Value, error) {
	r, err := c.inner()
	if err != nil {
		return cty.NilVal, err
	}
	t, diags := r.parse("<templatestring argument>", []byte(v.AsString()), c.limits)
	if diags.HasErrors() {
		return cty.NilVal, bad(0, "invalid template: %w", c.templateError(diags))
	}
	result, err := c.evaluate(r, t, vars)
	if err != nil {
		return cty.NilVal, err
	}
	if result, err = convert.To(result, cty.String); err != nil {
		return cty.NilVal, fmt.Errorf("invalid template result: %w", err)
	}
	return result, nil
}

// notReference says why an expression is no reference to a string, "" if it is one. What is neither HCL's
// own nor a call is one: references become that when they are compiled.
func notReference(e hcl.Expression) string {
	const only = "templatestring is only for rendering templates retrieved dynamically from elsewhere"
	const composed = "must be a direct reference to a single string from elsewhere, containing valid template syntax"
	switch e := hcl.UnwrapExpression(e).(type) {
	case *hclsyntax.ParenthesesExpr, *hclsyntax.ConditionalExpr, *hclsyntax.BinaryOpExpr, *hclsyntax.UnaryOpExpr, *hclsyntax.TupleConsExpr,
		*hclsyntax.ObjectConsExpr, *hclsyntax.ForExpr, *hclsyntax.SplatExpr, *hclsyntax.TemplateJoinExpr:
		return composed
	case *hclsyntax.TemplateWrapExpr:
		return only + "; to render the template that the inner expression refers to, write that expression without quotes and ${ } around it"
	case *hclsyntax.TemplateExpr, *hclsyntax.LiteralValueExpr:
		return only + ", not for one that is written here; a string with ${ } in it is a template already"
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

// inner is the state for the template that is called now.
func (c *call) inner() (*render, error) {
	outer := c.render
	if outer == nil {
		return &render{depth: 1, budget: syntax.NewBudget(c.limits, innerError), parsed: map[string]*template{}}, nil
	}
	if outer.depth >= c.limits.Templates {
		return nil, errTooDeep{c.limits.Templates}
	}
	outer.budget.Step(callCost)
	return &render{depth: outer.depth + 1, budget: outer.budget, parsed: outer.parsed}, nil
}

// parse parses a template once, however often it is called from inside another.
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
	r.budget.Bind(expr)
	_ = hclsyntax.VisitAll(expr, func(n hclsyntax.Node) hcl.Diagnostics {
		switch n := n.(type) {
		case *hclsyntax.TemplateExpr:
			notePieces(n.Parts)
		case *hclsyntax.FunctionCallExpr:
			notePieces(n.Args)
		}
		return nil
	})
	r.parsed[key] = t
	return t, nil
}

// notePieces makes expressions note that something is made of their values.
func notePieces(list []hclsyntax.Expression) {
	for i, e := range list {
		if _, literal := e.(*hclsyntax.LiteralValueExpr); !literal {
			list[i] = &piece{e}
		}
	}
}

// piece is an argument of a function, or a value in a template.
type piece struct{ hclsyntax.Expression }

func (e *piece) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	v, diags := e.Expression.Value(ctx)
	return mark.Piece(v), diags
}

// UnwrapExpression lets functions that want a reference see one.
func (e *piece) UnwrapExpression() hcl.Expression { return e.Expression }

// callCost is how many turns of a loop a template costs that is called from another.
const callCost = 100

func tooComplicated(p syntax.Problem, l limits.Limits) string {
	switch p.Kind {
	case syntax.Deep, syntax.Long:
		return fmt.Sprintf("Expressions and control sequences in a template can be nested %d levels deep, of which an operator counts a tenth.", l.Nesting)
	case syntax.Tokens:
		return fmt.Sprintf("Expressions and control sequences in a template can have %d tokens in all.", l.Tokens)
	}
	return "A name, a number, a comment or the text itself is too long to be read in a reasonable time."
}

// templateVars are the second argument.
func (c *call) templateVars() (map[string]cty.Value, error) {
	v := c.args[1]
	if ty := v.Type(); !ty.IsObjectType() && !ty.IsMapType() {
		return nil, bad(1, "invalid vars value: must be a map")
	}
	v = c.taken.bare(v)
	vars := make(map[string]cty.Value, v.LengthInt())
	for it := v.ElementIterator(); it.Next(); {
		k, e := it.Element()
		name := k.AsString()
		if !hclsyntax.ValidIdentifier(name) {
			return nil, bad(1, "invalid template variable name %s: must start with a letter, followed by zero or more letters, digits, and underscores",
				c.quote(1, name))
		}
		vars[name] = e
	}
	return vars, nil
}

// evaluate renders a template.
func (c *call) evaluate(r *render, t *template, vars map[string]cty.Value) (cty.Value, error) {
	for _, ref := range t.refs {
		if _, ok := vars[ref.RootName()]; !ok && c.secretReason != "" {
			return cty.NilVal, bad(1, "vars map does not contain all keys that the template refers to, which is %s", c.secretReason)
		} else if !ok {
			return cty.NilVal, bad(1, "vars map does not contain key %q, referenced at %s", ref.RootName(), ref.SourceRange())
		}
	}
	base := &hcl.EvalContext{Functions: c.table}
	ctx := base.NewChild()
	ctx.Variables = vars
	ctx.Functions = c.templateFunctions(r)
	v, diags := t.expr.Value(ctx)
	if diags.HasErrors() {
		return cty.NilVal, c.templateError(diags)
	}
	if bare, _ := mark.Bare(v); bare.IsNull() {
		return cty.NilVal, fmt.Errorf("%s: Template result is null; a template must render to something other than null", t.expr.Range())
	}
	return v, nil
}

// templateFunctions are the ones that differ from those of the table.
func (c *call) templateFunctions(r *render) map[string]function.Function {
	s := *c.scope
	s.render = r
	fs := make(map[string]function.Function, 2*len(c.own))
	for _, b := range c.own {
		of := shapeOf(b)
		f := of.function(&s, &of.spec)
		fs[b.name], fs["core::"+b.name] = f, f
	}
	return fs
}

// templateError is what went wrong in a template, in one line for each mistake.
func (c *call) templateError(diags hcl.Diagnostics) error {
	var lines []string
	for _, d := range diags {
		if d.Severity != hcl.DiagError {
			continue
		}
		if inner := innerError(d); inner != nil {
			return inner
		}
		if c.secretReason != "" {
			return fmt.Errorf("what is wrong is not shown, because the template is %s", c.secretReason)
		}
		line := d.Summary + "; " + c.suggested(d)
		if d.Subject != nil {
			line = d.Subject.String() + ": " + line
		}
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return errors.New(strings.Join(lines, "\n"))
}

// innerError finds the errors that pass through all levels.
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

// suggested is the detail of a diagnostic. HCL looks for a name that is like an unknown one among the
// functions of the innermost scope only.
func (c *call) suggested(d *hcl.Diagnostic) string {
	extra, ok := hcl.DiagnosticExtra[hclsyntax.FunctionCallUnknownDiagExtra](d)
	if !ok || extra.CalledFunctionNamespace() != "" {
		return d.Detail
	}
	text := fmt.Sprintf("There is no function named %q.", extra.CalledFunctionName())
	return text + meant(extra.CalledFunctionName(), slices.Sorted(maps.Keys(c.table)))
}
