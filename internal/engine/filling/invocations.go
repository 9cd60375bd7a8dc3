package filling

import (
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/plan"
)

// InvocationsFor returns the planned invocations of actions for an event of an object, such as after_create, in their
// order.
func InvocationsFor(p *plan.Plan, of addr.Object, e config.Event) []*plan.Invocation {
	at := &plan.Invocation{Trigger: plan.Trigger{Object: of, Event: e}}
	i, _ := slices.BinarySearchFunc(p.Invocations, at, (*plan.Invocation).Compare)
	n := i
	for n < len(p.Invocations) && p.Invocations[n].Trigger.Object == of && p.Invocations[n].Trigger.Event == e {
		n++
	}
	return p.Invocations[i:n]
}

// Around returns the two events around a part of a change with the action a: before and after its creation or update if
// up is true, and before and after its destruction otherwise.
func Around(a plan.Action, up bool) [2]config.Event {
	switch {
	case up && a == plan.Update:
		return [2]config.Event{config.BeforeUpdate, config.AfterUpdate}
	case up:
		return [2]config.Event{config.BeforeCreate, config.AfterCreate}
	}
	return [2]config.Event{config.BeforeDestroy, config.AfterDestroy}
}
