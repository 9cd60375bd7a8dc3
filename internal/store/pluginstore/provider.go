package pluginstore

import (
	"context"
	"fmt"
	"iter"
	"sync"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/store"
)

// Provider has the calls of a provider for states. typ is a type of state stores, and id is the name of a workspace.
// The diagnostics contain the messages of the provider and the failures of calls. String returns the provider's name
// for messages.
type Provider interface {
	fmt.Stringer

	// ConfigureStore sends the settings of a store, in MessagePack, and the proposed chunk size. It returns the size
	// that the provider chose, or 0 if it chose none.
	ConfigureStore(ctx context.Context, typ string, config []byte, chunk int64) (int64, []diag.Diagnostic)
	// ReadState reads a state. The sequence contains each chunk. If the call fails, the last element contains only the
	// failure.
	ReadState(ctx context.Context, typ, id string) iter.Seq2[Chunk, []diag.Diagnostic]
	// WriteState replaces a state.
	WriteState(ctx context.Context, typ, id string, parts iter.Seq[Chunk]) []diag.Diagnostic
	// LockState takes the lock of a state, and returns the ID that the provider chose for the lock.
	LockState(ctx context.Context, typ, id, operation string) (string, []diag.Diagnostic)
	// UnlockState releases a lock.
	UnlockState(ctx context.Context, typ, id, lock string) []diag.Diagnostic
	// ListStates returns the names of all states.
	ListStates(ctx context.Context, typ string) ([]string, []diag.Diagnostic)
	// DeleteState removes a state.
	DeleteState(ctx context.Context, typ, id string) []diag.Diagnostic
}

// Options describes a store. Provider and Type are required.
type Options struct {
	Provider Provider
	Type     string
	Config   []byte                // the settings of the store, in MessagePack
	Place    string                // names the place of the states, without a credential
	Warn     func(diag.Diagnostic) // receives warnings; nil: they are dropped
	Stop     context.Context       // its end ends writes, and calls about locks; nil: nothing does
}

// pluginStore implements store.Store.
type pluginStore struct {
	o           Options
	chunk       int64       // the size of a chunk
	lasting     store.Tries // calls that an interrupt must not end; none is repeated
	singleWrite *store.SingleWrite

	mu       sync.Mutex
	held     map[string]string // the IDs of this store's locks, by workspace; "" for a lock without an ID
	released map[string]string // the IDs of locks that Delete has released, by workspace
	warned   map[string]bool   // the warnings that were reported
}
