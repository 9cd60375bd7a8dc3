package calls

import (
	"context"
	"errors"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// stores returns the next server as a server of state stores, or an error if it is none.
func (s *server6) stores() (tfprotov6.StateStoreServer, error) {
	a, ok := s.next.(tfprotov6.StateStoreServer)
	if !ok {
		return nil, errors.New("the provider has no state stores")
	}
	return a, nil
}

// stored logs a call about a state store, and passes it to the next server. tally returns the diagnostics of the
// answer. A server without state stores is an error, which is not logged.
func stored[Q, A any](ctx context.Context, s *server6, f facts, q *Q, call func(tfprotov6.StateStoreServer, context.Context, *Q) (*A, error), tally func(*A) []*tfprotov6.Diagnostic) (*A, error) {
	next, err := s.stores()
	if err != nil {
		return nil, err
	}
	return logged(ctx, s.book, func() facts { return f }, q, func(ctx context.Context, q *Q) (*A, error) { return call(next, ctx, q) }, func(a *A) (int, int) { return tally6(tally(a)) })
}

func (s *server6) ValidateStateStoreConfig(ctx context.Context, q *tfprotov6.ValidateStateStoreConfigRequest) (*tfprotov6.ValidateStateStoreConfigResponse, error) {
	return stored(ctx, s, facts{call: "ValidateStateStoreConfig", typ: q.TypeName, values: []value{wire6("config", q.Config)}}, q,
		tfprotov6.StateStoreServer.ValidateStateStoreConfig, func(a *tfprotov6.ValidateStateStoreConfigResponse) []*tfprotov6.Diagnostic { return a.Diagnostics })
}

func (s *server6) ConfigureStateStore(ctx context.Context, q *tfprotov6.ConfigureStateStoreRequest) (*tfprotov6.ConfigureStateStoreResponse, error) {
	return stored(ctx, s, facts{call: "ConfigureStateStore", typ: q.TypeName, values: []value{wire6("config", q.Config)}}, q,
		tfprotov6.StateStoreServer.ConfigureStateStore, func(a *tfprotov6.ConfigureStateStoreResponse) []*tfprotov6.Diagnostic { return a.Diagnostics })
}

// ReadStateBytes logs the beginning of the stream. It counts no errors of the stream.
func (s *server6) ReadStateBytes(ctx context.Context, q *tfprotov6.ReadStateBytesRequest) (*tfprotov6.ReadStateBytesStream, error) {
	return stored(ctx, s, facts{call: "ReadStateBytes", typ: q.TypeName, key: q.StateID}, q,
		tfprotov6.StateStoreServer.ReadStateBytes, func(*tfprotov6.ReadStateBytesStream) []*tfprotov6.Diagnostic { return nil })
}

// WriteStateBytes does not log the name of the state, which only the stream has.
func (s *server6) WriteStateBytes(ctx context.Context, q *tfprotov6.WriteStateBytesStream) (*tfprotov6.WriteStateBytesResponse, error) {
	return stored(ctx, s, facts{call: "WriteStateBytes"}, q,
		tfprotov6.StateStoreServer.WriteStateBytes, func(a *tfprotov6.WriteStateBytesResponse) []*tfprotov6.Diagnostic { return a.Diagnostics })
}

func (s *server6) LockState(ctx context.Context, q *tfprotov6.LockStateRequest) (*tfprotov6.LockStateResponse, error) {
	return stored(ctx, s, facts{call: "LockState", typ: q.TypeName, key: q.StateID, notes: map[string]any{"operation": q.Operation}}, q,
		tfprotov6.StateStoreServer.LockState, func(a *tfprotov6.LockStateResponse) []*tfprotov6.Diagnostic { return a.Diagnostics })
}

func (s *server6) UnlockState(ctx context.Context, q *tfprotov6.UnlockStateRequest) (*tfprotov6.UnlockStateResponse, error) {
	return stored(ctx, s, facts{call: "UnlockState", typ: q.TypeName, key: q.StateID}, q,
		tfprotov6.StateStoreServer.UnlockState, func(a *tfprotov6.UnlockStateResponse) []*tfprotov6.Diagnostic { return a.Diagnostics })
}

func (s *server6) GetStates(ctx context.Context, q *tfprotov6.GetStatesRequest) (*tfprotov6.GetStatesResponse, error) {
	return stored(ctx, s, facts{call: "GetStates", typ: q.TypeName}, q,
		tfprotov6.StateStoreServer.GetStates, func(a *tfprotov6.GetStatesResponse) []*tfprotov6.Diagnostic { return a.Diagnostics })
}

func (s *server6) DeleteState(ctx context.Context, q *tfprotov6.DeleteStateRequest) (*tfprotov6.DeleteStateResponse, error) {
	return stored(ctx, s, facts{call: "DeleteState", typ: q.TypeName, key: q.StateID}, q,
		tfprotov6.StateStoreServer.DeleteState, func(a *tfprotov6.DeleteStateResponse) []*tfprotov6.Diagnostic { return a.Diagnostics })
}
