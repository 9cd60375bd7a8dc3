package pluginstore_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/store/pluginstore"
	"github.com/lethe-iac/lethe/internal/store/storetest"
)

// service is the memory that all providers of one test share.
type service struct {
	mu     sync.Mutex
	states map[string][]byte
	locks  map[string]store.LockInfo
	ids    int
}

// fake is a provider that answers like a provider made with terraform-plugin-framework.
type fake struct {
	*service
	chunk int64                                         // the size of a chunk, in bytes; 0: the size that the caller proposes
	read  func([]pluginstore.Chunk) []pluginstore.Chunk // changes the chunks that ReadState returns; nil: no change
	lock  func() (string, []diag.Diagnostic)            // replaces LockState; nil: it works
	says  []diag.Diagnostic                             // the diagnostics that ReadState, ListStates and DeleteState return
	fails []diag.Diagnostic                             // the diagnostics that WriteState returns

	deleting func() // is called in DeleteState; may be nil
}

func fresh() *service {
	return &service{states: map[string][]byte{}, locks: map[string]store.LockInfo{}}
}

func refusal(summary, format string, a ...any) []diag.Diagnostic {
	d := diag.Errorf(summary, format, a...)
	d.Foreign = true
	return []diag.Diagnostic{d}
}

func (f *fake) String() string { return "provider example/fake (version 1.0.0)" }

func (f *fake) ConfigureStore(_ context.Context, _ string, _ []byte, chunk int64) (int64, []diag.Diagnostic) {
	if f.chunk != 0 {
		return f.chunk, nil
	}
	return chunk, nil
}

func (f *fake) ReadState(_ context.Context, _, id string) iter.Seq2[pluginstore.Chunk, []diag.Diagnostic] {
	f.mu.Lock()
	data := f.states[id]
	f.mu.Unlock()
	size := cmp.Or(f.chunk, 1<<20)
	var parts []pluginstore.Chunk
	for start := int64(0); start < int64(len(data)); start += size {
		end := min(start+size, int64(len(data)))
		parts = append(parts, pluginstore.Chunk{Bytes: data[start:end], Total: int64(len(data)), Start: start, End: end - 1})
	}
	if f.read != nil {
		parts = f.read(parts)
	}
	return func(yield func(pluginstore.Chunk, []diag.Diagnostic) bool) {
		for _, part := range parts {
			if !yield(part, nil) {
				return
			}
		}
		if f.says != nil {
			yield(pluginstore.Chunk{}, f.says)
		}
	}
}

