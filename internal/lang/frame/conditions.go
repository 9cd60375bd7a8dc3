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

// Result is the outcome of one condition.
type Result struct {
	Status  state.Status
	Message string // of a failed one, if it can be shown
	Range   diag.Range
}

var failedTitles = map[program.When]string{
	program.Pre: "Resource precondition failed", program.Post: "Resource postcondition failed", program.Validation: "Invalid value for variable",
	program.OutputPre: "Module output value precondition failed", program.Assert: "Check block assertion failed",
	program.Tested: "Test assertion failed",
}

// Assertion is a condition that is no part of the program.
type Assertion struct {
	*config.Condition
	Names  map[string]cty.Value    // for names that the program does not have
	Source func(diag.Range) string // the text at a place
}

// Holds evaluates an assertion. That it does not hold, or is not known, is a diagnostic in the bag.
func (f *Frame) Holds(c Assertion, face Face, bag *diag.Bag) Result {
	names, may := c.Names, program.AllowedRefs{Names: Scope{Names: c.Names}.names()}
	compiled := &program.Condition{Condition: c.Condition}
	var ok, good bool
	compiled.Test, ok = f.n.Expression(c.Condition.Condition, may, "", bag)
	compiled.Message, good = f.n.Expression(c.Message, may, "", bag)
	if !ok || !good {
		return Result{Status: state.Errored, Range: c.Condition.Condition.Range()}
	}
	s := f.scope(face, bag)
	defer s.release()
	defer s.know(names)()
	out := (&conditionCheck{s, compiled, program.Tested, c.Source}).run()
	if out.Status == state.Unknown {
		d := diag.Errorf("Unknown condition value", "Condition expression could not be evaluated at this time. This means you have executed a `run` block with `command = plan` and one of the values your condition depended on is not known until after the plan has been applied. Either remove this value from your condition, or execute an `apply` command from this `run` block. Alternatively, if there is an override for this value, you can make it available during the plan phase by setting `override_during = plan` in the `override_` block.")
		s.Error(s.WithValues(d.At(out.Range), compiled.Test, s.Ctx))
	}
	return out
}

// Conditions evaluates the conditions of a declaration. Failures are diagnostics in the bag.
func (f *Frame) Conditions(d program.Decl, k addr.Key, when program.When, self *mark.Value, bag *diag.Bag) []Result {
	ld := f.local(d)
	conds := ld.Conditions[when]
	if len(conds) == 0 || f.replaced && when != program.Validation {
		return nil
	}
	out := make([]Result, len(conds))
	for i, c := range conds {
		s := f.scope(After, bag).of(ld, k)
		s.setSelf(self)
		out[i] = (&conditionCheck{s, c, when, nil}).run()
		s.release()
	}
	return out
}

// Refuse takes a variable's value away, because it was reported to break a rule: what needs it
// fails in silence from then on. Nothing but the rules themselves may have asked for it before.
func (f *Frame) Refuse(d program.Decl) {
	ld := f.local(d)
	c := &f.vals[2*ld.Index+int32(f.faceOf(ld, After))]
	c.got.Store(&result{val: cty.DynamicVal, rest: mark.Plain(cty.DynamicVal), outcome: Failed})
}

// conditionCheck evaluates one condition.
type conditionCheck struct {
	*scope
	c      *program.Condition
	when   program.When
	source func(diag.Range) string // of an assertion of a test
}

// noBool reports a condition that gives neither true nor false; validation is why, as rules of variables say it.
func (s *conditionCheck) noBool(but, validation string) {
	d := diag.Errorf("Invalid condition result", "Condition expression must return either true or false, %s.", but)
	if s.when == program.Validation {
		d = diag.Errorf("Invalid variable validation result", "Invalid validation condition result value: %s.", validation)
	}
	s.Error(s.WithValues(d.At(s.c.Test.Range()), s.c.Test, s.Ctx))
}

func (s *conditionCheck) run() Result {
	c := s.c
	out := Result{Status: state.Errored, Range: c.Test.Range()}
	v := s.Eval(c.Test)
	if s.outcome() != OK {
		if s.Failed && !s.Broken {
			out.Status = state.Unknown
		}
		return out
	}
	if s.f.w.o.Validate && s.tried == nil {
		s.tryMessage()
	}
	v, _ = mark.Bare(v)
	b, err := convert.To(v, cty.Bool)
	switch {
	case err != nil:
		s.noBool("not "+v.Type().FriendlyName(), expr.ConversionText(err))
		return out
	case b.IsNull():
		s.noBool("not null", "the condition must be either true or false, not null")
		return out
	case !b.IsKnown():
		out.Status = state.Unknown
		return out
	case b.True():
		out.Status = state.Pass
		return out
	}
	out.Status = state.Fail
	if s.decided() {
		out.Message = s.message()
	}
	return out
}

