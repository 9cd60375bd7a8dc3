package object

import (
	"context"
	"time"

	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/object/guard"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/zclconf/go-cty/cty"
)

// Open opens an ephemeral resource, and returns its value, which has the ephemeral mark as a whole. If the provider may
// now hold a lease (the open resource), Open calls held with the lease before it checks the rest of the answer. The
// caller must close this lease, even if Open fails. The outcome is Known, Deferred if the provider deferred its answer
// and t.Allow permits this, or Failed after an error, which Open reports. The parameter why is the origin of the
// ephemeral mark, for messages.
func (t *Tools) Open(ctx context.Context, config mark.Value, why *mark.Origin, held func(guard.Lease)) (mark.Value, plan.Outcome) {
	wire, ok := encode(t, config.Raw)
	if !ok {
		return mark.Value{}, plan.Outcome{}
	}
	learned := t.Walk.Guard.Secrets.Learning()
	defer func() { learned(!t.Unanswered || !t.Provider.Crashed()) }()
	began := time.Now()
	t.send(event.Started{Object: t.Object, Op: event.Open, At: began})
	answer, called := t.ask(ctx, event.CallOpen, func() guard.Answer {
		return t.Provider.Open(ctx, provider.OpenRequest{Type: t.Type.Name, Config: guard.Send(wire), Allow: t.Allow, Note: t.Note})
	})
	if !called {
		return mark.Value{}, plan.Outcome{}
	}
	a, ok := t.admit(&answer, guard.Terms{Config: config, Held: held})
	if t.Unanswered = a.Unanswered; !ok {
		t.send(event.Failed{Object: t.Object, Op: event.Open, Took: time.Since(began)})
		return mark.Value{}, a.Outcome
	}
	t.send(event.Done{Object: t.Object, Op: event.Open, Took: time.Since(began)})
	return markEphemeral(t, a.Value, config, why), a.Outcome
}

// markEphemeral returns v with the ephemeral mark on the whole value, and with the sensitive marks that the
// configuration and the schema give to parts of it. The parameter why is the origin of the ephemeral mark.
func markEphemeral(t *Tools, v cty.Value, config mark.Value, why *mark.Origin) mark.Value {
	out := t.Type.Marked(v, config)
	out.Marks = append([]mark.At{{Tag: mark.Ephemeral, Why: why}}, out.Marks...)
	return out
}

// Closed returns the value of an ephemeral resource that is not opened: the configured values, and unknown values for
// all other attributes. The whole value has the ephemeral mark, whose origin is why.
func (t *Tools) Closed(config mark.Value, why *mark.Origin) mark.Value {
	return markEphemeral(t, t.Type.Placeholder(config.Raw), config, why)
}