func (f *fake) WriteState(_ context.Context, _, id string, parts iter.Seq[pluginstore.Chunk]) []diag.Diagnostic {
	var data []byte
	for part := range parts {
		if part.Start != int64(len(data)) || part.End != part.Start+int64(len(part.Bytes))-1 {
			return refusal("Bad chunk", "%d to %d", part.Start, part.End)
		}
		data = append(data, part.Bytes...)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.states[id] = data
	return f.fails
}

func (f *fake) LockState(_ context.Context, _, id, operation string) (string, []diag.Diagnostic) {
	if f.lock != nil {
		return f.lock()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if held, ok := f.locks[id]; ok {
		return "", refusal("Workspace Already Locked", "%q workspace has a lock held by another client.\n\nLock Info:\n  ID:        %s\n  Operation: %s\n  Who:       %s\n  Created:   %s\n", id, held.ID, held.Operation, held.Who, held.Created)
	}
	f.ids++
	who := store.NewLockInfo(operation, "")
	who.ID = fmt.Sprintf("lock-%d", f.ids)
	f.locks[id] = who
	return who.ID, nil
}

func (f *fake) UnlockState(_ context.Context, _, id, lock string) []diag.Diagnostic {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.locks[id].ID != lock {
		return refusal("Not locked", "There is no lock %s.", lock)
	}
	delete(f.locks, id)
	return nil
}

func (f *fake) ListStates(context.Context, string) ([]string, []diag.Diagnostic) {
	f.mu.Lock()
	defer f.mu.Unlock()
	names := slices.Collect(maps.Keys(f.states))
	return append(names, names...), f.says // duplicates
}

func (f *fake) DeleteState(_ context.Context, _, id string) []diag.Diagnostic {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.deleting != nil {
		f.deleting()
	}
	if f.states[id] == nil {
		return refusal("Missing", "There is no state %s.", id)
	}
	delete(f.states, id)
	return f.says
}

var full = refusal("No disk", "It is full.")

func open(t *testing.T, f *fake, warn func(diag.Diagnostic)) store.Store {
	t.Helper()
	st, err := pluginstore.Open(context.Background(), pluginstore.Options{Provider: f, Type: "fake_store", Place: "here", Warn: warn})
	if err != nil {
		t.Fatal(err)
	}
	return st
}

func TestContract(t *testing.T) {
	storetest.RunChosen(t, func(t *testing.T) func() store.Store {
		s := fresh()
		return func() store.Store { return open(t, &fake{service: s}, nil) }
	})
}

// TestChunks checks that a stream that does not follow the protocol is an error that names the provider and the store,
// and that no part of the state is returned.
func TestChunks(t *testing.T) {
	const text = "0123456789"
	for _, tt := range []struct {
		name, want string
		read       func([]pluginstore.Chunk) []pluginstore.Chunk
	}{
		{"out of order", "it sent the chunk at position 4, and the chunk at position 0 was due", func(c []pluginstore.Chunk) []pluginstore.Chunk {
			c[0], c[1] = c[1], c[0]
			return c
		}},
		{"twice", "it sent the chunk at position 0, and the chunk at position 4 was due", func(c []pluginstore.Chunk) []pluginstore.Chunk { return slices.Insert(c, 1, c[0]) }},
		{"short", "it sent 8 of the announced 10 bytes", func(c []pluginstore.Chunk) []pluginstore.Chunk { return c[:2] }},
		{"long", "it sent more than the announced 8 bytes", func(c []pluginstore.Chunk) []pluginstore.Chunk {
			for i := range c {
				c[i].Total = 8
			}
			return c
		}},
		{"two totals", "it announced a state of 10 bytes, and then of 11 bytes", func(c []pluginstore.Chunk) []pluginstore.Chunk {
			c[1].Total = 11
			return c
		}},
		{"negative", "it sent more than the announced -1 bytes", func(c []pluginstore.Chunk) []pluginstore.Chunk {
			c[0].Total = -1
			return c
		}},
		{"huge", "it announced a state of 1073741825 bytes, and the limit is 1073741824", func(c []pluginstore.Chunk) []pluginstore.Chunk {
			c[0].Total = 1<<30 + 1
			return c
		}},
		{"wrong range", "it sent a chunk of 4 bytes for the positions 0 to 4", func(c []pluginstore.Chunk) []pluginstore.Chunk {
			c[0].End++
			return c
		}},
		{"only announced", "it sent 0 of the announced 10 bytes", func(c []pluginstore.Chunk) []pluginstore.Chunk { return []pluginstore.Chunk{{Total: 10}} }},
		{"announced otherwise", "it announced a state of 11 bytes, and then of 10 bytes", func(c []pluginstore.Chunk) []pluginstore.Chunk {
			return append([]pluginstore.Chunk{{Total: 11}}, c...)
		}},
		{"too large", "it sent a chunk of 10 bytes, and the size of a chunk is 4", func(c []pluginstore.Chunk) []pluginstore.Chunk {
			return []pluginstore.Chunk{{Bytes: []byte(text), Total: 10, End: 9}}
		}},
	} {
		s := fresh()
		s.states[store.Default] = []byte(text)
		data, v, err := open(t, &fake{service: s, chunk: 4, read: tt.read}, nil).Get(context.Background(), store.Default)
		want := "the state store fake_store of the provider example/fake (version 1.0.0) does not follow the protocol: " + tt.want + ". This is a bug in the provider"
		if data != nil || v != "" || err == nil || err.Error() != want {
			t.Errorf("%s: %q, %v", tt.name, data, err)
		}
	}
	f := &fake{service: fresh(), chunk: 4}
	st := open(t, f, nil)
	v, err := st.Put(context.Background(), "w", []byte(text), "")
	if data, seen, reading := st.Get(context.Background(), "w"); err != nil || reading != nil || string(data) != text || seen != v {
		t.Errorf("%q, %v, %v", data, err, reading)
	}
	for _, size := range []int64{-1, 1 << 40} {
		if _, err := pluginstore.Open(context.Background(), pluginstore.Options{Provider: &fake{service: fresh(), chunk: size}, Type: "fake_store"}); err == nil {
			t.Errorf("chunks of %d bytes are accepted", size)
		}
	}
}

// TestDiagnostics checks that errors name the store, that warnings are shown once, and that an error after the last
// chunk counts.
func TestDiagnostics(t *testing.T) {
	s := fresh()
	s.states[store.Default] = []byte("x")
	var shown []diag.Diagnostic
	f := &fake{service: s, says: []diag.Diagnostic{diag.Warningf("Careful", "It is slow.")}}
	st := open(t, f, func(d diag.Diagnostic) { shown = append(shown, d) })
	for range 2 {
		if _, _, err := st.Get(context.Background(), store.Default); err != nil {
			t.Error(err)
		}
	}
	if len(shown) != 1 || shown[0].Summary != "Careful" || shown[0].Detail != "It is slow." {
		t.Errorf("%v", shown)
	}
	unlock, err := st.Lock(context.Background(), store.Default, store.NewLockInfo("test", "1"))
	if err != nil {
		t.Fatal(err)
	}
	defer unlock(context.Background())
	f.says, f.fails = nil, full
	_, put := st.Put(context.Background(), store.Default, []byte("y"), store.Digest([]byte("x")))
	f.says = full
	_, _, get := st.Get(context.Background(), store.Default)
	_, list := st.List(context.Background())
	for doing, err := range map[string]error{"read the state": get, "list the states": list, "write the state": put} {
		want := "the state store fake_store of the provider example/fake (version 1.0.0) did not " + doing + ":\nNo disk: It is full"
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v", doing, err)
		}
	}
}

// TestLocks checks LockState calls with unusual answers: an error without the owner of the lock, no answer, a lock with
// an error, and no lock without an error. The last means that the provider has no locks.
func TestLocks(t *testing.T) {
	who := store.NewLockInfo("OperationTypeApply", "1")
	f := &fake{service: fresh(), lock: func() (string, []diag.Diagnostic) { return "", refusal("Busy", "Try later.") }}
	var held *store.LockError
	_, err := open(t, f, nil).Lock(context.Background(), store.Default, who)
	if !errors.As(err, &held) || held.Held != nil || !strings.HasSuffix(err.Error(), "did not lock the state:\nBusy: Try later") {
		t.Errorf("without an owner: %v", err)
	}
	f.lock = func() (string, []diag.Diagnostic) {
		return "", []diag.Diagnostic{diag.Errorf("Plugin did not respond", "It died.")}
	}
	if _, err := open(t, f, nil).Lock(context.Background(), store.Default, who); err == nil || errors.As(err, &held) {
		t.Errorf("a call without an answer: %v", err)
	}
	f.locks[store.Default] = store.LockInfo{ID: "lock-9"}
	f.lock = func() (string, []diag.Diagnostic) { return "lock-9", refusal("Busy", "Try later.") }
	_, err = open(t, f, nil).Lock(context.Background(), store.Default, who)
	if !errors.As(err, &held) || held.Held == nil || held.Held.ID != "lock-9" || len(f.locks) != 1 {
		t.Errorf("the ID of another holder beside an error: %v, %v", err, f.locks)
	}
	delete(f.locks, store.Default)
	f.lock = func() (string, []diag.Diagnostic) { return "", nil }
	var shown []diag.Diagnostic
	st := open(t, f, func(d diag.Diagnostic) { shown = append(shown, d) })
	unlock, err := st.Lock(context.Background(), store.Default, who)
	if err != nil || len(shown) != 1 || shown[0].Summary != "State is not locked" {
		t.Errorf("without locks: %v, %v", err, shown)
	}
	if _, err := st.Put(context.Background(), store.Default, []byte("x"), ""); err != nil {
		t.Error(err)
	}
	if err := unlock(context.Background()); err != nil {
		t.Error(err)
	}
}

// TestDeleteReleases deletes a state of a provider that deletes either the lock or the state, as the state store of
// terraform-provider-corner does. Delete releases the lock first.
func TestDeleteReleases(t *testing.T) {
	s := fresh()
	s.states["w"] = []byte("x")
	f := &fake{service: s}
	st := open(t, f, nil)
	unlock, err := st.Lock(context.Background(), "w", store.NewLockInfo("OperationTypeInvalid", "1"))
	if err != nil {
		t.Fatal(err)
	}
	f.deleting = func() {
		if len(f.locks) > 0 {
			t.Errorf("the state is locked during its deletion: %v", f.locks)
		}
	}
	if err := st.Delete(context.Background(), "w"); err != nil || len(f.states) > 0 {
		t.Errorf("%v, %v", err, f.states)
	}
	f.locks["w"] = store.LockInfo{ID: "lock-other"}
	if err := unlock(context.Background()); err != nil || len(f.locks) != 1 {
		t.Errorf("the lock of another holder: %v, %v", err, f.locks)
	}
}
