// Package journal makes every change durable during an apply.
//
// The state is written at the end of a run, and long runs write interim states before (ADR 43). Until then, a journal
// has the changes: an Intent before each provider call that changes something, durable before the call; its Result
// after the call, durable before any call that depends on it. If the process is lost at any moment, the next command
// finds every answered change in the state or here, and the names of the calls in progress (invariants I9 and I17).
//
// A record is a transaction: the effect of one step on several objects (depose and create, restore,
// move) is one record, which exists as a whole or not at all. Records have frames and
// checksums. A torn end is cut off. Damage in the middle costs only the damaged records, and it
// is noticed and reported. Writers that arrive at the same time share one write to the disk. After a disk error
// no record is accepted: a call whose intent cannot be made durable must not be started.
//
// Leases are recorded, too: a record before each opening, durable before the provider is called, and
// a record after its end. The next command gets the leases without an end, by address and
// provider. The journal knows nothing else of them, and nothing else is needed to look for them.
//
// Notes go from journal to journal until they are settled: open leases until a user removes them from the list, and
// creations without an outcome until a user resolves them or imports the object. A journal with nothing but notes
// belongs to any state of its lineage.
//
// The first record identifies the state that the journal continues, by lineage, serial and digest. If another program
// has written that state since, the journal is put aside and never applied. The journal of an encrypted state is
// encrypted, too. No record contains an ephemeral value: objects are stored entries, and an intent has addresses and
// attributes like names.
package journal

import (
	"context"
	"fmt"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/state"
)

// Sealing encrypts a journal. A journal has a separate key, and its first record contains that key, sealed. So a record
// needs no call of a key provider and no program.
type Sealing interface {
	// Encrypts reports whether Seal encrypts; journals are in the clear otherwise.
	Encrypts() bool
	Seal(ctx context.Context, plain []byte) ([]byte, error)
	// Open decrypts the result of Seal. Unencrypted data is an error where it is not permitted.
	Open(ctx context.Context, data []byte) ([]byte, error)
	// AcceptsPlain returns an error if files that are not encrypted are refused.
	AcceptsPlain() error
}

// Op identifies a call of a run. 0 is a result without a call, such as a move.
type Op uint64

// Journal is the journal as the engine uses it. Its methods may be called from many goroutines, and return when their
// record is as durable as it will be. After an error no new call may be started.
type Journal interface {
	// Intent announces a call.
	Intent(Intent) (Op, error)
	// Later records the changes of a call as one transaction; no changes if the call changed nothing. It does not wait:
	// done is called once, from any goroutine, when the record is as durable as it will be, with the reason if it is
	// not. done must not wait for anything.
	Later(done func(error), op Op, changed ...Change)
}

// Leases records leases. Its methods may be called from many goroutines.
type Leases interface {
	// Opening records that a lease is about to be opened. The record outlives the processes at once, and the machine soon.
	// After an error the lease must not be opened.
	Opening(o addr.Object, p addr.Provider) (Op, error)
	// Closed records that a lease was closed, or that no lease was opened.
	Closed(op Op)
}

// Lease is a lease that was opened, or is about to be.
type Lease struct {
	Object   string        `json:"object"` // its address, with keys hidden that must not be shown
	Provider addr.Provider `json:"provider"`
	Run      string        `json:"run"`             // the run that opened it
	Time     time.Time     `json:"time"`            // when it was about to be opened
	Named    bool          `json:"named,omitempty"` // users were warned of it by a command that changed something
}

func (l Lease) String() string {
	return fmt.Sprintf("%s of %s (run %s, %s)", l.Object, l.Provider.ForDisplay(), l.Run, l.Time.UTC().Format(time.RFC3339))
}

// Intent is a call that is about to be made.
type Intent struct {
	Object   addr.Object
	Action   string // such as "create"
	Provider addr.ProviderInstance
	Known    map[string]string // attributes for finding the object: known, neither sensitive nor ephemeral
}

// Change is the present object at an address; a nil entry means that none exists.
type Change struct {
	Object addr.Object
	Entry  *state.Entry
}

// Unknown is a call whose outcome was not recorded: the object may or may not have been changed.
type Unknown struct {
	Intent
	Run  string    // the run that was lost
	Time time.Time // when the call was about to be made

	was state.Digest // of the object in the state after the run was replayed
}

// EarlierValue lists the objects that were written with a value of an ephemeral resource, while other objects that need the
// same value have yet to be written (ADR 52). It does not contain the value.
type EarlierValue struct {
	Lease   string   `json:"lease"`   // the address of the ephemeral resource, or of an instance in any module instance
	Objects []string `json:"objects"` // the addresses of the objects
}

// Notes are facts about lost runs that no state has.
type Notes struct {
	Unknown []Unknown
	Leases  []Lease
	Earlier []EarlierValue
}

func (u Unknown) String() string {
	return fmt.Sprintf("%s: the outcome of %q is unknown: the run %s had no answer to it (%s)", u.Object, u.Action, u.Run, u.Time.UTC().Format(time.RFC3339))
}

// Header is the first record: which state the journal is about, and whose it is.
type Header struct {
	Lineage string       `json:"lineage"` // of the state, or for a new state
	Serial  uint64       `json:"serial"`  // of the state; 0: no state
	Base    state.Digest `json:"base"`    // of the state's bytes; zero: no state
	Run     string       `json:"run"`     // names the run
	Version string       `json:"version"` // the program
	Time    time.Time    `json:"time"`
	Keeper  int          `json:"keeper,omitempty"` // the process that continues it if the run is lost; 0: none

	// Scrubbed is the digest of the state that replaces the state of Base in copies, without former secrets. The zero value
	// means that none does.
	Scrubbed state.Digest `json:"scrubbed,omitzero"`
}

// Continues reports whether the journal continues the state with a digest.
func (h *Header) Continues(d state.Digest) bool {
	return h.Base == d || d != (state.Digest{}) && h.Scrubbed == d
}

// About returns the header of a journal for a state that was read, nil if no state exists. lineage is the
// lineage for a new state.
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

// Path is where the journal of the state in a file stands. The path of the file may be a symbolic link: the journal is the
// same for each path of the state.
func Path(stateFile string) string {
	if real, err := disk.Resolve(disk.OS, stateFile); err == nil {
		stateFile = real
	}
	return stateFile + ".journal"
}

// None is a journal that keeps nothing: for runs that store nothing.
type None struct{}

// Intent implements Journal.
func (None) Intent(Intent) (Op, error) { return 0, nil }

// Later implements Journal.
func (None) Later(done func(error), _ Op, _ ...Change) { done(nil) }
