package wire

import (
	"context"
	"errors"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/provider/wire/wirepb"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
)

// ask makes one call. If the call fails, the answer is nil, whose getters return zero values, and the diagnostics
// contain the failure.
func ask[T any, R response[T]](ctx context.Context, c *client, m method, req proto.Message) (R, provider.Diags) {
	resp, _, ds := effect[T, R](ctx, c, m, req, provider.Note{})
	return resp, ds
}

// effect makes a call that changes or opens something. unanswered is true if the call was made, no answer was decoded,
// and the error does not exclude an effect of the call (see silent).
func effect[T any, R response[T]](ctx context.Context, c *client, m method, req proto.Message, note provider.Note) (resp R, unanswered bool, _ provider.Diags) {
	started := !c.crashed.Load() && ctx.Err() == nil
	ctx, cancel := c.within(ctx, m)
	defer cancel()
	resp = new(T)
	if err := c.conn.Invoke(ctx, c.methods[m], req, resp, Noted{Note: note}); err != nil {
		err = tooLargeAnswer(err, req)
		return nil, started && silent(err), provider.Diags{c.fault(ctx, m, err)}
	}
	return resp, false, c.diags(resp.GetDiagnostics())
}

// within adds the deadline of a call to the context. Renewals and closings get no deadline here, because their callers
// have set one. Calls without a time limit get no deadline either.
func (c *client) within(ctx context.Context, m method) (context.Context, context.CancelFunc) {
	switch d := c.opts.Deadlines; m {
	case configure:
		return provider.Within(ctx, "configure", d.Configure)
	case openEphemeral:
		return provider.Within(ctx, "open", d.Open)
	case applyResource, invokeAction:
		return provider.Within(ctx, "change", d.Change)
	}
	return ctx, func() {}
}

// Noted is an option of a call: the note with data for the journal of the run. Only connections through the keeper (the
// process that starts providers) use it.
type Noted struct {
	grpc.EmptyCallOption
	provider.Note
}

// Stop asks the provider to stop its running calls.
func (c *client) Stop(ctx context.Context) error {
	c.stopped.Store(true)
	var resp wirepb.StopProvider_Response
	if err := c.conn.Invoke(ctx, c.methods[stopProvider], &wirepb.StopProvider_Request{}, &resp); err != nil {
		return c.fault(ctx, stopProvider, err)
	}
	if resp.Error != "" {
		return errors.New(resp.Error)
	}
	return nil
}

// Shutdown calls Options.Close, which ends the process. Each later Shutdown returns the result of the first.
func (c *client) Shutdown() error { return c.close() }

// ValidateConfig checks the provider's settings. A provider of protocol 5 returns the settings with defaults. For
// protocol 6, ValidateConfig returns them unchanged. If the call itself fails, ValidateConfig returns the zero value
// and an error.
func (c *client) ValidateConfig(ctx context.Context, config provider.Dynamic) (provider.Dynamic, provider.Diags) {
	resp, ds := ask[wirepb.ValidateProviderConfig_Response](ctx, c, validateProvider,
		&wirepb.ValidateProviderConfig_Request{Config: toDynamic(config)})
	switch prepared := fromDynamic(resp.GetPreparedConfig()); {
	case resp == nil:
		return provider.Dynamic{}, ds
	case c.major == 5 && !isZero(prepared):
		return prepared, ds
	}
	return config, ds
}

// Configure sends the settings to the provider.
func (c *client) Configure(ctx context.Context, config provider.Dynamic, allow provider.Allow) provider.Diags {
	_, ds := ask[wirepb.ConfigureProvider_Response](ctx, c, configure, &wirepb.ConfigureProvider_Request{
		TerraformVersion: c.opts.Terraform, Config: toDynamic(config), ClientCapabilities: capabilities(allow),
	})
	return ds
}

// Validate checks the configuration of a resource, data source, ephemeral resource, list resource or action.
func (c *client) Validate(ctx context.Context, mode addr.Mode, typ string, config provider.Dynamic) (ds provider.Diags) {
	switch value := toDynamic(config); mode {
	case addr.Managed:
		_, ds = ask[wirepb.ValidateResourceConfig_Response](ctx, c, validateResource,
			&wirepb.ValidateResourceConfig_Request{TypeName: typ, Config: value, ClientCapabilities: capabilities(provider.Allow{})})
	case addr.Data:
		_, ds = ask[wirepb.ValidateDataResourceConfig_Response](ctx, c, validateData,
			&wirepb.ValidateDataResourceConfig_Request{TypeName: typ, Config: value})
	case addr.Ephemeral:
		_, ds = ask[wirepb.ValidateEphemeralResourceConfig_Response](ctx, c, validateEphemeral,
			&wirepb.ValidateEphemeralResourceConfig_Request{TypeName: typ, Config: value})
	case addr.List:
		_, ds = ask[wirepb.ValidateListResourceConfig_Response](ctx, c, validateList,
			&wirepb.ValidateListResourceConfig_Request{TypeName: typ, Config: value})
	case addr.Action:
		_, ds = ask[wirepb.ValidateActionConfig_Response](ctx, c, validateAction,
			&wirepb.ValidateActionConfig_Request{ActionType: typ, Config: value})
	case addr.StateStore:
		_, ds = ask[wirepb.ValidateStateStoreConfig_Response](ctx, c, validateStore,
			&wirepb.ValidateStateStoreConfig_Request{TypeName: typ, Config: value})
	default:
		ds = provider.Diags{diag.Errorf("Plugin error", "There is no validation of objects of mode %s.", mode)}
	}
	return ds
}
