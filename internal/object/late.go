package object

import (
	"context"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/state"
)

// Late makes the entry of a call that another process has made and not recorded: it is the one that Up or Down give for the
// same answer. stored is the entry as far as it was known before the answer, prior what was there; nil for nothing. ok is
// false where that cannot be said, or where a secret is in the answer: nothing is to be recorded then.
func (t *Tools) Late(ctx context.Context, call provider.ApplyRequest, answer provider.ApplyResponse, ds provider.Diags, stored, prior *state.Entry) (*state.Entry, bool) {
	t.Provider = &answered{t.Provider, answer, ds}
	if isNull(call.Planned.Msgpack) {
		left, _ := t.Down(ctx, Current{Entry: prior, Known: Known{Wire: call.Prior.Msgpack}}, call.Private)
		return left, !t.Walk.Secrets.Found()
	}
	config, read := decode(t, call.Config.Msgpack, "Invalid value")
	was, readWas := decode(t, call.Prior.Msgpack, "Invalid value")
	planned, readPlanned := decode(t, call.Planned.Msgpack, "Invalid value")
	identity, readIdentity := decodeIdentity(t, call.Identity)
	if !read || !readWas || !readPlanned || !readIdentity {
		return nil, false
	}
	_, entry, ok := t.Up(ctx, &Proposal{
		Asked: mark.Value{Raw: config, Marks: mark.SensitiveAt(stored.Sensitive)}, Config: call.Config.Msgpack, Written: call.Config.Msgpack,
		Planned: call.Planned.Msgpack, Value: planned, Prior: call.Prior.Msgpack, Was: was, Private: call.Private, Identity: identity,
	}, prior, Stored{Provider: stored.Provider, Recorded: stored.Recorded, CreateFirst: stored.CreateFirst, SkipDestroy: stored.SkipDestroy})
	if ok && stored.Tainted {
		entry.Tainted = true
	}
	return entry, !t.Walk.Secrets.Found()
}

// Learn registers what is secret in the answer to a call that opened something.
func (t *Tools) Learn(config, result provider.Dynamic) bool {
	asked, err := decodeAny(config, t.Type.Type())
	if err != nil {
		return false
	}
	v, err := decodeAny(result, t.Type.Type())
	if err == nil {
		guardResult(t, v, asked)
	}
	return err == nil
}

// answered is a provider that has given its answer already. It is not asked to take it back.
type answered struct {
	provider.Provider
	answer provider.ApplyResponse
	ds     provider.Diags
}

// Apply gives the answer, once.
func (a *answered) Apply(context.Context, provider.ApplyRequest) (provider.ApplyResponse, provider.Diags) {
	answer, ds := a.answer, a.ds
	a.answer, a.ds = provider.ApplyResponse{}, provider.Diags{{Severity: diag.Error}}
	return answer, ds
}
