package planning

import (
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/declared"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/plan"
)

// laterInvocations returns the invocations of actions that the deferred changes of a plan may cause in later rounds
// (further plans and applies of the command). Their configurations are unknown now.
func laterInvocations(p *planner, deferred []*plan.Change) (out []*plan.Invocation) {
	for _, c := range deferred {
		d, ok := p.run.Program.Resource(c.Object.Resource())
		if !ok {
			continue
		}
		for block, t := range p.run.Program.Def(d.ID).Lifecycle.ActionTriggers {
			for _, e := range plan.EventsOf(c.Action) {
				if slices.Contains(t.Events, e) {
					out = append(out, laterOf(p, d, c, t, plan.Trigger{Object: c.Object, Event: e, Block: block, OnFailure: t.OnFailure})...)
				}
			}
		}
	}
	return out
}

// leaveInvocations removes the invocations at the destruction of objects from a plan, if the plan leaves the
// destruction to a later round.
func leaveInvocations(p *plan.Plan) {
	left := map[addr.Object]bool{}
	for _, c := range p.Deferred {
		left[c.Object] = c.Action == plan.Delete || c.Action == plan.Forget
	}
	for _, c := range p.Changes {
		left[c.Object] = left[c.Object] || c.Deferral != nil
	}
	p.Invocations = slices.DeleteFunc(p.Invocations, func(i *plan.Invocation) bool { return i.Trigger.Event.Ends() && left[i.Trigger.Object] })
}

// laterOf returns the invocations of one trigger for one event of a deferred change. It returns nil if the condition of
// the trigger is known to be false.
func laterOf(p *planner, d *program.Declaration, c *plan.Change, t *program.ActionTrigger, by plan.Trigger) (out []*plan.Invocation) {
	f := p.run.Frame.At(c.Object.Module, frame.After)
	if c.Deferral.Pattern != "" {
		f = nil
	}
	if f != nil {
		if holds, o := frame.Actions(f).Holding(d.ID, c.Object.Key, t, &c.After, frame.After, &diag.Bag{}); o == frame.OK && !holds {
			return nil
		}
	}
	for n, ref := range t.Invokes {
		a, key := p.run.Program.Decls()[program.Invoked(p.run.Program, d.ID, ref)], addr.NoKey
		if f != nil {
			if i, o := frame.Actions(f).Invoked(d.ID, c.Object.Key, ref, frame.After, &diag.Bag{}); o == frame.OK {
				key = i.Key
			}
		}
		by.Index = n
		out = append(out, &plan.Invocation{
			Action: a.Resource.In(c.Object.Module).Instance(key), Trigger: by, Deferral: c.Deferral,
			Provider: declared.UseOf(p.run.Program, a, addr.NoKey).Instance, Config: mark.Plain(p.run.Program.Schema(a.ID).Unknown()),
		})
	}
	return out
}
