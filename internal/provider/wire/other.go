package wire

import (
	"context"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/provider/wire/wirepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// ReadData reads a data source.
func (c *client) ReadData(ctx context.Context, r provider.DataRequest) (provider.DataResponse, provider.Diags) {
	resp, ds := ask[wirepb.ReadDataSource_Response](ctx, c, readData, &wirepb.ReadDataSource_Request{
		TypeName: r.Type, Config: toDynamic(r.Config), ProviderMeta: toDynamic(r.Meta), ClientCapabilities: capabilities(r.Allow),
	})
	return provider.DataResponse{State: fromDynamic(resp.GetState()), Deferred: fromDeferred(resp.GetDeferred())}, ds
}

// Open opens an ephemeral resource. The answer is valid even if there are errors, because an open lease must be closed.
func (c *client) Open(ctx context.Context, r provider.OpenRequest) (provider.OpenResponse, provider.Diags) {
	resp, unanswered, ds := effect[wirepb.OpenEphemeralResource_Response](ctx, c, openEphemeral, &wirepb.OpenEphemeralResource_Request{
		TypeName: r.Type, Config: toDynamic(r.Config), ClientCapabilities: capabilities(r.Allow),
	}, r.Note)
	if resp == nil {
		ds[0].Detail += " If the provider opened it, it stays open: without an answer, Lethe cannot close it."
	}
	return provider.OpenResponse{
		Result:     fromDynamic(resp.GetResult()),
		Private:    resp.GetPrivate(),
		RenewAt:    fromTime(resp.GetRenewAt()),
		Deferred:   fromDeferred(resp.GetDeferred()),
		Unanswered: unanswered,
	}, badTime(c, openEphemeral, r.Type, resp.GetRenewAt(), ds)
}

// Renew renews a lease (an open ephemeral resource). private is the private data of the opening or of the last renewal.
func (c *client) Renew(ctx context.Context, typ string, private []byte) (provider.RenewResponse, provider.Diags) {
	resp, ds := ask[wirepb.RenewEphemeralResource_Response](ctx, c, renewEphemeral,
		&wirepb.RenewEphemeralResource_Request{TypeName: typ, Private: private})
	return provider.RenewResponse{Private: resp.GetPrivate(), RenewAt: fromTime(resp.GetRenewAt())},
		badTime(c, renewEphemeral, typ, resp.GetRenewAt(), ds)
}

// CloseLease closes a lease (an open ephemeral resource). private is the private data of the opening or of the last
// renewal.
func (c *client) CloseLease(ctx context.Context, typ string, private []byte) provider.Diags {
	_, ds := ask[wirepb.CloseEphemeralResource_Response](ctx, c, closeEphemeral,
		&wirepb.CloseEphemeralResource_Request{TypeName: typ, Private: private})
	return ds
}

// badTime adds an error to ds if t is not nil and not a valid time.
func badTime(c *client, m method, typ string, t *timestamppb.Timestamp, ds provider.Diags) provider.Diags {
	if t == nil || t.IsValid() {
		return ds
	}
	return append(ds, diag.Errorf("Plugin error",
		"The %s answered the call %s for %s with an invalid time of renewal (%d seconds, %d nanoseconds after 1970). This is a bug in the provider.",
		c, c.methods.short(m), typ, t.Seconds, t.Nanos))
}

// ConfiguredFunctions requests the functions of a configured process. It returns nil if the provider does not support
// this call: then the provider has only the functions in its schemas. A function with an invalid signature is left out,
// with a warning.
func (c *client) ConfiguredFunctions(ctx context.Context) (map[string]*provider.Function, provider.Diags) {
	var resp wirepb.GetFunctions_Response
	err := c.conn.Invoke(ctx, c.methods[getFunctions], &wirepb.GetFunctions_Request{}, &resp)
	switch {
	case status.Code(err) == codes.Unimplemented:
		return nil, nil
	case err != nil:
		return nil, provider.Diags{c.fault(ctx, getFunctions, err)}
	}
	ds := c.diags(resp.Diagnostics)
	out := make(map[string]*provider.Function, len(resp.Functions))
	for name, m := range resp.Functions {
		f, err := functionOf(m)
		if err != nil {
			ds = append(ds, leftOut(c, name, err))
			continue
		}
		out[name] = f
	}
	return out, ds
}

// Call calls a function. If the function fails or an argument is wrong, the error is a *provider.CallError. If the call
// itself fails, the error is a diag.Diagnostic.
func (c *client) Call(ctx context.Context, function string, args []provider.Dynamic) (provider.Dynamic, error) {
	req := &wirepb.CallFunction_Request{Name: function}
	for _, a := range args {
		req.Arguments = append(req.Arguments, &wirepb.DynamicValue{Msgpack: a.Msgpack, Json: a.JSON})
	}
	var resp wirepb.CallFunction_Response
	if err := c.conn.Invoke(ctx, c.methods[callFunction], req, &resp); err != nil {
		return provider.Dynamic{}, c.fault(ctx, callFunction, err)
	}
	if e := resp.Error; e != nil {
		return provider.Dynamic{}, &provider.CallError{Text: e.Text, Arg: blamed(e, len(args))}
	}
	return fromDynamic(resp.Result), nil
}

// blamed returns the index of the argument that the error e is about. The call had args arguments. If e names none of
// them, blamed returns -1.
func blamed(e *wirepb.FunctionError, args int) int {
	if e.FunctionArgument == nil || *e.FunctionArgument < 0 || *e.FunctionArgument >= int64(args) {
		return -1
	}
	return int(*e.FunctionArgument)
}
