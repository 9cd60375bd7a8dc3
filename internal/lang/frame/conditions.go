package frame

import (
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/convert"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/expr"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/zclconf/go-cty/cty"
)

// Result is the result of one condition, such as a precondition.
type Result struct {
	Status  state.Status
	Message string // the message of a failed condition, if it may be shown
	Range   diag.Range
}

var failedTitles = map[program.When]string{
	program.Pre: "Resource precondition failed", program.Post: "Resource postcondition failed", program.Validation: "Invalid value for variable",
	program.OutputPre: "Module output value precondition failed", program.Assert: "Check block assertion failed",
	program.Tested: "Test assertion failed",
}

// Assertion is a condition that the program does not contain, such as an assertion of a test file.
type Assertion struct {
	*config.Condition
	Names  map[string]cty.Value    // the values of additional names, which the program does not declare
	Source func(diag.Range) string // returns the source text of a range
}

// Holds evaluates an assertion. If the assertion is false or unknown, or cannot be evaluated, Holds adds an error to
// the bag.
func (f *Frame) Holds(c Assertion, face Face, bag *diag.Bag) Result {
	names, may := c.Names, program.AllowedRefs{Names: Scope{Names: c.Names}.names()}
	compiled := &program.Condition{Condition: c.Condition}
	var ok, good bool
	compiled.Test, ok = f.n.Expression(c.Condition.Condition, may, "", bag)
	compiled.Message, good = f.n.Expression(c.Message, may, "", bag)
	if !ok || !good {
		return Result{Status: state.Errored, Range: c.Condition.Condition.Range()}
	}
	s := newScope(f, face, bag)
	defer s.release()
	defer s.know(names)()
	out := (&conditionCheck{s, compiled, program.Tested, c.Source}).run()
	if out.Status == state.Unknown {
		d := diag.Errorf("Unknown condition value", "The condition depends on a value that is known only after apply, and this `run` block has `command = plan`. Remove the value from the condition, or use `command = apply`. If the value is overridden, you can set `override_during = plan` in the `override_` block instead.")
		s.Error(s.WithValues(d.At(out.Range), compiled.Test, s.Ctx))
	}
	return out
}

// Conditions evaluates the conditions of one kind (when) of a declaration, for the instance k, with the planned values
// (the face After). It adds failures to the bag, and returns the results in the order of the source. self is the value
// of the symbol self, or nil. Conditions returns nil if the declaration has no such conditions. If given outputs
// replace the module instance (Options.Replaced), it evaluates only validation rules, and returns nil for other
// conditions.
func (f *Frame) Conditions(d program.Decl, k addr.Key, when program.When, self *mark.Value, bag *diag.Bag) []Result {
	ld := f.local(d)
	conds := ld.Conditions[when]
	if len(conds) == 0 || f.replaced && when != program.Validation {
		return nil
	}
	out := make([]Result, len(conds))
	for i, c := range conds {
		s := newScope(f, After, bag).of(ld, k)
		s.setSelf(self)
		out[i] = (&conditionCheck{s, c, when, nil}).run()
		s.release()
	}
	return out
}

// Refuse discards the value of a variable after a validation rule has failed and the error was reported. Later
// evaluations that read the variable fail without a further error. Before Refuse, only the validation rules may read
// the variable.
func (f *Frame) Refuse(d program.Decl) {
	ld := f.local(d)
	c := &f.vals[2*ld.Index+int32(f.faceOf(ld, After))]
	c.got.Store(&result{val: cty.DynamicVal, rest: mark.Plain(cty.DynamicVal), outcome: Failed})
}

// conditionCheck evaluates one condition.
type conditionCheck struct {
	s      *scope
	c      *program.Condition
	when   program.When
	source func(diag.Range) string // returns the source text of a range, for an assertion of a test; nil for other conditions
}

// noBool reports a condition whose result is neither true nor false. The message for a validation rule contains the
// text validation as the reason. The message for any other condition contains the text of the argument but.
func (k *conditionCheck) noBool(but, validation string) {
	d := diag.Errorf("Invalid condition result", "Condition expression must return either true or false, %s.", but)
	if k.when == program.Validation {
		d = diag.Errorf("Invalid variable validation result", "Invalid validation condition result value: %s.", validation)
	}
	k.s.Error(k.s.WithValues(d.At(k.c.Test.Range()), k.c.Test, k.s.Ctx))
}

func (k *conditionCheck) run() Result {
	c := k.c
	out := Result{Status: state.Errored, Range: c.Test.Range()}
	v := k.s.Eval(c.Test)
	if k.s.outcome() != OK {
		if k.s.Failed && !k.s.Broken {
			out.Status = state.Unknown
		}
		return out
	}
	if k.s.f.w.o.Validate && k.s.tried == nil {
		k.tryMessage()
	}
	v, _ = mark.Unmark(v)
	b, err := convert.To(v, cty.Bool)
	switch {
	case err != nil:
		k.noBool("not "+v.Type().FriendlyName(), expr.ConversionText(err))
		return out
	case b.IsNull():
		k.noBool("not null", "the condition must be either true or false, not null")
		return out
	case !b.IsKnown():
		out.Status = state.Unknown
		return out
	case b.True():
		out.Status = state.Pass
		return out
	}
	out.Status = state.Fail
	if k.decided() {
		out.Message = k.message()
	}
	return out
}

