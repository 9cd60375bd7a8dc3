package wire

import (
	"context"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/provider/wire/wirepb"
	"github.com/lethe-iac/lethe/internal/schema"
)

// Schemas returns all schemas of the provider. It requests them only in the first call. A failure is also the result of
// all later calls, unless the caller's context has ended. If the request fails, the schemas are nil and the diagnostics
// have an error.
func (c *client) Schemas(ctx context.Context) (*provider.Schemas, provider.Diags) {
	select {
	case c.schemas.turn <- struct{}{}:
		defer func() { <-c.schemas.turn }()
	case <-ctx.Done():
		return nil, provider.Diags{c.fault(ctx, getSchema, status.FromContextError(ctx.Err()).Err())}
	}
	if d := c.schemas.done.Load(); d != nil {
		return d.schemas, d.diags
	}
	s, ds := c.describe(ctx)
	if s != nil || ctx.Err() == nil {
		c.schemas.done.Store(&described{s, ds})
	}
	return s, ds
}

// describe returns the schemas from the cache. If the cache has no usable schemas, describe requests the schemas and
// then the identity schemas. Older providers do not support the second request: they have no identity schemas. describe
// stores the answers in the cache if later commands may use them.
func (c *client) describe(ctx context.Context) (*provider.Schemas, provider.Diags) {
	if s := c.kept(); s != nil {
		return s, nil
	}
	raw := answers{major: c.major}
	if err := c.conn.Invoke(ctx, c.methods[getSchema], nil, &raw.schemas, rawAnswer); err != nil {
		return nil, provider.Diags{c.fault(ctx, getSchema, err)}
	}
	err := c.conn.Invoke(ctx, c.methods[getIdentities], nil, &raw.identities, rawAnswer)
	if err != nil && status.Code(err) != codes.Unimplemented {
		return nil, provider.Diags{c.fault(ctx, getIdentities, err)}
	}
	s, ds := c.decodeAnswers(raw)
	if s != nil && len(ds) == 0 && s.Capabilities.SchemaOptional && c.opts.Kept != nil {
		c.opts.Kept.Store(raw.encode())
	}
	return s, ds
}

// decodeAnswers decodes the schemas and the identity schemas of a provider. If they cannot be used, it returns nil and
// the errors.
func (c *client) decodeAnswers(raw answers) (*provider.Schemas, provider.Diags) {
	s, ds := c.decodeSchemas(raw.schemas)
	if s == nil || ds.HasErrors() {
		return nil, ds
	}
	more := c.identities(raw.identities, s)
	if more.HasErrors() {
		return nil, append(ds, more...)
	}
	s.Part = func(keep func(addr.Mode, string) bool) []byte { return raw.part(keep).encode() }
	return s, append(ds, more...)
}

// Prime requests the schemas and drops the answer. A provider that does not announce SchemaOptional may need this call
// before any other call.
func (c *client) Prime(ctx context.Context) provider.Diags {
	if err := c.conn.Invoke(ctx, c.methods[getSchema], nil, nil, rawAnswer); err != nil {
		return provider.Diags{c.fault(ctx, getSchema, err)}
	}
	return nil
}

// rawAnswer is the option for a call with an empty request whose answer stays encoded.
var rawAnswer = grpc.ForceCodecV2(rawCodec{})

// rawCodec sends an empty message. It stores the bytes of the answer in a *[]byte, or drops them if there is no
// *[]byte.
type rawCodec struct{}

func (rawCodec) Name() string { return "proto" } // the name of the codec for protobuf messages, so that requests have the same content type as with that codec

func (rawCodec) Marshal(any) (mem.BufferSlice, error) { return nil, nil }

func (rawCodec) Unmarshal(data mem.BufferSlice, v any) error {
	if p, ok := v.(*[]byte); ok {
		*p = data.Materialize()
	}
	return nil
}

