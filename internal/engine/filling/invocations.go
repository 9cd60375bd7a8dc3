package filling

import (
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/plan"
)

// InvocationsFor returns the invocations of actions for an event of an object, in their order.
func InvocationsFor(p *plan.Plan, of addr.Object, e config.Event) []*plan.Invocation {
	at := &plan.Invocation{Trigger: plan.Trigger{Object: of, Event: e}}
	i, _ := slices.BinarySearchFunc(p.Invocations, at, (*plan.Invocation).Compare)
	n := i
	for n < len(p.Invocations) && p.Invocations[n].Trigger.Object == of && p.Invocations[n].Trigger.Event == e {
		n++
	}
	return p.Invocations[i:n]
}

// Around returns the events before and after the part of a change that creates or updates the object (up), or the part
// that destroys it.
func Around(a plan.Action, up bool) [2]config.Event {
	switch {
	case up && a == plan.Update:
		return [2]config.Event{config.BeforeUpdate, config.AfterUpdate}
	case up:
		return [2]config.Event{config.BeforeCreate, config.AfterCreate}
	}
	return [2]config.Event{config.BeforeDestroy, config.AfterDestroy}
}
