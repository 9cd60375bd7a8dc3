package provider

import (
	"context"
	"iter"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
)

// Idle returns a provider for calls that need no settings: schemas, validation, functions, upgrades and moves. The pool
// sends each call to the process that currently answers such calls (see idle). Calls that need settings, such as Read,
// return an error, and Shutdown does nothing. Idle returns an error if the process cannot be started. For a built-in
// provider, Idle returns that provider.
func (pool *Pool) Idle(ctx context.Context, a addr.Provider) (Provider, error) {
	k := pool.kind(a)
	if k.builtin != nil {
		return k.builtin, nil
	}
	p, err := pool.share(ctx, k)
	if err != nil {
		return nil, err
	}
	p.calls.Done()
	return k.face, nil
}

// use makes one call to the process that currently answers calls without settings, and starts this process if
// necessary. If the start fails, use returns its error as a diagnostic.
func use[T any](ctx context.Context, i *idle, call func(Provider) (T, Diags)) (T, Diags) {
	p, err := i.pool.share(ctx, i.kind)
	if err != nil {
		var none T
		return none, Diags{Fault(i.kind.addr, err)}
	}
	defer p.calls.Done()
	i.pool.prime(ctx, p)
	return call(p.Provider)
}

// useForDiags is the function use for a call whose answer has only diagnostics.
func useForDiags(ctx context.Context, i *idle, call func(Provider) Diags) Diags {
	_, ds := use(ctx, i, func(p Provider) (struct{}, Diags) { return struct{}{}, call(p) })
	return ds
}

func (i *idle) Addr() addr.Provider { return i.kind.addr }

func (i *idle) Schemas(ctx context.Context) (*Schemas, Diags) {
	return i.pool.Schemas(ctx, i.kind.addr)
}

func (i *idle) ValidateConfig(ctx context.Context, config Dynamic) (Dynamic, Diags) {
	return use(ctx, i, func(p Provider) (Dynamic, Diags) { return p.ValidateConfig(ctx, config) })
}

func (i *idle) Validate(ctx context.Context, mode addr.Mode, typ string, config Dynamic) Diags {
	return useForDiags(ctx, i, func(p Provider) Diags { return p.Validate(ctx, mode, typ, config) })
}

func (i *idle) Upgrade(ctx context.Context, r UpgradeRequest) (UpgradeResponse, Diags) {
	return use(ctx, i, func(p Provider) (UpgradeResponse, Diags) { return p.Upgrade(ctx, r) })
}

func (i *idle) Move(ctx context.Context, r MoveRequest) (MoveResponse, Diags) {
	return use(ctx, i, func(p Provider) (MoveResponse, Diags) { return p.Move(ctx, r) })
}

func (i *idle) Call(ctx context.Context, function string, args []Dynamic) (Dynamic, error) {
	p, err := i.pool.share(ctx, i.kind)
	if err != nil {
		return Dynamic{}, Fault(i.kind.addr, err)
	}
	defer p.calls.Done()
	i.pool.prime(ctx, p)
	return p.Call(ctx, function, args)
}

func (i *idle) UpgradeIdentity(ctx context.Context, typ string, version int64, json []byte) (Dynamic, Diags) {
	return use(ctx, i, func(p Provider) (Dynamic, Diags) { return p.UpgradeIdentity(ctx, typ, version, json) })
}

func (i *idle) Stop(ctx context.Context) error {
	p, err := i.pool.share(ctx, i.kind)
	if err != nil {
		return err
	}
	defer p.calls.Done()
	return p.Stop(ctx)
}

func (i *idle) Shutdown() error { return nil }

// refuse returns the error for calls that need settings. The process may have settings, but a session (another caller
// of the pool) has set them for its own calls.
func (i *idle) refuse(call string) Diags {
	return Diags{diag.Errorf("Provider not configured",
		"%s was called on the provider %s without a configuration. This is a bug in Lethe.", call, i.kind.addr)}
}

func (i *idle) Configure(context.Context, Dynamic, Allow) Diags { return i.refuse("Configure") }

func (i *idle) Read(context.Context, ReadRequest) (ReadResponse, Diags) {
	return ReadResponse{}, i.refuse("Read")
}

func (i *idle) Plan(context.Context, PlanRequest) (PlanResponse, Diags) {
	return PlanResponse{}, i.refuse("Plan")
}

func (i *idle) Apply(context.Context, ApplyRequest) (ApplyResponse, Diags) {
	return ApplyResponse{}, i.refuse("Apply")
}

func (i *idle) Import(context.Context, ImportRequest) (ImportResponse, Diags) {
	return ImportResponse{}, i.refuse("Import")
}

func (i *idle) ReadData(context.Context, DataRequest) (DataResponse, Diags) {
	return DataResponse{}, i.refuse("ReadData")
}

func (i *idle) List(context.Context, ListRequest) iter.Seq2[Listed, Diags] {
	return func(yield func(Listed, Diags) bool) { yield(Listed{}, i.refuse("List")) }
}

func (i *idle) PlanAction(context.Context, ActionRequest) (Deferred, Diags) {
	return "", i.refuse("PlanAction")
}

func (i *idle) Invoke(context.Context, ActionRequest) iter.Seq2[Invoked, Diags] {
	return func(yield func(Invoked, Diags) bool) { yield(Invoked{}, i.refuse("Invoke")) }
}

func (i *idle) ConfiguredFunctions(context.Context) (map[string]*Function, Diags) {
	return nil, i.refuse("ConfiguredFunctions")
}

func (i *idle) Open(context.Context, OpenRequest) (OpenResponse, Diags) {
	return OpenResponse{}, i.refuse("Open")
}

func (i *idle) Renew(context.Context, string, []byte) (RenewResponse, Diags) {
	return RenewResponse{}, i.refuse("Renew")
}

func (i *idle) CloseLease(context.Context, string, []byte) Diags { return i.refuse("CloseLease") }
