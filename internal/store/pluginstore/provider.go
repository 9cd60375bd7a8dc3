package pluginstore

import (
	"context"
	"fmt"
	"iter"
	"sync"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/store"
)

// Provider has the calls of a provider about states. typ is a type of state stores, and id is the name of a workspace.
// The returned diagnostics contain the messages of the provider and the failures of calls. String returns the
// provider's name for messages.
type Provider interface {
	fmt.Stringer

	// ConfigureStore sends the settings of a state store, in MessagePack, and the proposed chunk size in bytes. It returns
	// the chunk size that the provider chose, or 0 if it chose none.
	ConfigureStore(ctx context.Context, typ string, config []byte, chunk int64) (int64, []diag.Diagnostic)
	// ReadState returns the chunks of a state. If the call fails, the last element has only the diagnostics of the
	// failure.
	ReadState(ctx context.Context, typ, id string) iter.Seq2[Chunk, []diag.Diagnostic]
	// WriteState replaces a state by the content of the chunks.
	WriteState(ctx context.Context, typ, id string, parts iter.Seq[Chunk]) []diag.Diagnostic
	// LockState takes the lock of a state, and returns the ID that the provider chose for the lock.
	LockState(ctx context.Context, typ, id, operation string) (string, []diag.Diagnostic)
	// UnlockState releases the lock of a state. lock is the ID that LockState returned.
	UnlockState(ctx context.Context, typ, id, lock string) []diag.Diagnostic
	// ListStates returns the names of all states in the state store.
	ListStates(ctx context.Context, typ string) ([]string, []diag.Diagnostic)
	// DeleteState removes a state from the state store.
	DeleteState(ctx context.Context, typ, id string) []diag.Diagnostic
}

// Options describes a state store for Open. Provider and Type are required.
type Options struct {
	Provider Provider
	Type     string
	Config   []byte                // the settings of the store, in MessagePack
	Place    string                // a text that names the place of the states, without credentials
	Warn     func(diag.Diagnostic) // receives warnings; nil: they are dropped
	Stop     context.Context       // when it ends, writes and calls about locks end; nil means never
}

// pluginStore is the store.Store for a state store of a provider.
type pluginStore struct {
	o           Options
	chunk       int64       // the size of a chunk, in bytes
	lasting     store.Tries // a policy without retries, for calls that an interrupt must not end
	singleWrite *store.SingleWrite

	mu       sync.Mutex
	held     map[string]string // the IDs of the locks that this process holds, by workspace; "" for a lock without an ID
	released map[string]string // the IDs of locks that Delete has released, by workspace
	warned   map[string]bool   // the warnings that the user has seen
}
