package wire

import (
	"context"
	"io"
	"iter"

	"google.golang.org/grpc"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/provider/wire/wirepb"
	"github.com/lethe-iac/lethe/internal/store/pluginstore"
)

// stateStores makes the calls about state stores (stores of states that a provider implements) with a client.
type stateStores struct{ *client }

// StateStores returns the calls of a provider about states. It returns false if the provider is not a plugin.
func StateStores(p provider.Provider) (pluginstore.Provider, bool) {
	c, ok := p.(*client)
	return stateStores{c}, ok
}

// ConfigureStore sends the settings of a state store, in MessagePack, and the proposed chunk size in bytes. It returns
// the size that the provider chose, or 0.
func (c stateStores) ConfigureStore(ctx context.Context, typ string, config []byte, chunk int64) (int64, []diag.Diagnostic) {
	resp, ds := ask[wirepb.ConfigureStateStore_Response](ctx, c.client, configureStore, &wirepb.ConfigureStateStore_Request{
		TypeName: typ, Config: toDynamic(provider.Dynamic{Msgpack: config}), Capabilities: &wirepb.StateStoreClientCapabilities{ChunkSize: chunk},
	})
	return resp.GetCapabilities().GetChunkSize(), ds
}

// ReadState returns the chunks of a state. If the call fails, the last element has only the diagnostics of the failure.
func (c stateStores) ReadState(ctx context.Context, typ, id string) iter.Seq2[pluginstore.Chunk, []diag.Diagnostic] {
	return func(yield func(pluginstore.Chunk, []diag.Diagnostic) bool) {
		for m, ds := range stream[wirepb.ReadStateBytes_ResponseChunk](ctx, c.client, readState, &wirepb.ReadStateBytes_Request{TypeName: typ, StateId: id}) {
			part := pluginstore.Chunk{Bytes: m.GetBytes(), Total: m.GetTotalLength(), Start: m.GetRange().GetStart(), End: m.GetRange().GetEnd()}
			if !yield(part, append(ds, c.diags(m.GetDiagnostics())...)) {
				return
			}
		}
	}
}

// WriteState sends a state to the provider in chunks, which replaces the stored state.
func (c stateStores) WriteState(ctx context.Context, typ, id string, parts iter.Seq[pluginstore.Chunk]) []diag.Diagnostic {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := c.conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true}, c.methods[writeState])
	if err != nil {
		return provider.Diags{c.fault(ctx, writeState, err)}
	}
	meta := &wirepb.RequestChunkMeta{TypeName: typ, StateId: id}
	for part := range parts {
		err = s.SendMsg(&wirepb.WriteStateBytes_RequestChunk{
			Meta: meta, Bytes: part.Bytes, TotalLength: part.Total, Range: &wirepb.StateByteRange{Start: part.Start, End: part.End},
		})
		if err != nil {
			break
		}
		meta = nil
	}
	if err == nil {
		err = s.CloseSend()
	}
	var resp wirepb.WriteStateBytes_Response
	if err == nil || err == io.EOF { // if the provider has answered early, WriteState's result is in the answer
		err = s.RecvMsg(&resp)
	}
	if err != nil {
		return provider.Diags{c.fault(ctx, writeState, err)}
	}
	return c.diags(resp.Diagnostics)
}

// LockState locks a state for the named operation, and returns the lock's ID, which the provider chooses.
func (c stateStores) LockState(ctx context.Context, typ, id, operation string) (string, []diag.Diagnostic) {
	resp, ds := ask[wirepb.LockState_Response](ctx, c.client, lockState, &wirepb.LockState_Request{TypeName: typ, StateId: id, Operation: operation})
	return resp.GetLockId(), ds
}

// UnlockState releases the lock of a state. lock is the ID that LockState returned.
func (c stateStores) UnlockState(ctx context.Context, typ, id, lock string) []diag.Diagnostic {
	_, ds := ask[wirepb.UnlockState_Response](ctx, c.client, unlockState, &wirepb.UnlockState_Request{TypeName: typ, StateId: id, LockId: lock})
	return ds
}

// ListStates returns the names of all states in a state store.
func (c stateStores) ListStates(ctx context.Context, typ string) ([]string, []diag.Diagnostic) {
	resp, ds := ask[wirepb.GetStates_Response](ctx, c.client, getStates, &wirepb.GetStates_Request{TypeName: typ})
	return resp.GetStateIds(), ds
}

// DeleteState deletes a state from a state store.
func (c stateStores) DeleteState(ctx context.Context, typ, id string) []diag.Diagnostic {
	_, ds := ask[wirepb.DeleteState_Response](ctx, c.client, deleteState, &wirepb.DeleteState_Request{TypeName: typ, StateId: id})
	return ds
}
