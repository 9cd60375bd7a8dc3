// Package rounds decides about the later rounds of an apply (ADR 52). A round is a plan and its apply, in a command
// that needs several, because some instance keys are known only after objects were created. The user approves the plan
// of the first round, and may approve plans of later rounds. For each later plan, Approval decides which changes the
// user has approved already. Needed decides which ephemeral resources stay open for later rounds. Earlier lists the
// objects with values of ephemeral resources that only this command can obtain. All results depend only on programs and
// plans.
package rounds

import (
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/plan"
)

// Approval is the part of later rounds that a user has approved. It covers three kinds of changes without a further
// question: reads of data sources; the destruction of an old object whose replacement an approved plan contained; and a
// limited number of creations of the resources that an approved plan listed as deferred. A change that invokes an
// action is covered only if an approved plan listed the invocation for a later round.
type Approval struct {
	listed   map[addr.Resource]bool // the resources of deferred changes in approved plans
	invoked  map[invoked]bool       // the invocations that approved plans list for later rounds (Plan.LaterInvocations)
	replaced map[addr.Instance]bool // instances whose replacement creates the new object in an approved plan, and destroys the old object in a later round
	left     int                    // number of creations that later rounds may still make
}

// invoked is an action that an event of a resource invokes. An approval covers the invocation for all objects of the
// resource.
type invoked struct {
	action, by addr.Resource
	event      config.Event
}

func invokedBy(i *plan.Invocation) invoked {
	return invoked{i.Action.Resource(), i.Trigger.Object.Resource(), i.Trigger.Event}
}

// Approve returns the approval of the plan p. The parameter most is the number of creations in later rounds that the
// approval covers.
func Approve(p *plan.Plan, most int) *Approval {
	a := &Approval{listed: map[addr.Resource]bool{}, invoked: map[invoked]bool{}, replaced: map[addr.Instance]bool{}, left: most}
	a.Extend(p)
	return a
}

// Extend adds the plan p, which the user has approved, too: its deferred resources, its deferred invocations, and its
// replacements that a later round completes.
func (a *Approval) Extend(p *plan.Plan) {
	for _, c := range p.Deferred {
		a.listed[c.Object.Resource()] = true
	}
	for _, i := range p.LaterInvocations {
		a.invoked[invokedBy(i)] = true
	}
	for _, c := range p.Changes {
		if c.Action == plan.CreateDelete && c.Deferral != nil {
			a.replaced[c.Object.Instance] = true
		}
	}
}

// Uncovered returns the changes of the plan p of a later round that need a separate approval. If p creates more objects
// than the approved number allows, these further creations are among the returned changes. If Uncovered returns no
// change, it subtracts the creations in p from the approved number.
func (a *Approval) Uncovered(p *plan.Plan) []*plan.Change {
	var out, created []*plan.Change
	more := map[addr.Object]bool{} // objects whose change invokes an action, at an event, that no approved plan listed for this event of the resource
	for _, i := range p.Invocations {
		more[i.Trigger.Object] = more[i.Trigger.Object] || !a.invoked[invokedBy(i)]
	}
	for _, c := range p.Changes {
		switch {
		case c.Action == plan.Read || c.Action == plan.NoOp && c.Importing == nil:
		case c.Action == plan.Delete && c.Object.IsDeposed() && a.replaced[c.Object.Instance] && !more[c.Object]:
		case c.Action == plan.Create && c.Importing == nil && a.listed[c.Object.Resource()] && !more[c.Object]:
			created = append(created, c)
		default:
			out = append(out, c)
		}
	}
	if len(created) > a.left {
		return append(out, created[max(a.left, 0):]...)
	}
	if len(out) == 0 {
		a.left -= len(created)
	}
	return out
}
