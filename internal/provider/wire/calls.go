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

// ask makes one call. If the call fails, the answer is nil, whose getters return zero values, and the failure is a
// diagnostic like the provider's own.
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

// within adds the deadline of a call to the context. It adds none to renewals and closings, because the caller has set
// it, and none to calls without a time limit.
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

// Noted is an option of a call: the note for the keeper. Only connections through the keeper use it.
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

// Shutdown calls Options.Close, which ends the process. Later calls only return the result of the first.
func (c *client) Shutdown() error { return c.close() }

// ValidateConfig checks the provider's settings. Protocol 5 returns them with defaults. For protocol 6, ValidateConfig
// returns them unchanged. If the call itself fails, it returns the zero value.
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

// Configure sends the settings.
func (c *client) Configure(ctx context.Context, config provider.Dynamic, allow provider.Allow) provider.Diags {
	_, ds := ask[wirepb.ConfigureProvider_Response](ctx, c, configure, &wirepb.ConfigureProvider_Request{
		TerraformVersion: c.opts.Terraform, Config: toDynamic(config), ClientCapabilities: capabilities(allow),
	})
	return ds
}

// Validate checks the configuration of an object.
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
