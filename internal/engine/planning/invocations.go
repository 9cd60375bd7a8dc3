package planning

import (
	"context"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/declared"
	"github.com/lethe-iac/lethe/internal/engine/run"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/zclconf/go-cty/cty"
)

// triggering is a change that may invoke actions.
type triggering struct {
	p *planner
	d *program.Declaration
	c *plan.Change
	f *frame.Frame
}

// invoke plans the invocations of actions that a change causes. after returns the planned value of the object. It is
// nil if the change only destroys the object. invoke returns false if an invocation cannot be planned. f has the values
// of the module instance; if f is nil, the change causes no invocation.
func invoke(ctx context.Context, p *planner, d *program.Declaration, c *plan.Change, f *frame.Frame, after func() mark.Value) bool {
	if f == nil || len(d.Res.Lifecycle.ActionTriggers) == 0 {
		return true
	}
	x := triggering{p, d, c, f}
	ok := true
	for n, t := range frame.Actions(f).Triggers(d.ID) {
		for _, e := range plan.EventsOf(c.Action) {
			if slices.Contains(t.Events, e) {
				ok = x.event(ctx, n, t, e, after) && ok
			}
		}
	}
	return ok
}

// event plans the invocations that one action_trigger block causes for an event. It returns false if an invocation
// cannot be planned. block is the index of the action_trigger block in the resource. after returns the planned value of
// the object; event does not call it for events at the destruction.
func (x *triggering) event(ctx context.Context, block int, t *program.ActionTrigger, e config.Event, after func() mark.Value) bool {
	face, key := frame.After, x.c.Object.Key
	var caller mark.Value
	if e.Ends() {
		face, caller = x.p.faceOf(x.f), x.c.Before
		for _, a := range x.p.run.Program.Triggered(x.d.ID) {
			for _, ref := range x.p.run.Program.Refs(a) {
				x.p.back.getReady(ctx, ref.To)
			}
		}
	} else {
		caller = after()
	}
	holds, out := frame.Actions(x.f).Holding(x.d.ID, key, t, &caller, face, x.p.run.Bag)
	if out != frame.OK || !holds {
		return out == frame.OK
	}
	ok := true
	for n, ref := range t.Invokes {
		i, out := frame.Actions(x.f).Invoked(x.d.ID, key, ref, face, x.p.run.Bag)
		if out != frame.OK {
			ok = false
			continue
		}
		trigger := plan.Trigger{Object: x.c.Object, Event: e, Block: block, Index: n, OnFailure: t.OnFailure}
		if !e.Ends() {
			parts := []any{x.p.run.Program.Decls()[i.Decl].Res}
			x.p.run.Leases.ReceiveAll(ctx, x.p.run.Bag, x.p.run.Receivers.ReceivedByParts(x.d.ID, parts), x.f.Addr(), addr.NoKey, face)
		}
		a := &invoking{p: x.p, f: x.f, i: i, at: ref.At, t: trigger, face: face, through: x.c.Provider}
		ok = a.plan(ctx, &caller) && ok
	}
	return ok
}

// invoking is an invocation of an action that is to be planned. The ephemeral resources that it uses are open.
type invoking struct {
	p    *planner
	f    *frame.Frame
	i    frame.ActionInstance
	at   diag.Range // the reference to the action
	t    plan.Trigger
	face frame.Face

	through addr.ProviderInstance // the provider instance of the object whose change invokes the action
}

// plan plans the invocation. After an error, which it reports, plan returns false. caller is the value of the object
// whose change invokes the action; nil if there is no such object.
func (x *invoking) plan(ctx context.Context, caller *mark.Value) bool {
	r, d, i := x.p.run, x.p.run.Program.Decls()[x.i.Decl], x.i
	inst := d.Resource.In(x.f.Addr()).Instance(i.Key)
	config, out := frame.Actions(x.f).Config(i, caller, x.face, r.Bag)
	if out != frame.OK || x.t.Event.Ends() && !x.final(inst, config) || x.t.Requested() && !x.exists(inst, config) {
		return false
	}
	pk, out := x.providerKey()
	if out != frame.OK {
		return false
	}
	u := declared.UseOf(r.Program, d, pk)
	s, ok := x.session(ctx, u)
	typ := r.Types.Of(ctx, r.Bag, u.Instance.Provider, d.Resource, inst)
	if !ok || typ == nil {
		return false
	}
	tools := r.Tools(inst.Current(), s, typ)
	tools.Where = func(path cty.Path) diag.Range {
		return x.f.Where(i.Decl, append(cty.GetAttrPath(program.ActionConfig), path...))
	}
	if tools.PlanAction(ctx, config).Kind != plan.Known {
		return false
	}
	x.p.invocations.add(&plan.Invocation{
		Action: inst, Trigger: x.t, Provider: u.Instance,
		Config: typ.Marked(typ.Block.NullWriteOnly(config.Raw), config),
	})
	return true
}

