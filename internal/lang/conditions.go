package lang

import (
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// Result is the outcome of one condition.
type Result struct {
	Status  state.Status
	Message string // of a failed one, if it can be shown
	Range   diag.Range
}

var failedTitles = map[When]string{
	Pre: "Resource precondition failed", Post: "Resource postcondition failed", Validation: "Invalid value for variable",
	OutputPre: "Module output value precondition failed", Assert: "Check block assertion failed",
}

// Conditions evaluates the conditions of a declaration. Failures are diagnostics in the bag.
func (f *Frame) Conditions(d Decl, k addr.Key, when When, face Face, self *mark.Value, bag *diag.Bag) []Result {
	ld := f.local(d)
	conds := ld.conds[when]
	if len(conds) == 0 {
		return nil
	}
	out := make([]Result, len(conds))
	for i, c := range conds {
		s := f.scope(face, bag).of(ld, k)
		s.setSelf(self)
		out[i] = s.condition(c, when)
		s.release()
	}
	return out
}

// Refuse takes a variable's value away, because it was reported to break a rule: whatever needs it
// fails in silence from then on. Nothing but the rules themselves may have asked for it before.
func (f *Frame) Refuse(d Decl) {
	ld := f.local(d)
	c := &f.vals[2*ld.index+int32(f.faceOf(ld, After))]
	c.got.Store(&result{val: cty.DynamicVal, rest: mark.Plain(cty.DynamicVal), outcome: Failed})
}

// condition evaluates one condition.
func (s *scope) condition(c *condition, when When) Result {
	out := Result{Status: state.Errored, Range: c.test.Range()}
	v := s.Eval(c.test)
	if s.outcome() != OK {
		if s.Failed && !s.Broken {
			out.Status = state.Unknown
		}
		return out
	}
	if s.f.w.o.Validate {
		s.tryMessage(c)
	}
	v, _ = mark.Bare(v)
	b, err := convert.Convert(v, cty.Bool)
	switch {
	case err != nil:
		s.Error(s.WithValues(diag.Errorf("Invalid condition result", "Condition expression must return either true or false, not %s.", v.Type().FriendlyName()).At(c.test.Range()), c.test, s.Ctx))
		return out
	case b.IsNull():
		s.Error(s.WithValues(diag.Errorf("Invalid condition result", "Condition expression must return either true or false, not null.").At(c.test.Range()), c.test, s.Ctx))
		return out
	case !b.IsKnown():
		out.Status = state.Unknown
		return out
	case b.True():
		out.Status = state.Pass
		return out
	}
	out.Status = state.Fail
	if !s.f.w.o.Validate {
		out.Message = s.message(c, when)
	}
	return out
}

// tryMessage evaluates a message although nothing failed, to find what is wrong with it.
func (s *scope) tryMessage(c *condition) {
	if c.message == nil {
		return
	}
	v := s.Eval(c.message)
	if s.outcome() == OK {
		s.messageType(c, v)
	}
}

// messageType is the message as a string, which may be unknown; it reports what cannot be one.
func (s *scope) messageType(c *condition, v cty.Value) (cty.Value, bool) {
	str, err := convert.Convert(v, cty.String)
	switch {
	case err != nil:
		s.Error(diag.Errorf("Invalid error message", "Unsuitable value for error message: %s.", err).At(c.message.Range()))
	case str.IsNull():
		s.Error(diag.Errorf("Invalid error message", "Unsuitable value for error message: must not be null.").At(c.message.Range()))
	default:
		return str, true
	}
	return str, false
}

// message reports a failed condition and gives its text.
func (s *scope) message(c *condition, when When) string {
	const hidden = "This check failed, but has an invalid error message as described in the other accompanying messages."
	text, ok := s.messageText(c, when)
	if !ok {
		text = hidden
	}
	d := diag.Errorf(failedTitles[when], "%s", text).At(c.test.Range())
	if when == Pre || when == Post {
		d.Address = s.address()
	}
	if when == Validation {
		d.Detail += "\n\nThis was checked by the validation rule at " + place2(c.Range) + "."
		d = d.At(s.givenAt())
	}
	s.Error(s.WithValues(d, c.test, s.Ctx))
	return text
}

// address is the instance that the scope belongs to.
func (s *scope) address() string {
	return s.d.res.In(s.f.n.cfg.Path).In(s.f.addr).Instance(s.key).String()
}

// givenAt is where the variable of the scope got its value: the argument of the call, or its own
// declaration.
func (s *scope) givenAt() diag.Range {
	if s.f.parent != nil {
		if a := s.f.parent.u.decls[s.f.n.call].args[s.d.name]; a != nil {
			return a.expr.Range()
		}
	}
	return s.d.at
}

// markedMessages are the marks that keep a message from being shown.
var markedMessages = []struct {
	tag       mark.Tag
	what, way string
}{
	{mark.Sensitive, "sensitive", "carefully using the nonsensitive() function if the expression will not reveal the sensitive data"},
	{mark.Ephemeral, "ephemeral", "using the ephemeralasnull() function on the references to not reveal ephemeral data"},
}

func (s *scope) messageText(c *condition, when When) (string, bool) {
	if c.message == nil {
		return "The condition is not met.", true
	}
	v := s.Eval(c.message)
	if s.outcome() != OK {
		return "", false
	}
	return s.plainMessage(c, when, v)
}

// plainMessage refuses messages that cannot be shown.
func (s *scope) plainMessage(c *condition, when When, v cty.Value) (string, bool) {
	at := c.message.Range()
	for _, m := range markedMessages {
		if !mark.Anywhere(v, m.tag) {
			continue
		}
		d := diag.Warningf("Error message refers to "+m.what+" values", "The error expression used to explain this condition refers to %s values, so the resulting message is not displayed.\n\nYou can correct this by removing references to %s values, or by %s.", m.what, m.what, m.way).At(at)
		if when == Validation {
			d.Severity = diag.Error
		}
		s.Error(d)
		return "", false
	}
	str, ok := s.messageType(c, v)
	switch {
	case !ok:
		return "", false
	case !str.IsKnown():
		s.Error(diag.Errorf("Unknown error message", "The expression used to explain this condition depends on what is known only after apply, so it cannot be displayed.").At(at))
		return "", false
	}
	return strings.TrimSpace(str.AsString()), true
}