// decided reports whether a condition that does not hold is a mistake. While validating, an object or a check may turn out
// not to be there; an output is there, and so is a variable that a call sets.
func (s *conditionCheck) decided() bool {
	return !s.f.w.o.Validate || s.when == program.OutputPre || s.tried != nil
}

// tryMessage evaluates a message although nothing failed, to find what is wrong with it.
func (s *conditionCheck) tryMessage() {
	if s.c.Message == nil {
		return
	}
	v := s.Eval(s.c.Message)
	if s.outcome() == OK {
		s.messageType(v)
	}
}

// messageType is the message as a string, which may be unknown; it reports what cannot be one.
func (s *conditionCheck) messageType(v cty.Value) (cty.Value, bool) {
	str, err := convert.To(v, cty.String)
	switch {
	case err != nil:
		s.Error(diag.Errorf("Invalid error message", "Unsuitable value for error message: %s.", err).At(s.c.Message.Range()))
	case str.IsNull():
		s.Error(diag.Errorf("Invalid error message", "Unsuitable value for error message: must not be null.").At(s.c.Message.Range()))
	default:
		return str, true
	}
	return str, false
}

// message reports a failed condition and gives its text.
func (s *conditionCheck) message() string {
	c, when := s.c, s.when
	const hidden = "This check failed, but has an invalid error message as described in the other accompanying messages."
	text, ok := s.messageText()
	if !ok {
		text = hidden
	}
	d := diag.Errorf(failedTitles[when], "%s", text).At(c.Test.Range())
	if when == program.Pre || when == program.Post {
		d.Address = s.d.Res.In(s.f.n.Config.Path).In(s.f.addr).Instance(s.key).String()
		d.Unmet = d.Address
	} else if when != program.Tested {
		d.Unmet = s.f.w.p.Describe(s.f.n.Decl(s.d.Index))
	}
	if when == program.Validation {
		d.Detail += "\n\nThis was checked by the validation rule at " + place2(c.Range) + "."
		d = d.At(s.givenAt())
	}
	d = s.WithValues(d, c.Test, s.Ctx)
	if s.source != nil {
		d = s.WithSides(d, c.Test, s.Ctx, s.source)
	}
	s.Error(d)
	return text
}

// givenAt is where the variable of the scope got its value: the argument of the call, or its own
// declaration.
func (s *conditionCheck) givenAt() diag.Range {
	if s.f.parent != nil {
		if a := s.f.parent.u.Defs[s.f.n.Call].Args[s.d.Name]; a != nil {
			return a.Expr.Range()
		}
	}
	return s.d.At
}

// markedMessages are the marks that keep a message from being shown.
var markedMessages = []struct {
	tag       mark.Tag
	what, way string
}{
	{mark.Sensitive, "sensitive", "carefully using the nonsensitive() function if the expression will not reveal the sensitive data"},
	{mark.Ephemeral, "ephemeral", "using the ephemeralasnull() function on the references to not reveal ephemeral data"},
}

func (s *conditionCheck) messageText() (string, bool) {
	if s.c.Message == nil {
		return "The condition is not met.", true
	}
	v := s.Eval(s.c.Message)
	if s.outcome() != OK {
		return "", false
	}
	return s.plainMessage(v)
}

// plainMessage refuses messages that cannot be shown.
func (s *conditionCheck) plainMessage(v cty.Value) (string, bool) {
	at := s.c.Message.Range()
	for _, m := range markedMessages {
		if !mark.Anywhere(v, m.tag) {
			continue
		}
		d := diag.Warningf("Error message refers to "+m.what+" values", "The error expression used to explain this condition refers to %s values, so the resulting message is not displayed.\n\nYou can correct this by removing references to %s values, or by %s.", m.what, m.what, m.way).At(at)
		if s.when == program.Validation {
			d.Severity = diag.Error
		}
		s.Error(d)
		return "", false
	}
	str, ok := s.messageType(v)
	switch {
	case !ok:
		return "", false
	case !str.IsKnown():
		s.Error(diag.Errorf("Unknown error message", "The expression used to explain this condition depends on what is known only after apply, so it cannot be displayed.").At(at))
		return "", false
	}
	return strings.TrimSpace(str.AsString()), true
}
