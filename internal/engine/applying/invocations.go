package applying

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/declared"
	"github.com/lethe-iac/lethe/internal/engine/filling"
	"github.com/lethe-iac/lethe/internal/engine/run"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/object"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/state/journal"
	"github.com/zclconf/go-cty/cty"
)

// invocation is a step of an apply that invokes an action.
type invocation struct {
	x    *step
	run  *run.Run // the parts that all steps of the apply share; diagnostics are added to run.Bag
	of   *plan.Invocation
	c    *plan.Change         // the change that invokes the action; nil if the user invokes the action with -invoke
	d    *program.Declaration // the declaration of the action
	face frame.Face
}

// invoke runs one invocation of an action before or after the change c. If up is true, it is an invocation around the
// creation or update of the object, and otherwise around its destruction. part is its index among these invocations. If
// the trigger has on_failure = continue, errors become warnings. invoke returns false if the action failed and the
// trigger does not continue after a failure.
func (x *step) invoke(ctx context.Context, c *plan.Change, part int, up bool, face frame.Face) bool {
	around := filling.Around(c.Action, up)
	all := slices.Concat(filling.InvocationsFor(x.a.plan, c.Object, around[0]), filling.InvocationsFor(x.a.plan, c.Object, around[1]))
	d, ok := x.run.Program.Resource(all[part].Action.Resource())
	if !ok {
		return false
	}
	var bag diag.Bag
	i := &invocation{x: x, run: x.run.With(&bag), of: all[part], c: c, d: d, face: face}
	ok = i.do(ctx)
	if ok {
		x.a.invoked.Add(1)
	}
	continues := i.of.Trigger.OnFailure == config.Continue
	for _, dg := range bag.List() {
		if dg.Severity == diag.Error && continues {
			dg.Severity = diag.Warning
		}
		dg.Detail = strings.TrimSpace(dg.Detail + fmt.Sprintf("\n\n%s invoked the action (%s).", c.Object, i.of.Trigger.Event))
		x.run.Bag.Add(dg)
	}
	if ok || continues {
		return true
	}
	return x.halted(i)
}

// requested runs an invocation that the user requested with -invoke. It returns false if the action failed or was not
// invoked.
func (x *step) requested(ctx context.Context, of *plan.Invocation) bool {
	d, ok := x.run.Program.Resource(of.Action.Resource())
	if !ok {
		return false
	}
	i := &invocation{x: x, run: x.run, of: of, d: d, face: frame.After}
	if ok = i.do(ctx); ok {
		x.a.invoked.Add(1)
	}
	return ok
}

// about returns the instance that messages about the invocation name.
func (i *invocation) about() addr.Instance {
	if i.c == nil {
		return i.of.Action
	}
	return i.c.Object.Instance
}

// halted handles the failure of an action whose trigger does not continue after errors. Unless the object is being
// destroyed, halted marks the object's new value as failed. If the trigger has on_failure = taint, it also marks a
// created object in the state as tainted. It always returns false, which is then the result of invoke.
func (x *step) halted(i *invocation) bool {
	o, t := i.c.Object, i.of.Trigger
	if d, ok := x.run.Program.Resource(o.Resource()); ok && !t.Event.Ends() {
		x.a.failed(d, o.Instance)
	}
	if e := x.a.entry(o); t.OnFailure == config.Taint && t.Event == config.AfterCreate && e != nil {
		tainted := *e
		tainted.Tainted = true
		x.write(0, journal.Change{Object: o, Entry: &tainted})
	}
	return false
}

// do evaluates the configuration of the action, checks that it agrees with the planned configuration, and invokes the
// action. If a step fails, it returns false.
func (i *invocation) do(ctx context.Context) bool {
	value, ok := i.config(ctx)
	if !ok {
		return false
	}
	inst := i.of.Action
	u := declared.UseOf(i.run.Program, i.d, i.of.Provider.Key)
	s, ok := i.run.Sessions.Get(ctx, i.run.Bag, u, i.face)
	typ := i.run.Types.Of(ctx, i.run.Bag, u.Instance.Provider, i.d.Resource, inst)
	if !ok || typ == nil {
		return false
	}
	t := i.run.Tools(inst.Current(), s, typ)
	t.Where = func(path cty.Path) diag.Range {
		f := i.run.Frame.At(inst.Module, i.face)
		if f == nil {
			return i.d.Range
		}
		return f.Where(i.d.ID, append(cty.GetAttrPath(program.ActionConfig), path...))
	}
	if !agrees(i.of.Config.Raw, typ.Block.NullWriteOnly(value.Raw)) {
		i.run.Bag.Add(diag.Errorf("Action configuration changed since the plan", "The configuration of %s differs from the configuration in the plan, so the action was not invoked. Make a new plan.", inst).At(i.d.Range).About(i.about()))
		return false
	}
	return i.call(ctx, t, u, value)
}

