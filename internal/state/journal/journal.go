// Package journal makes every change durable during an apply.
//
// A run writes the state at its end, and a long run also writes interim states (ADR 43). Until then, the journal has
// the changes. An Intent is durable before each provider call that changes an object. The Result is durable before any
// call that depends on it. If the process ends at any moment, the next command finds each completed change in the state
// or in the journal, and knows the calls in progress (invariants I9 and I17).
//
// A record is a transaction: the effect of one step on several objects (depose and create, restore, move) is one
// record, which is replayed as a whole or not at all. Records have frames and checksums. A torn record at the end is
// cut off. Damage in the middle costs only the damaged records, and is reported. Records that arrive at the same time
// share one write to the disk. After a disk error, the journal accepts no records: a call must not start if its intent
// cannot be made durable.
//
// Leases are recorded, too: a record before each opening, durable before the provider is called, and a record after its
// end. The next command reports the leases without an end, by address and provider. The journal contains no other data
// of leases, and none is needed to find them.
//
// Notes are copied from journal to journal until they are settled. A note is an open lease, until a user removes it
// from the list, or a creation with an unknown outcome, until a user resolves it or imports the object. A journal that
// contains only notes belongs to any state of its lineage.
//
// The first record identifies the state that the journal continues, by lineage, serial and digest. If another program
// has written the state since, the journal is renamed and never applied. The journal of an encrypted state is
// encrypted, too. No record contains an ephemeral value: objects are stored entries, and an intent has only addresses
// and identifying attributes, such as names.
package journal

import (
	"context"
	"fmt"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/state"
)

// Sealing encrypts a journal. Each journal has a separate key. Its first record contains that key, encrypted by Seal.
// So the other records can be written without a key provider, even by the keeper process.
type Sealing interface {
	// Encrypts reports whether Seal encrypts. If not, the journal is not encrypted.
	Encrypts() bool
	Seal(ctx context.Context, plain []byte) ([]byte, error)
	// Open decrypts the result of Seal. If data is not encrypted, and encryption is required, it returns an error.
	Open(ctx context.Context, data []byte) ([]byte, error)
	// AcceptsPlain returns an error if encryption is required.
	AcceptsPlain() error
}

// Op identifies a provider call of a run. 0 means a result without a call, such as a move.
type Op uint64

// Journal is the view of a journal that the engine uses. Its methods may be called concurrently. After an error, the
// engine must not start a call.
type Journal interface {
	// Intent records that a call is about to be made. It returns when the record is durable.
	Intent(Intent) (Op, error)
	// Later records the changes of a call as one transaction. Without changes, it records that the call changed
	// nothing. Later does not wait: it calls done once, from any goroutine, when the record is durable or has failed.
	// done receives the error, and must not block.
	Later(done func(error), op Op, changed ...Change)
}

// Leases records leases. Its methods may be called from many goroutines.
type Leases interface {
	// Opening records that a lease is about to be opened. The record immediately survives a crash of the process, and
	// soon also a crash of the machine. After an error, the lease must not be opened.
	Opening(o addr.Object, p addr.Provider) (Op, error)
	// Closed records that a lease was closed, or that no lease was opened.
	Closed(op Op)
}

// Lease is a lease that was opened, or is about to be.
type Lease struct {
	Object   string        `json:"object"` // the address; keys that must not be shown are hidden
	Provider addr.Provider `json:"provider"`
	Run      string        `json:"run"`             // the run that opened it
	Time     time.Time     `json:"time"`            // the time before the lease was opened
	Named    bool          `json:"named,omitempty"` // a command that changed objects has warned of this lease
}

func (l Lease) String() string {
	return fmt.Sprintf("%s of %s (run %s, %s)", l.Object, l.Provider.ForDisplay(), l.Run, l.Time.UTC().Format(time.RFC3339))
}

// Intent is a call that is about to be made.
type Intent struct {
	Object   addr.Object
	Action   string // such as "create"
	Provider addr.ProviderInstance
	Known    map[string]string // attributes to find the object; known, not sensitive, not ephemeral
}

// Invoke is the action of an intent to invoke an action of a provider. Its object has the address of the action.
const Invoke = "invoke"

// Change is the new object at an address. A nil entry means that the object no longer exists.
type Change struct {
	Object addr.Object
	Entry  *state.Entry
}

// Unknown is a call without a recorded outcome: it may have changed the object or not.
type Unknown struct {
	Intent
	Run  string    // the interrupted run
	Time time.Time // the time before the call

	was state.Digest // the digest of the object's entry in the state after the journal was replayed
}

// EarlierValue lists the objects that were written with a value of an ephemeral resource, while other objects that need
// the same value have yet to be written (ADR 52). It does not contain the value.
type EarlierValue struct {
	Lease   string   `json:"lease"`   // the address of the ephemeral resource, or of an instance in any module instance
	Objects []string `json:"objects"` // the addresses of the objects
}

// Notes are facts about interrupted runs that no state contains.
type Notes struct {
	Unknown []Unknown
	Leases  []Lease
	Earlier []EarlierValue
}

func (u Unknown) String() string {
	return fmt.Sprintf("%s: the outcome of %q is unknown: the run %s had no answer to it (%s)", u.Object, u.Action, u.Run, u.Time.UTC().Format(time.RFC3339))
}

// Header is the first record. It identifies the state that the journal continues, and the run.
type Header struct {
	Lineage string       `json:"lineage"` // the lineage of the state, which may be new
	Serial  uint64       `json:"serial"`  // the serial of the state; 0 without a state
	Base    state.Digest `json:"base"`    // the digest of the state's text; zero without a state
	Run     string       `json:"run"`     // the ID of the run
	Version string       `json:"version"` // the version of the program
	Time    time.Time    `json:"time"`
	Keeper  int          `json:"keeper,omitempty"` // process ID of the keeper; 0 without one

	// Scrubbed is the digest of the state without secrets that `secrets scrub` removed. In copies, it replaces the
	// state of Base. Zero means that no state replaces it.
	Scrubbed state.Digest `json:"scrubbed,omitzero"`
}

// Continues reports whether the journal continues the state with the digest d; zero means that no state exists.
func (h *Header) Continues(d state.Digest) bool {
	return h.Base == d || d != (state.Digest{}) && h.Scrubbed == d
}

// About returns the header of a journal that continues the state base. If base is nil, no state exists. lineage is the
// lineage of a new state; it is used if base has none.
func About(base *state.Snapshot, lineage, run, version string) Header {
	h := Header{Lineage: lineage, Run: run, Version: version, Base: base.Digest()}
	if base != nil {
		h.Serial = base.Serial
		if base.Lineage != "" {
			h.Lineage = base.Lineage
		}
	}
	return h
}

// Path returns the path of the journal for the state in a local file. If the path of the file contains symbolic links,
// Path follows them, so that each name of the state leads to the same journal.
func Path(stateFile string) string {
	if real, err := disk.Resolve(disk.OS, stateFile); err == nil {
		stateFile = real
	}
	return stateFile + ".journal"
}

// None is a journal that stores nothing, for runs that store nothing.
type None struct{}

// Intent implements Journal.
func (None) Intent(Intent) (Op, error) { return 0, nil }

// Later implements Journal.
func (None) Later(done func(error), _ Op, _ ...Change) { done(nil) }
