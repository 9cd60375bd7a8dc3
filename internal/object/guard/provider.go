package guard

import (
	"context"
	"iter"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/provider"
)

// Plan makes the call PlanResourceChange. A request without a proposed object plans a destruction.
func (p Provider) Plan(ctx context.Context, r provider.PlanRequest) Answer {
	resp, ds := p.to.Plan(ctx, r)
	a := Answer{
		of: planned, mayDefer: r.Allow.Deferral, sent: r.Private,
		state: resp.Planned, private: resp.Private, identity: resp.Identity, replace: resp.Replace,
		legacy: resp.LegacyTypes, deferred: resp.Deferred, diags: ds,
	}
	if isNull(r.Proposed.Msgpack) {
		a.of = plannedDestroy
	}
	return a
}

// Apply makes the call ApplyResourceChange. A request without a planned object destroys.
func (p Provider) Apply(ctx context.Context, r provider.ApplyRequest) Answer {
	resp, ds := p.to.Apply(ctx, r)
	a := Answer{
		of: applied, state: resp.State, private: resp.Private, identity: resp.Identity,
		legacy: resp.LegacyTypes, unanswered: resp.Unanswered, diags: ds,
	}
	if isNull(r.Planned.Msgpack) {
		a.of = destroyed
	}
	return a
}

// Undo makes the call ApplyResourceChange to destroy an object that was just created. made is the answer to the create
// call.
func (p Provider) Undo(ctx context.Context, t *Type, made *Answer) Answer {
	resp, ds := p.to.Apply(ctx, provider.ApplyRequest{
		Type: t.Name, Prior: Send(made.wire), Planned: Send(NullWire), Config: Send(NullWire),
		Private: made.private, Identity: made.identity, Meta: t.Meta,
	})
	return Answer{of: undone, state: resp.State, diags: ds}
}

// Read makes the call ReadResource.
func (p Provider) Read(ctx context.Context, r provider.ReadRequest) Answer {
	resp, ds := p.to.Read(ctx, r)
	return Answer{
		of: read, mayDefer: r.Allow.Deferral, state: resp.State, private: resp.Private, identity: resp.Identity,
		deferred: resp.Deferred, diags: ds,
	}
}

// Unchecked returns the answer that Read would return for an object that has not changed since it was stored. It makes
// no call. wire is the encoded object.
func Unchecked(wire, private []byte) Answer {
	return Answer{of: read, state: Send(wire), private: private}
}

// ReadData makes the call ReadDataSource.
func (p Provider) ReadData(ctx context.Context, r provider.DataRequest) Answer {
	resp, ds := p.to.ReadData(ctx, r)
	return Answer{of: readData, mayDefer: r.Allow.Deferral, state: resp.State, deferred: resp.Deferred, diags: ds}
}

// List makes the call ListResource. The caller must pass each answer to Admit before it takes the next answer.
func (p Provider) List(ctx context.Context, r provider.ListRequest) iter.Seq[Answer] {
	return func(yield func(Answer) bool) {
		for found, ds := range p.to.List(ctx, r) {
			if !yield(Answer{of: listed, state: found.Object, identity: found.Identity, name: found.Name, diags: ds}) {
				return
			}
		}
	}
}

// PlanAction makes the call PlanAction.
func (p Provider) PlanAction(ctx context.Context, r provider.ActionRequest) Answer {
	why, ds := p.to.PlanAction(ctx, r)
	return Answer{of: plannedAction, mayDefer: r.Allow.Deferral, deferred: why, diags: ds}
}

// Invoke makes the call InvokeAction. The caller must pass each answer to Admit before it takes the next answer.
func (p Provider) Invoke(ctx context.Context, r provider.ActionRequest) iter.Seq[Answer] {
	return func(yield func(Answer) bool) {
		for x, ds := range p.to.Invoke(ctx, r) {
			if !yield(Answer{of: invoked, name: x.Progress, ended: x.Ended, unanswered: x.Unanswered, diags: ds}) {
				return
			}
		}
	}
}

// Import makes the call ImportResourceState.
func (p Provider) Import(ctx context.Context, r provider.ImportRequest) Answer {
	resp, ds := p.to.Import(ctx, r)
	return Answer{of: imported, mayDefer: r.Allow.Deferral, found: resp.Objects, deferred: resp.Deferred, diags: ds}
}

// Upgrade makes the call UpgradeResourceState.
func (p Provider) Upgrade(ctx context.Context, r provider.UpgradeRequest) Answer {
	resp, ds := p.to.Upgrade(ctx, r)
	return Answer{of: upgraded, state: resp.State, diags: ds}
}

// UpgradeIdentity makes the call UpgradeResourceIdentity. version is the version of the identity schema with which json
// was stored.
func (p Provider) UpgradeIdentity(ctx context.Context, typ string, version int64, json []byte) Answer {
	identity, ds := p.to.UpgradeIdentity(ctx, typ, version, json)
	return Answer{of: upgradedIdentity, identity: identity, diags: ds}
}

// Move makes the call MoveResourceState. Many providers accept only one address of the source provider. So if the
// provider refuses the source, Move repeats the call with the address of the source provider in the other registry
// (Terraform's or OpenTofu's). If the second call fails, too, Move returns the answer to the first call.
func (p Provider) Move(ctx context.Context, r provider.MoveRequest) Answer {
	resp, ds := p.to.Move(ctx, r)
	if other, ok := r.SourceProvider.Counterpart(); ok && ds.HasErrors() {
		r.SourceProvider = other
		if again, more := p.to.Move(ctx, r); !more.HasErrors() {
			resp, ds = again, more
		}
	}
	return Answer{of: moved, state: resp.State, private: resp.Private, identity: resp.Identity, diags: ds}
}

// Open makes the call OpenEphemeralResource.
func (p Provider) Open(ctx context.Context, r provider.OpenRequest) Answer {
	resp, ds := p.to.Open(ctx, r)
	return Answer{
		of: opened, mayDefer: r.Allow.Deferral, state: resp.Result, private: resp.Private, renewAt: resp.RenewAt,
		unanswered: resp.Unanswered, deferred: resp.Deferred, diags: ds,
	}
}

// Replay returns a Provider whose next Apply call returns the given answer without a call. The answer is the answer
// that another process received for the same call. Further Apply calls, also by Undo, return an error.
func (p Provider) Replay(answer provider.ApplyResponse, ds provider.Diags) Provider {
	return Provider{&replayed{p.to, answer, ds}}
}

type replayed struct {
	provider.Provider
	answer provider.ApplyResponse
	ds     provider.Diags
}

// Apply returns the answer at the first call, and an error at further calls.
func (r *replayed) Apply(context.Context, provider.ApplyRequest) (provider.ApplyResponse, provider.Diags) {
	answer, ds := r.answer, r.ds
	r.answer, r.ds = provider.ApplyResponse{}, provider.Diags{{Severity: diag.Error}}
	return answer, ds
}
