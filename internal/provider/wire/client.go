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
	// Terraform is the version that the provider is told it works for, such as "1.12.0": SDKs
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

// call makes one call. What went wrong on the way is a diagnostic; nil if nothing did.
func (c *client) call(ctx context.Context, m method, req, resp proto.Message) provider.Diags {
	if err := c.conn.Invoke(ctx, c.methods[m], req, resp); err != nil {
		return provider.Diags{c.fault(ctx, m, err)}
	}
	return nil
}

// effect makes a call that makes something. It also says whether the call was made and no answer to
// it can be read: what has become of it is not known then.
func (c *client) effect(ctx context.Context, m method, req, resp proto.Message) (unanswered bool, _ provider.Diags) {
	begun := !c.lost.Load() && ctx.Err() == nil
	err := c.conn.Invoke(ctx, c.methods[m], req, resp)
	if err == nil {
		return false, nil
	}
	return begun && silent(err), provider.Diags{c.fault(ctx, m, err)}
}

// Stop asks the provider to give up what it is doing.
func (c *client) Stop(ctx context.Context) error {
	var resp wirepb.StopProvider_Response
	if ds := c.call(ctx, stopProvider, &wirepb.StopProvider_Request{}, &resp); ds != nil {
		return ds[0]
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
	x := &struct {
		parts
		req  wirepb.ValidateProviderConfig_Request
		resp wirepb.ValidateProviderConfig_Response
	}{}
	x.req.Config = x.dynamic(config)
	if ds := c.call(ctx, validateProvider, &x.req, &x.resp); ds != nil {
		return provider.Dynamic{}, ds
	}
	if prepared := fromDynamic(x.resp.PreparedConfig); c.major == 5 && !isZero(prepared) {
		config = prepared
	}
	return config, c.diags(x.resp.Diagnostics)
}

// Configure hands the settings over.
func (c *client) Configure(ctx context.Context, config provider.Dynamic, allow provider.Allow) provider.Diags {
	x := &struct {
		parts
		req  wirepb.ConfigureProvider_Request
		resp wirepb.ConfigureProvider_Response
	}{}
	x.req.TerraformVersion = c.opts.Terraform
	x.req.Config = x.dynamic(config)
	x.req.ClientCapabilities = capabilities(allow)
	if ds := c.call(ctx, configure, &x.req, &x.resp); ds != nil {
		return ds
	}
	return c.diags(x.resp.Diagnostics)
}

// Validate checks the configuration of an object.
func (c *client) Validate(ctx context.Context, mode addr.Mode, typ string, config provider.Dynamic) provider.Diags {
	switch mode {
	case addr.Managed:
		return c.validateManaged(ctx, typ, config)
	case addr.Data:
		x := &struct {
			parts
			req  wirepb.ValidateDataResourceConfig_Request
			resp wirepb.ValidateDataResourceConfig_Response
		}{}
		x.req.TypeName, x.req.Config = typ, x.dynamic(config)
		if ds := c.call(ctx, validateData, &x.req, &x.resp); ds != nil {
			return ds
		}
		return c.diags(x.resp.Diagnostics)
	case addr.Ephemeral:
		x := &struct {
			parts
			req  wirepb.ValidateEphemeralResourceConfig_Request
			resp wirepb.ValidateEphemeralResourceConfig_Response
		}{}
		x.req.TypeName, x.req.Config = typ, x.dynamic(config)
		if ds := c.call(ctx, validateEphemeral, &x.req, &x.resp); ds != nil {
			return ds
		}
		return c.diags(x.resp.Diagnostics)
	}
	return provider.Diags{diag.Errorf("Plugin error", "There is no validation of objects of mode %s.", mode)}
}

func (c *client) validateManaged(ctx context.Context, typ string, config provider.Dynamic) provider.Diags {
	x := &struct {
		parts
		req  wirepb.ValidateResourceConfig_Request
		resp wirepb.ValidateResourceConfig_Response
	}{}
	x.req.TypeName, x.req.Config = typ, x.dynamic(config)
	x.req.ClientCapabilities = capabilities(provider.Allow{})
	if ds := c.call(ctx, validateResource, &x.req, &x.resp); ds != nil {
		return ds
	}
	return c.diags(x.resp.Diagnostics)
}