// call asks the provider to invoke the action. The argument value is the configuration of the action. The method call
// records the start and the end of the call in the journal (the file that records the calls of an apply). If the
// provider did not answer, call records no end, because the call may have had an effect: the next command then reports
// the call. It returns false if the call failed or was not made.
func (i *invocation) call(ctx context.Context, t *object.Tools, u declared.Use, value mark.Value) bool {
	a, o := i.x.a, i.of.Action.Current()
	if a.failing() {
		return false
	}
	op, err := a.req.Journal.Intent(journal.Intent{Object: o, Action: journal.Invoke, Provider: u.Instance})
	if err != nil {
		a.journalFailed(err)
		return false
	}
	t.Note = provider.Note{Call: uint64(op)}
	a.run.InFlight.Set(o, true)
	defer a.run.InFlight.Set(o, false)
	ok := t.Invoke(ctx, value, event.Invocation{Action: i.of.Action, Trigger: i.of.Trigger})
	if !t.Unanswered {
		i.x.write(op)
	}
	return ok
}

// config returns the configuration for the invocation. If the object of the trigger is destroyed, this is the planned
// configuration. Otherwise config evaluates the configuration. It reports an error and returns false if the evaluation
// fails or the configuration is not wholly known.
func (i *invocation) config(ctx context.Context) (mark.Value, bool) {
	if i.of.Trigger.Event.Ends() {
		return i.of.Config, true
	}
	f := i.run.Frame.At(i.of.Action.Module, frame.After)
	if f == nil {
		return mark.Value{}, false
	}
	v, out := frame.Actions(f).Config(frame.ActionInstance{Decl: i.d.ID, Key: i.of.Action.Key}, i.caller(ctx, f), frame.After, i.run.Bag)
	if out != frame.OK {
		return mark.Value{}, false
	}
	if !v.Raw.IsWhollyKnown() {
		when, then := "during the apply", "Make a new plan."
		if i.c != nil {
			when, then = whenOf(i.of.Trigger.Event)+" "+i.c.Object.String(), "Invoke the action after the change, or use other values."
		}
		i.run.Bag.Add(diag.Errorf("Action configuration is not known", "The configuration of %s depends on values that are not known %s. %s", i.of.Action, when, then).At(i.d.Range).About(i.about()))
		return mark.Value{}, false
	}
	return v, true
}

// caller opens the ephemeral resources that the action uses, and returns the value of "caller": the object whose change
// invokes the action. It returns nil if no object invokes the action. If the object has no new value yet, caller
// returns its planned value, or an unknown value if the plan has no change of the object.
func (i *invocation) caller(ctx context.Context, f *frame.Frame) *mark.Value {
	o := i.of.Trigger.Object
	by, ok := i.run.Program.Resource(o.Resource())
	if i.c == nil {
		i.run.Receive(ctx, i.d.ID, f.Addr(), i.of.Action.Key)
	} else if ok {
		i.run.Leases.ReceiveAll(ctx, i.run.Bag, i.run.Receivers.ReceivedByParts(by.ID, []any{i.d.Res}), o.Module, addr.NoKey, frame.After)
	}
	if !ok {
		return nil
	}
	caller, got := f.Got(by.ID, o.Key, frame.After)
	switch {
	case got:
	case i.c != nil:
		caller = i.c.After
	default:
		caller = mark.Plain(i.run.Program.Schema(by.ID).Unknown())
	}
	return &caller
}

// whenOf returns words for the time of an event. The address of the object follows them in the message.
func whenOf(e config.Event) string {
	switch e {
	case config.BeforeCreate:
		return "before the creation of"
	case config.BeforeUpdate:
		return "before the update of"
	}
	return "after the change of"
}

// agrees reports whether an actual value agrees with a planned value: each part that was known in the plan is
// unchanged. It compares only the types of sets with unknown parts.
func agrees(planned, actual cty.Value) bool {
	switch {
	case !planned.IsKnown():
		return true
	case planned.IsNull() || actual.IsNull() || planned.IsWhollyKnown():
		return planned.RawEquals(actual)
	case planned.Type().IsSetType():
		return planned.Type().Equals(actual.Type()) // the elements of two sets have no order, so no pairs can be compared
	case !actual.CanIterateElements() || planned.LengthInt() != actual.LengthInt():
		return false // the types of unknown elements may differ
	}
	for it, other := planned.ElementIterator(), actual.ElementIterator(); it.Next() && other.Next(); {
		k, v := it.Element()
		l, w := other.Element()
		if !k.RawEquals(l) || !agrees(v, w) {
			return false
		}
	}
	return true
}
