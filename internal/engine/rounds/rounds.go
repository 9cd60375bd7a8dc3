// Package rounds decides about the later rounds of an apply (ADR 52). A round is a plan and its apply, in a command
// that needs several. The user approves the plan of the first round, and may approve plans of later rounds. For each
// later plan, Approval decides which changes the approvals cover. Needed decides which leases later rounds need. The
// package depends only on programs and plans.
package rounds

import (
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/plan"
)

// Approval is the part of the later rounds that a user has approved. It covers reads, and the destruction of old
// objects after a replacement that creates the new object first. It covers a number of creations of the resources that
// the approved plans listed, with the listed invocations of actions.
type Approval struct {
	listed   map[addr.Resource]bool
	invoked  map[invoked]bool
	replaced map[addr.Instance]bool // instances whose replacement creates the new object in this plan, and leaves the destruction of the old one to a later round
	left     int                    // number of creations
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

// Approve returns the approval of a plan. most is the number of creations in later rounds that the approval covers.
func Approve(p *plan.Plan, most int) *Approval {
	a := &Approval{listed: map[addr.Resource]bool{}, invoked: map[invoked]bool{}, replaced: map[addr.Instance]bool{}, left: most}
	a.Extend(p)
	return a
}

// Extend adds another approved plan: its resources, without keys, its invocations and its replacements.
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

// Uncovered returns the changes of a later plan that need a separate approval. If it returns none, the creations in the
// plan count toward the approved number.
func (a *Approval) Uncovered(p *plan.Plan) []*plan.Change {
	var out, created []*plan.Change
	more := map[addr.Object]bool{} // objects with invocations that were not listed
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
