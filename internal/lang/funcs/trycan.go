package funcs

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/customdecode"
	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// can and try take expressions instead of values, and evaluate them once. (HCL's own versions do it
// twice, so that n of them inside one another take two to the n.)
//
// Neither takes the ephemeral mark off. Whether an expression works says something about the values
// in it: `can(regex("^a", var.password))` is one bit of the password. So the answer has the ephemeral
// marks of what was looked at: of the result, if there is one, and if not, of the references in the
// expression that failed (see ephemeralMarksOf). The sensitive mark is not kept that way, as in Terraform and OpenTofu.
var tryCan = []*builtin{
	{
		name: "can", doc: "Tells whether an expression can be evaluated without an error.",
		params:  []param{{name: "expression", typ: customdecode.ExpressionClosureType, doc: "The expression."}},
		returns: cty.Bool, whole: true, run: can,
	},
	{
		name: "try", doc: "Gives the result of the first of several expressions that can be evaluated without an error.",
		rest:    &param{name: "expressions", typ: customdecode.ExpressionClosureType, doc: "The expressions, in order."},
		returns: cty.DynamicPseudoType, whole: true, run: try,
	},
}

func can(c *call) (cty.Value, error) {
	e := customdecode.ExpressionClosureFromVal(c.args[0])
	v, diags := e.Value()
	if diags.HasErrors() {
		return c.ephemeralMarksOf(cty.False, e, v)
	}
	s, all := c.look(v)
	switch {
	case !all:
		return cty.NilVal, c.problem(s)
	case s.Unknown: // it may still fail when it is known
		return deepEphemeral(cty.UnknownVal(cty.Bool), v, s), nil
	}
	return deepEphemeral(cty.True, v, s), nil
}

func try(c *call) (cty.Value, error) {
	if len(c.args) == 0 {
		return cty.NilVal, errors.New("at least one argument is required")
	}
	var failed []attempt
	for _, arg := range c.args {
		e := customdecode.ExpressionClosureFromVal(arg)
		v, diags := e.Value()
		if diags.HasErrors() {
			failed = append(failed, attempt{e, v, diags})
			continue
		}
		r := v
		if s, _ := c.look(v); s.Unknown {
			// It may fail when it is known, and something else come out.
			r = mark.Same(cty.DynamicVal, v)
		}
		for _, f := range failed {
			var err error
			if r, err = c.ephemeralMarksOf(r, f.expr, f.got); err != nil {
				return cty.NilVal, err
			}
		}
		return r, nil
	}
	return cty.NilVal, noneWorked(failed)
}

// attempt is an expression that failed.
type attempt struct {
	expr  *customdecode.ExpressionClosure
	got   cty.Value
	diags hcl.Diagnostics
}

func noneWorked(failed []attempt) error {
	var b strings.Builder
	b.WriteString("no expression succeeded:\n")
	for _, f := range failed {
		for _, d := range f.diags.Errs() {
			d := d.(*hcl.Diagnostic)
			at := ""
			if d.Subject != nil {
				at = fmt.Sprintf(" (at %s)", d.Subject)
			}
			fmt.Fprintf(&b, "- %s%s\n  %s\n", d.Summary, at, short(d.Detail, 1000))
		}
	}
	b.WriteString("\nAt least one expression must produce a successful result")
	return errors.New(b.String())
}

// ephemeralMarksOf gives r the ephemeral marks of what a failed expression looked at. got is the value that came with the
// failure: compiled expressions put the marks of what they looked at onto that. Of HCL's own expressions, as templates
// have them, the references are followed again. One that fails looked at what it reached before: of `local.list[9]` at
// the list, but not at its elements, since the length of a list is not ephemeral because an element is.
//
// What is too large to be looked through for marks is an error: it cannot be said to have none.
func (c *call) ephemeralMarksOf(r cty.Value, e *customdecode.ExpressionClosure, got cty.Value) (cty.Value, error) {
	r = stillEphemeral(r, got)
	for _, t := range e.Expression.Variables() {
		for i := len(t); i > 0; i-- {
			v, diags := t[:i].TraverseAbs(e.EvalContext)
			if diags.HasErrors() {
				continue
			}
			s, all := c.look(v)
			switch {
			case i < len(t):
				r = stillEphemeral(r, v)
			case !all:
				return cty.NilVal, c.problem(s)
			default:
				r = deepEphemeral(r, v, s)
			}
		}
	}
	return r, nil
}

// deepEphemeral gives r the ephemeral marks of v and of everything in it; s is what was seen of v.
func deepEphemeral(r, v cty.Value, s ctyvalue.Contents) cty.Value {
	if !s.Marked {
		return r
	}
	_, put := mark.BareDeep(v)
	return stillEphemeral(r, put(cty.True))
}
