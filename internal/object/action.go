package object

import (
	"context"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/object/guard"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/provider"
)

// PlanAction asks the provider to validate and to plan an invocation of the action t.Object. config is the
// configuration of the action, and may have unknown values. The outcome is Known if the provider accepts the
// invocation, Deferred if the provider defers its answer and t.Allow permits this, and otherwise Failed.
func (t *Tools) PlanAction(ctx context.Context, config mark.Value) plan.Outcome {
	if !t.Validate(ctx, config) {
		return plan.Outcome{}
	}
	wire, ok := encode(t, config.Raw)
	if !ok {
		return plan.Outcome{}
	}
	answer, called := t.ask(ctx, event.CallPlan, func() guard.Answer {
		return t.Provider.PlanAction(ctx, provider.ActionRequest{Type: t.Type.Name, Config: guard.Send(wire), Allow: t.Allow})
	})
	if !called {
		return plan.Outcome{}
	}
	a, ok := t.admit(&answer, guard.Terms{})
	if !ok {
		return a.Outcome
	}
	return plan.Done(true)
}

// mostMessages is the maximum number of progress messages that are shown for one invocation.
const mostMessages = 1000

// Invoke invokes the action t.Object with the configuration config and waits for its end. The parameter of identifies
// the invocation in events. Invoke returns false if the action failed, if the provider did not answer, or if it made no
// call because the configuration cannot be encoded or the walk is cancelled. It makes one call and does not repeat a
// failed call, because the action may have had an effect.
func (t *Tools) Invoke(ctx context.Context, config mark.Value, of event.Invocation) bool {
	t.Walk.Guard.WriteOnly(t.Type.Schema, t.Object.Instance, config)
	t.Walk.Guard.Given(config, t.Type.Schema, t.Object.Instance.String())
	wire, ok := encode(t, config.Raw)
	if !ok {
		return false
	}
	t.send(event.ActionStarted{Invocation: of})
	done := event.ActionDone{Invocation: of, Failed: true}
	defer func() { t.send(done) }()
	reports := &firstError{t: t, text: &done.Error}
	subject := t.subject()
	subject.To = reports
	terms := guard.Terms{Unanswered: "may have been invoked, and may not have ended. Lethe does not invoke it again on its own: check its effects, and invoke it again if that is needed."}
	ended, shown := false, 0
	called := t.token(ctx, func() {
		for answer := range t.Provider.Invoke(ctx, provider.ActionRequest{Type: t.Type.Name, Config: guard.Send(wire), Note: t.Note}) {
			a, _ := t.Walk.Guard.Admit(subject, &answer, terms)
			if a.Ended {
				ended, done.Failed, t.Unanswered = true, !a.Succeeded, a.Unanswered
				return
			}
			switch shown++; {
			case shown <= mostMessages && a.Name != "":
				t.send(event.ActionProgress{Invocation: of, Message: a.Name})
			case shown == mostMessages+1:
				t.send(event.ActionProgress{Invocation: of, Message: "More messages are not shown."})
			}
		}
	})
	if called && !ended {
		t.Unanswered = true
	}
	return !done.Failed
}

// firstError passes diagnostics on, and keeps the summary of the first error.
type firstError struct {
	t    *Tools
	text *string
}

// Add passes d to Tools.Add. If d is the first error, Add keeps the summary of d. It implements guard.Reporter.
func (f *firstError) Add(d diag.Diagnostic) {
	if d.Severity == diag.Error && *f.text == "" {
		*f.text = d.Summary
	}
	f.t.Add(d)
}
