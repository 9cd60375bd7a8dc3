package wire

import (
	"context"
	"io"
	"iter"

	"google.golang.org/grpc"

	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/provider/wire/wirepb"
)

// List searches for objects. It reads the next answer only after the caller has taken the one before, so that a long
// stream needs little memory.
func (c *client) List(ctx context.Context, r provider.ListRequest) iter.Seq2[provider.Listed, provider.Diags] {
	return func(yield func(provider.Listed, provider.Diags) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		s, err := c.conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, c.methods[listResource])
		if err == nil {
			err = s.SendMsg(&wirepb.ListResource_Request{
				TypeName: r.Type, Config: toDynamic(r.Config), IncludeResourceObject: r.Objects, Limit: r.Limit,
			})
		}
		if err == nil {
			err = s.CloseSend()
		}
		for err == nil {
			var e wirepb.ListResource_Event
			if err = s.RecvMsg(&e); err == nil && !yield(provider.Listed{
				Identity: fromIdentity(e.GetIdentity()), Name: e.GetDisplayName(), Object: fromDynamic(e.GetResourceObject()),
			}, c.diags(e.GetDiagnostic())) {
				return
			}
		}
		if err != io.EOF {
			yield(provider.Listed{}, provider.Diags{c.fault(ctx, listResource, err)})
		}
	}
}