// providerKey evaluates the key of the action's provider instance. If the module instance is no longer declared, the key
// may depend on values that are no longer known, such as each.key of the module call. If the action has the provider
// configuration of the object that is destroyed, it then uses the same instance.
func (x *invoking) providerKey() (addr.Key, frame.Status) {
	r := x.p.run
	if u := declared.UseOf(r.Program, r.Program.Decls()[x.i.Decl], x.through.Key); x.t.Event.Ends() && u.Instance == x.through && r.Frame.At(x.f.Addr(), frame.After) == nil {
		return x.through.Key, frame.OK
	}
	return frame.Actions(x.f).ProviderKey(x.i, x.face, r.Bag)
}

// final reports whether the plan can contain the configuration of an action that the destruction of an object invokes.
// The configuration must be known, and must have no ephemeral values and no write-only arguments. Otherwise final
// reports an error and returns false.
func (x *invoking) final(inst addr.Instance, config mark.Value) bool {
	of, s := x.t.Object, x.p.run.Program.Schema(x.i.Decl)
	switch {
	case config.Has(mark.Ephemeral):
		x.p.run.Bag.Add(diag.Errorf("Invalid use of an ephemeral value", "%s is invoked when %s is destroyed. The plan contains the configuration of such actions, so it cannot have ephemeral values.", inst, of).At(x.at).About(of.Instance))
		return false
	case !s.NullWriteOnly(config.Raw).RawEquals(config.Raw):
		x.p.run.Bag.Add(diag.Errorf("Action for destroy must be known", "%s is invoked when %s is destroyed. The plan contains the configuration of such actions, and no plan contains values of write-only arguments, so these must be null.", inst, of).At(x.at).About(of.Instance))
		return false
	case !config.Raw.IsWhollyKnown() && x.f.Keys(x.i.Decl, x.face, &diag.Bag{}).Lacks(x.i.Key):
		x.p.run.Bag.Add(diag.Errorf("Action for destroy must be known", "%s is invoked when %s is destroyed, and its key is no longer in the for_each of the action, so each.value is not known. Use each.key only, or values of \"caller\".", inst, of).At(x.at).About(of.Instance))
		return false
	case !config.Raw.IsWhollyKnown():
		x.p.run.Bag.Add(diag.Errorf("Action for destroy must be known", "%s is invoked when %s is destroyed, so its configuration must be known during plan. It depends on values that are known only after apply.", inst, of).At(x.at).About(of.Instance))
		return false
	}
	return true
}

// exists reports whether the configuration of an action that the user invokes is known, apart from write-only
// arguments. If it is not known, exists reports an error that names the missing objects.
func (x *invoking) exists(inst addr.Instance, config mark.Value) bool {
	d := x.p.run.Program.Decls()[x.i.Decl]
	if x.p.run.Program.Schema(d.ID).NullWriteOnly(config.Raw).IsWhollyKnown() {
		return true
	}
	var lacking []string
	x.p.run.Receivers.Resources(d.ID, func(ref program.Ref) {
		to := x.p.run.Program.Decls()[ref.To].Resource
		if to.Mode == addr.Managed && !slices.ContainsFunc(x.p.stored(to), func(o addr.Object) bool { return !o.IsDeposed() }) {
			lacking = append(lacking, to.String())
		}
	})
	text := "has values that are known only after apply, such as results of timestamp() and attributes of objects that do not exist. Run \"lethe apply\" to create such objects, or use values that are known during plan."
	if slices.Sort(lacking); len(lacking) > 0 {
		text = "refers to objects that do not exist. The state has no object of " + strings.Join(slices.Compact(lacking), ", ") + ".\n\nRun \"lethe apply\" to create them, and then invoke the action."
	}
	x.p.run.Bag.Add(diag.Errorf("Action configuration is not known", "The configuration of %s %s", inst, text).At(d.Range).About(inst))
	return false
}

// session returns the session (the configured process) of the provider that runs the action. An action at the
// destruction of an object uses the session that destroys the object, usually with the prior settings of the provider.
// It reports an error and returns false if the provider cannot be configured.
func (x *invoking) session(ctx context.Context, u declared.Use) (*run.Session, bool) {
	if x.t.Event.Ends() {
		return x.p.run.Sessions.GetDown(ctx, x.p.run.Bag, u)
	}
	return x.p.run.Sessions.Get(ctx, x.p.run.Bag, u, frame.After)
}
