package wire

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/provider/wire/wirepb"
)

// MaxMessage is the size in bytes that no message may exceed in either direction. The SDKs have
// the same limit for what they take.
const MaxMessage = 256 << 20

// Options are what a client needs to know beside its connection. All may be left out.
type Options struct {
	// Version is the provider's own version, for messages.
	Version string
	// Terraform is the version that the provider is to work for, such as "1.12.0": SDKs
	// branch on it.
	Terraform string
	// Ended says how the process behind the connection ended ("exit status 2"), "" if it has
	// not. It is asked when a call fails, and may wait a moment for the process to be gone.
	Ended func() string
	// Kept has what the provider said of its schemas to an earlier command. May be nil.
	Kept Kept
	// Close ends the process. It is called once, by the first Shutdown.
	Close func() error
}

// client is a provider behind a connection.
type client struct {
	conn    grpc.ClientConnInterface
	major   int
	methods *table
	addr    addr.Provider
	opts    Options
	close   func() error
	schemas onceSchemas
	lost    atomic.Bool // the process has ended, as a call found out
}

// Lost reports whether a call found the process gone: no other will be answered.
func (c *client) Lost() bool { return c.lost.Load() }

// Client makes a provider of a connection over which a process speaks a major version of the
// protocol, 5 or 6. The connection must have been made with DialOptions.
func Client(conn grpc.ClientConnInterface, major int, p addr.Provider, o Options) provider.Provider {
	if tables[major] == nil {
		panic(fmt.Sprintf("no protocol version %d", major)) // the dialler has agreed on a version before
	}
	if o.Close == nil {
		o.Close = func() error { return nil }
	}
	return &client{conn: conn, major: major, methods: tables[major], addr: p, opts: o,
		close: sync.OnceValue(o.Close), schemas: onceSchemas{turn: make(chan struct{}, 1)}}
}

// Addr is the provider's address.
func (c *client) Addr() addr.Provider { return c.addr }

// String names the provider in messages: "provider hashicorp/time (version 0.14.2)".
func (c *client) String() string {
	if c.opts.Version == "" {
		return "provider " + c.addr.String()
	}
	return "provider " + c.addr.String() + " (version " + c.opts.Version + ")"
}

// response is an answer of the protocol.
type response[T any] interface {
	*T
	proto.Message
	GetDiagnostics() []*wirepb.Diagnostic
}

// ask makes one call. The answer is nil, which has no fields, where none came; what went wrong on the way is a
// diagnostic like the provider's own.
func ask[T any, R response[T]](ctx context.Context, c *client, m method, req proto.Message) (R, provider.Diags) {
	resp, _, ds := effect[T, R](ctx, c, m, req)
	return resp, ds
}

// effect makes a call that makes something. It also says whether the call was made and no answer to
// it can be read: what has become of it is not known then.
func effect[T any, R response[T]](ctx context.Context, c *client, m method, req proto.Message) (resp R, unanswered bool, _ provider.Diags) {
	begun := !c.lost.Load() && ctx.Err() == nil
	resp = new(T)
	if err := c.conn.Invoke(ctx, c.methods[m], req, resp); err != nil {
		return nil, begun && silent(err), provider.Diags{c.fault(ctx, m, err)}
	}
	return resp, false, c.diags(resp.GetDiagnostics())
}

// Stop asks the provider to give up what it is doing.
func (c *client) Stop(ctx context.Context) error {
	var resp wirepb.StopProvider_Response
	if err := c.conn.Invoke(ctx, c.methods[stopProvider], &wirepb.StopProvider_Request{}, &resp); err != nil {
		return c.fault(ctx, stopProvider, err)
	}
	if resp.Error != "" {
		return errors.New(resp.Error)
	}
	return nil
}

// Shutdown ends the process.
func (c *client) Shutdown() error { return c.close() }

// ValidateConfig checks the provider's settings. Only major 5 gives them back; in major 6 they
// are what they were.
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

// Configure hands the settings over.
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
	default:
		ds = provider.Diags{diag.Errorf("Plugin error", "There is no validation of objects of mode %s.", mode)}
	}
	return ds
}
