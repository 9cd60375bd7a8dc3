package wire

import (
	"context"
	"io"
	"iter"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/provider/wire/wirepb"
)

// List searches for objects. It reads the next answer only after the caller has taken the previous one, so that a long
// stream needs little memory.
func (c *client) List(ctx context.Context, r provider.ListRequest) iter.Seq2[provider.Listed, provider.Diags] {
	return func(yield func(provider.Listed, provider.Diags) bool) {
		for e, ds := range stream[wirepb.ListResource_Event](ctx, c, listResource, &wirepb.ListResource_Request{
			TypeName: r.Type, Config: toDynamic(r.Config), IncludeResourceObject: r.Objects, Limit: r.Limit,
		}) {
			if !yield(provider.Listed{
				Identity: fromIdentity(e.GetIdentity()), Name: e.GetDisplayName(), Object: fromDynamic(e.GetResourceObject()),
			}, append(ds, c.diags(e.GetDiagnostic())...)) {
				return
			}
		}
	}
}

// stream makes a call with several answers. If the call fails, the last element has no answer and an error. If the
// caller ends the iteration early, the call is cancelled.
func stream[T any, M interface {
	*T
	proto.Message
}](ctx context.Context, c *client, m method, req proto.Message) iter.Seq2[M, provider.Diags] {
	return func(yield func(M, provider.Diags) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		s, err := c.conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, c.methods[m])
		if err == nil {
			err = s.SendMsg(req)
		}
		if err == nil {
			err = s.CloseSend()
		}
		for err == nil {
			answer := M(new(T))
			if err = s.RecvMsg(answer); err == nil && !yield(answer, nil) {
				return
			}
		}
		if err != io.EOF {
			yield(nil, provider.Diags{c.fault(ctx, m, err)})
		}
	}
}
