package frame

import (
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/convert"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// ActionReader evaluates actions (action blocks) and the action_trigger blocks that name them.
type ActionReader struct{ f *Frame }

// Actions returns the ActionReader for the module instance f.
func Actions(f *Frame) ActionReader { return ActionReader{f} }

// ActionInstance is an instance of an action.
type ActionInstance struct {
	Decl program.Decl
	Key  addr.Key
}

// Triggers returns the action_trigger blocks in the lifecycle of a resource.
func (r ActionReader) Triggers(d program.Decl) []*program.ActionTrigger {
	return r.f.local(d).Lifecycle.ActionTriggers
}

// Holding evaluates the condition of t, an action_trigger block of the resource d, for the instance k, and returns the
// result. It returns true for a block without a condition, and during validation also for an unknown condition. self is
// the value of the symbol self, or nil. face selects the prior values (Before) or the planned values (After). If the
// condition fails, is ephemeral, or is not a known boolean, Holding returns false and a status other than OK, and the
// bag or an earlier evaluation has the error.
func (r ActionReader) Holding(d program.Decl, k addr.Key, t *program.ActionTrigger, self *mark.Value, face Face, bag *diag.Bag) (bool, Status) {
	f := r.f
	if t.Test == nil {
		return true, OK
	}
	s := newScope(f, face, bag).of(f.local(d), k)
	defer s.release()
	s.setSelf(self)
	v := s.Eval(t.Test)
	if s.outcome() != OK {
		return false, s.outcome()
	}
	fail := func(title, text string) (bool, Status) {
		s.Error(s.WithValues(diag.Errorf(title, "%s", text).At(t.Test.Range()), t.Test, s.Ctx))
		return false, Broken
	}
	if mark.Is(v, mark.Ephemeral) {
		return fail("Invalid use of an ephemeral value", "The condition of an action_trigger cannot depend on an ephemeral value, because it decides what the plan contains."+cameFrom(v))
	}
	v, _ = mark.Unmark(v)
	b, err := convert.To(v, cty.Bool)
	switch {
	case err != nil || b.IsNull():
		return fail("Invalid condition result", "The condition of an action_trigger must be true or false.")
	case !b.IsKnown() && f.w.o.Validate:
		return true, OK
	case !b.IsKnown():
		return fail("Condition must be known", "The condition of an action_trigger must be known during plan, but it depends on values that are known only after apply.")
	}
	return b.True(), OK
}

// Invoked evaluates the key of a reference to an action, and returns the instance of the action. k is the key of the
// instance whose trigger has the reference. If the key is invalid, or the action has no instance with this key, Invoked
// adds an error and returns a status other than OK. If the instance k is no longer declared, the action may lack its key,
// too: the same for_each often repeats both. During validation Invoked accepts any key that can be evaluated. If the
// reference has no key, Invoked returns the instance without a key, and checks nothing.
func (r ActionReader) Invoked(d program.Decl, k addr.Key, ref program.ActionRef, face Face, bag *diag.Bag) (ActionInstance, Status) {
	f := r.f
	out := ActionInstance{Decl: f.n.Decl(ref.Local)}
	if ref.Key == nil {
		return out, OK
	}
	action := f.u.Defs[ref.Local]
	s := newScope(f, face, bag).of(f.local(d), k)
	defer s.release()
	v := s.Eval(ref.Key)
	if s.outcome() != OK {
		return out, s.outcome()
	}
	const title = "Invalid action instance key"
	if mark.Anywhere(v, mark.Sensitive) || mark.Anywhere(v, mark.Ephemeral) {
		s.Error(diag.Errorf(title, "The instance key must be neither sensitive nor ephemeral.%s", cameFrom(v)).At(ref.Key.Range()))
		return out, Broken
	}
	if action.Repeat.ForEach != nil {
		if c, err := convert.To(v, cty.String); err == nil {
			v = c
		}
	}
	key, ok := addr.KeyOf(v)
	switch {
	case f.w.o.Validate:
	case !ok:
		s.Error(diag.Errorf(title, "The instance key must be a known string or whole number.").At(ref.Key.Range()))
		return out, Broken
	case f.keys(action, face, bag).Lacks(key) && !f.keys(f.local(d), After, &diag.Bag{}).Lacks(k):
		s.Error(diag.Errorf("Reference to non-existent action instance", "There is no instance %s of %s.", key, action.Src.Res.In(f.n.Config.Path).Local()).At(ref.At))
		return out, Broken
	}
	out.Key = key
	return out, OK
}

// ProviderKey evaluates the key of the provider instance that an instance of an action uses. If the action no longer
// has the instance, the result may be a key that the provider no longer has, without an error.
func (r ActionReader) ProviderKey(i ActionInstance, face Face, bag *diag.Bag) (addr.Key, Status) {
	if d := r.f.local(i.Decl); d.ProviderKey != nil && r.f.keys(d, face, &diag.Bag{}).Lacks(i.Key) {
		return providerKey(r.f, d.ProviderKey, d, i.Key, face, bag)
	}
	return r.f.ProviderKey(i.Decl, i.Key, face, bag)
}

// Config evaluates the configuration of an instance of an action: the value of its config block. caller is the object
// whose change invokes the action. It is nil if the user invokes the action directly. Config reports ephemeral values
// in all arguments that are not write-only. After an error it returns an unknown value and a status other than OK.
func (r ActionReader) Config(i ActionInstance, caller *mark.Value, face Face, bag *diag.Bag) (mark.Value, Status) {
	f := r.f
	ld := f.local(i.Decl)
	v, leaves, outcome := evalBody(f, ld, i.Key, caller, face, bag)
	if outcome == OK && !acceptEphemeral(f, ld, v, leaves, bag) {
		outcome = Broken
	}
	if outcome != OK {
		return mark.Plain(cty.DynamicVal), outcome
	}
	return BlockOf(v, program.ActionConfig, f.w.p.Schema(i.Decl).Empty()), OK
}

// BlockOf returns the nested block called name in a value, or empty if the block is absent.
func BlockOf(v mark.Value, name string, empty cty.Value) mark.Value {
	out := mark.Plain(empty)
	inner := v.Raw.GetAttr(name)
	if inner.IsNull() {
		return out
	}
	out.Raw = inner
	for _, m := range v.Marks {
		if len(m.Path) > 0 && m.Path[0] == (cty.GetAttrStep{Name: name}) {
			m.Path = m.Path[1:]
			out.Marks = append(out.Marks, m)
		} else if len(m.Path) == 0 {
			out.Marks = append(out.Marks, m)
		}
	}
	return out
}