// decided reports whether a false condition is an error. In a plan or apply it always is. During validation, only the
// conditions of outputs, and of variables that a module call sets, are decided. A resource or a check may have no
// instance later, and then its conditions are never checked.
func (k *conditionCheck) decided() bool {
	return !k.s.f.w.o.Validate || k.when == program.OutputPre || k.s.tried != nil
}

// tryMessage evaluates the error message of a condition that holds, to find mistakes in the message.
func (k *conditionCheck) tryMessage() {
	if k.c.Message == nil {
		return
	}
	v := k.s.Eval(k.c.Message)
	if k.s.outcome() == OK {
		k.messageType(v)
	}
}

// messageType converts the error message to a string, which may be unknown. If the conversion fails or the message is
// null, it reports an error and returns false.
func (k *conditionCheck) messageType(v cty.Value) (cty.Value, bool) {
	str, err := convert.To(v, cty.String)
	switch {
	case err != nil:
		k.s.Error(diag.Errorf("Invalid error message", "Unsuitable value for error message: %s.", err).At(k.c.Message.Range()))
	case str.IsNull():
		k.s.Error(diag.Errorf("Invalid error message", "Unsuitable value for error message: must not be null.").At(k.c.Message.Range()))
	default:
		return str, true
	}
	return str, false
}

// message reports a failed condition, and returns the text of its error message, or another text if the message cannot
// be shown.
func (k *conditionCheck) message() string {
	c, when := k.c, k.when
	const hidden = "This check failed, and its error message is invalid. Other messages describe the problem."
	text, ok := k.messageText()
	if !ok {
		text = hidden
	}
	d := diag.Errorf(failedTitles[when], "%s", text).At(c.Test.Range())
	if when == program.Pre || when == program.Post {
		d.Address = k.s.d.Src.Res.In(k.s.f.n.Config.Path).In(k.s.f.addr).Instance(k.s.key).String()
		d.Unmet = d.Address
	} else if when != program.Tested {
		d.Unmet = k.s.f.w.p.Describe(k.s.f.n.Decl(k.s.d.Index))
	}
	if when == program.Validation {
		d.Detail += "\n\nThis was checked by the validation rule at " + place2(c.Range) + "."
		d = d.At(k.givenAt())
	}
	d = k.s.WithValues(d, c.Test, k.s.Ctx)
	if k.source != nil {
		d = k.s.WithSides(d, c.Test, k.s.Ctx, k.source)
	}
	k.s.Error(d)
	return text
}

// givenAt returns the range that sets the validated variable: the argument of the module call, or the declaration of a
// root variable.
func (k *conditionCheck) givenAt() diag.Range {
	if k.s.f.parent != nil {
		if a := k.s.f.parent.u.Defs[k.s.f.n.Call].Inputs.Args[k.s.d.Name]; a != nil {
			return a.Expr.Range()
		}
	}
	return k.s.d.At
}

// markedMessages has the marks with which a message cannot be shown, and the words about each mark.
var markedMessages = []struct {
	tag         mark.Tag
	what, trail string
}{
	{mark.Sensitive, "sensitive", "using the nonsensitive() function if the message does not reveal sensitive data"},
	{mark.Ephemeral, "ephemeral", "using the ephemeralasnull() function on the references"},
}

// messageText evaluates the error message. It returns a default text if the condition has none, and false if the
// message cannot be evaluated or shown.
func (k *conditionCheck) messageText() (string, bool) {
	if k.c.Message == nil {
		return "The condition is not met.", true
	}
	v := k.s.Eval(k.c.Message)
	if k.s.outcome() != OK {
		return "", false
	}
	return k.plainMessage(v)
}

// plainMessage returns the text of a message. It reports an error and returns false if the message is sensitive,
// ephemeral, unknown or null, or cannot be converted to a string. Outside validation rules, a sensitive or ephemeral
// message causes a warning instead of an error.
func (k *conditionCheck) plainMessage(v cty.Value) (string, bool) {
	at := k.c.Message.Range()
	for _, m := range markedMessages {
		if !mark.Anywhere(v, m.tag) {
			continue
		}
		d := diag.Warningf("Error message refers to "+m.what+" values", "The error message of this condition refers to %s values, so it is not displayed. Remove references to %s values, or correct this by %s.", m.what, m.what, m.trail).At(at)
		if k.when == program.Validation {
			d.Severity = diag.Error
		}
		k.s.Error(d)
		return "", false
	}
	str, ok := k.messageType(v)
	switch {
	case !ok:
		return "", false
	case !str.IsKnown():
		k.s.Error(diag.Errorf("Unknown error message", "The error message of this condition depends on values that are known only after apply, so it cannot be displayed.").At(at))
		return "", false
	}
	return strings.TrimSpace(str.AsString()), true
}
