package object

import (
	"context"

	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/state"
)

// Recovered returns the state entry for an apply call that a process made and whose answer it could not record, because
// the engine crashed. It is the same entry that Up or Down would return for the answer, and nil if the object no longer
// exists. stored has the fields of the entry that were known before the answer. prior is the entry before the call, or
// nil for a create. The second result is false if the entry cannot be determined, or if the answer contains a secret.
// Then the caller must record nothing.
func (t *Tools) Recovered(ctx context.Context, call provider.ApplyRequest, answer provider.ApplyResponse, ds provider.Diags, stored, prior *state.Entry) (*state.Entry, bool) {
	t.Provider = t.Provider.Replay(answer, ds)
	if isNull(call.Planned.Msgpack) {
		left, _ := t.Down(ctx, Current{Entry: prior, Known: Known{Wire: call.Prior.Msgpack}}, call.Private)
		return left, !t.Walk.Guard.Secrets.Found()
	}
	config, read := decode(t, call.Config.Msgpack, "Invalid value")
	was, readWas := decode(t, call.Prior.Msgpack, "Invalid value")
	planned, readPlanned := decode(t, call.Planned.Msgpack, "Invalid value")
	identity, readIdentity := t.subject().DecodeIdentity(call.Identity)
	if !read || !readWas || !readPlanned || !readIdentity {
		return nil, false
	}
	_, entry, ok := t.Up(ctx, &Proposal{
		Asked: mark.Value{Raw: config, Marks: mark.SensitiveAt(stored.Sensitive)}, Config: call.Config.Msgpack, Written: call.Config.Msgpack,
		Planned: call.Planned.Msgpack, Value: planned, Prior: call.Prior.Msgpack, Was: was, Private: call.Private, Identity: identity,
	}, prior, Stored{Provider: stored.Provider, Recorded: stored.Recorded, CreateFirst: stored.CreateFirst, SkipDestroy: stored.SkipDestroy, Protected: stored.Protected})
	if ok && stored.Tainted {
		entry.Tainted = true
	}
	return entry, !t.Walk.Guard.Secrets.Found()
}

// Learn registers the secrets in result, the answer to a call that opened an ephemeral resource with the configuration
// config, so that outputs mask them. It returns false if config or result cannot be decoded.
func (t *Tools) Learn(config, result provider.Dynamic) bool {
	return t.Walk.Guard.Learn(t.subject(), config, result)
}
