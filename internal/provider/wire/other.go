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
	x := &struct {
		parts
		req  wirepb.ReadDataSource_Request
		resp wirepb.ReadDataSource_Response
	}{}
	x.req.TypeName = r.Type
	x.req.Config = x.dynamic(r.Config)
	x.req.ProviderMeta = x.dynamic(r.Meta)
	x.req.ClientCapabilities = capabilities(r.Allow)
	if ds := c.call(ctx, readData, &x.req, &x.resp); ds != nil {
		return provider.DataResponse{}, ds
	}
	return provider.DataResponse{
		State:    fromDynamic(x.resp.State),
		Deferred: fromDeferred(x.resp.Deferred),
	}, c.diags(x.resp.Diagnostics)
}

// Open opens an ephemeral resource. What came back is there also beside errors: what was opened
// must be closed.
func (c *client) Open(ctx context.Context, r provider.OpenRequest) (provider.OpenResponse, provider.Diags) {
	x := &struct {
		parts
		req  wirepb.OpenEphemeralResource_Request
		resp wirepb.OpenEphemeralResource_Response
	}{}
	x.req.TypeName = r.Type
	x.req.Config = x.dynamic(r.Config)
	x.req.ClientCapabilities = capabilities(r.Allow)
	if unanswered, ds := c.effect(ctx, openEphemeral, &x.req, &x.resp); ds != nil {
		for i := range ds {
			ds[i].Detail += " If it was opened by then, it stays open: what is needed to close it was not answered."
		}
		return provider.OpenResponse{Unanswered: unanswered}, ds
	}
	return provider.OpenResponse{
		Result:   fromDynamic(x.resp.Result),
		Private:  x.resp.Private,
		RenewAt:  fromTime(x.resp.RenewAt),
		Deferred: fromDeferred(x.resp.Deferred),
	}, c.badTime(openEphemeral, r.Type, x.resp.RenewAt, c.diags(x.resp.Diagnostics))
}

// Renew prolongs a lease.
func (c *client) Renew(ctx context.Context, typ string, private []byte) (provider.RenewResponse, provider.Diags) {
	req := &wirepb.RenewEphemeralResource_Request{TypeName: typ, Private: private}
	var resp wirepb.RenewEphemeralResource_Response
	if ds := c.call(ctx, renewEphemeral, req, &resp); ds != nil {
		return provider.RenewResponse{}, ds
	}
	return provider.RenewResponse{
		Private: resp.Private,
		RenewAt: fromTime(resp.RenewAt),
	}, c.badTime(renewEphemeral, typ, resp.RenewAt, c.diags(resp.Diagnostics))
}

// CloseLease ends a lease.
func (c *client) CloseLease(ctx context.Context, typ string, private []byte) provider.Diags {
	req := &wirepb.CloseEphemeralResource_Request{TypeName: typ, Private: private}
	var resp wirepb.CloseEphemeralResource_Response
	if ds := c.call(ctx, closeEphemeral, req, &resp); ds != nil {
		return ds
	}
	return c.diags(resp.Diagnostics)
}

// badTime adds an error to ds if t is no time.
func (c *client) badTime(m method, typ string, t *timestamppb.Timestamp, ds provider.Diags) provider.Diags {
	if t == nil || t.IsValid() {
		return ds
	}
	return append(ds, diag.Errorf("Plugin error",
		"The %s answered the call %s for %s with a time of renewal that does not exist (%d seconds, %d nanoseconds after 1970). This is a bug in the provider.",
		c, c.methods.short(m), typ, t.Seconds, t.Nanos))
}

// ConfiguredFunctions asks for the functions of a process that was configured. Providers older than the call have
// no others than those of their schemas.
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
			ds = append(ds, c.leftOut(name, err))
			continue
		}
		out[name] = f
	}
	return out, ds
}

// Call runs a function. The error is a *provider.CallError where the function complains, and a
// diag.Diagnostic where the call itself went wrong.
func (c *client) Call(ctx context.Context, function string, args []provider.Dynamic) (provider.Dynamic, error) {
	req := &wirepb.CallFunction_Request{Name: function, Arguments: make([]*wirepb.DynamicValue, len(args))}
	values := make([]wirepb.DynamicValue, len(args))
	for i, a := range args {
		values[i].Msgpack, values[i].Json = a.Msgpack, a.JSON
		req.Arguments[i] = &values[i]
	}
	var resp wirepb.CallFunction_Response
	if ds := c.call(ctx, callFunction, req, &resp); ds != nil {
		return provider.Dynamic{}, ds[0]
	}
	if e := resp.Error; e != nil {
		return provider.Dynamic{}, &provider.CallError{Text: e.Text, Arg: blamed(e, len(args))}
	}
	return fromDynamic(resp.Result), nil
}

// blamed is the index of the argument at fault, -1 if it is none of those that were given.
func blamed(e *wirepb.FunctionError, args int) int {
	if e.FunctionArgument == nil || *e.FunctionArgument < 0 || *e.FunctionArgument >= int64(args) {
		return -1
	}
	return int(*e.FunctionArgument)
}
