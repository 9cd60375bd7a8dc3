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

// tryCan has the functions can and try. They take expressions instead of values, and evaluate each expression once. The
// same functions of the HCL library evaluate each expression twice, so that n nested calls take 2^n evaluations.
//
// Neither function removes the ephemeral mark. Whether an expression succeeds reveals something about its values:
// `can(regex("^a", var.password))` is one bit of the password. So the result has the ephemeral marks of all values that
// the evaluation read. If the expression succeeds, these are the marks of its result. If it fails, these are the marks
// of its references (see ephemeralMarksOf). The sensitive mark is not kept, as in Terraform and OpenTofu.
var tryCan = []*builtin{
	{
		name: "can", doc: "Reports whether an expression can be evaluated without an error.",
		params:  []param{{name: "expression", typ: customdecode.ExpressionClosureType, doc: "The expression."}},
		returns: cty.Bool, whole: true, run: can,
	},
	{
		name: "try", doc: "Returns the result of the first expression that can be evaluated without an error.",
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
	case s.Unknown: // the expression may still fail when the value is known, so the result is unknown
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
			// The expression may fail when the value is known, and then the result is another value. So the type is not known
			// either.
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

// attempt is an expression of try that failed.
type attempt struct {
	expr  *customdecode.ExpressionClosure
	got   cty.Value // the value that the evaluation returned with the failure, which may have marks
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

// ephemeralMarksOf takes the ephemeral marks of all values that a failed expression read, and adds them to the result
// r. The parameter got is the value that was returned with the failure: a compiled expression puts the marks of the
// values that it read onto this value, or onto a part of it, as in `can([tonumber(var.secret)])`. For HCL's own
// expressions, in templates, ephemeralMarksOf follows the references again. A failed reference has read the values
// before the failure: `local.list[9]` has read the list but not its elements. An ephemeral element does not make the
// length of its list ephemeral.
//
// If a value is too large to be searched for marks, ephemeralMarksOf returns an error.
func (c *call) ephemeralMarksOf(r cty.Value, e *customdecode.ExpressionClosure, got cty.Value) (cty.Value, error) {
	s, all := c.look(got)
	if !all {
		return cty.NilVal, c.problem(s)
	}
	r = deepEphemeral(r, got, s)
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

// deepEphemeral returns r with the ephemeral marks of v, at any depth. s has the counted contents of v.
func deepEphemeral(r, v cty.Value, s ctyvalue.Contents) cty.Value {
	if !s.Marked {
		return r
	}
	_, put := mark.UnmarkDeep(v)
	return stillEphemeral(r, put(cty.True))
}