// decodeSchemas decodes an answer to getSchema. If the answer cannot be used, decodeSchemas returns nil and an error. A
// function with an invalid signature is left out, with a warning. The schemas of types are decoded later, when a caller
// needs them.
func (c *client) decodeSchemas(raw []byte) (*provider.Schemas, provider.Diags) {
	a, err := indexAnswer(raw)
	if err != nil {
		return nil, provider.Diags{c.malformed(getSchema, err)}
	}
	ds := c.diags(a.diags)
	config, err := c.decodeSchema(a.config)
	if err != nil {
		return nil, append(ds, c.unusable("its own settings", err))
	}
	s := provider.NewSchemas(config)
	if s.Meta, err = c.decodeSchema(a.meta); err != nil {
		return nil, append(ds, c.unusable("module metadata", err))
	}
	if len(s.Meta.Attrs)+len(s.Meta.Blocks) == 0 {
		s.Meta = nil // SDKs send an empty schema if the provider has no schema for provider_meta
	}
	s.Capabilities = provider.Capabilities{
		PlanDestroy:    a.capabilities.PlanDestroy,
		SchemaOptional: a.capabilities.GetProviderSchemaOptional,
		Move:           a.capabilities.MoveResourceState,
	}
	for _, t := range a.types {
		s.Add(t.mode, t.name, func() (*schema.Schema, error) { return c.decodeType(t) })
	}
	for _, f := range a.functions {
		fn, err := c.decodeFunction(f.raw)
		if err != nil {
			ds = append(ds, leftOut(c, f.name, err))
			continue
		}
		s.Functions[f.name] = fn
	}
	return s, ds
}

func leftOut(c *client, function string, err error) diag.Diagnostic {
	return diag.Warningf("Function left out", "The %s has an invalid signature of its function %q: %s. This is a bug in the provider.", c, function, err)
}

// decodeType decodes the schema of a type.
func (c *client) decodeType(t rawType) (*schema.Schema, error) {
	s, err := c.decodeSchema(t.raw)
	if err != nil {
		return nil, fmt.Errorf("the %s has an invalid schema of the %s type %s: %w; this is a bug in the provider", c, kindName[t.mode], t.name, err)
	}
	return s, nil
}

var kindName = map[addr.Mode]string{addr.Managed: "resource", addr.Data: "data source", addr.Ephemeral: "ephemeral resource", addr.List: "list resource", addr.Action: "action", addr.StateStore: "state store"}

// identities decodes the identity schemas and adds them to s.
func (c *client) identities(raw []byte, s *provider.Schemas) provider.Diags {
	var resp wirepb.GetResourceIdentitySchemas_Response
	if err := proto.Unmarshal(raw, &resp); err != nil {
		return provider.Diags{c.malformed(getIdentities, err)}
	}
	for name, id := range resp.IdentitySchemas {
		s.AddIdentity(name, func() (*provider.Identity, error) {
			out, err := decodeIdentity(id)
			if err != nil {
				return nil, fmt.Errorf("the %s has an invalid identity schema of the resource type %s: %w; this is a bug in the provider", c, name, err)
			}
			return out, nil
		})
	}
	return c.diags(resp.Diagnostics)
}

// decodeSchema decodes a schema. For an empty message it returns a schema without attributes.
func (c *client) decodeSchema(raw []byte) (*schema.Schema, error) {
	var m wirepb.Schema
	if err := proto.Unmarshal(raw, &m); err != nil {
		return nil, err
	}
	b, err := c.decodeBlock(m.Block)
	if err != nil {
		return nil, err
	}
	return &schema.Schema{Version: m.Version, Block: b}, nil
}

func (c *client) malformed(m method, err error) diag.Diagnostic {
	return diag.Errorf("Plugin error", "The answer to the call %s of %s is malformed (%s). This is a bug in the provider.", c.methods.short(m), c, err)
}

func (c *client) unusable(what string, err error) diag.Diagnostic {
	return diag.Errorf("Plugin error", "The %s has an invalid schema of %s: %s. This is a bug in the provider.", c, what, err)
}

// kept returns the schemas in the cache, or nil if the cache has no usable schemas.
func (c *client) kept() *provider.Schemas {
	if c.opts.Kept == nil {
		return nil
	}
	raw, ok := decodeKept(c.opts.Kept.Load())
	if !ok || raw.major != c.major {
		return nil
	}
	s, ds := c.decodeAnswers(raw)
	if len(ds) > 0 {
		return nil
	}
	return s
}

// Described decodes part, the result of provider.Schemas.Part, for the provider p. It returns nil if part cannot be
// decoded.
func Described(part []byte, p addr.Provider) *provider.Schemas {
	raw, ok := decodeKept(part)
	if !ok || tables[raw.major] == nil {
		return nil
	}
	c := &client{major: raw.major, methods: tables[raw.major], addr: p}
	s, ds := c.decodeAnswers(raw)
	if ds.HasErrors() {
		return nil
	}
	return s
}
