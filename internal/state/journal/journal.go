// Package journal records every change of an apply in a file, so that a crash loses none.
//
// A run writes the state at its end, and a long run also writes interim states before its end (ADR 43). Until then, the
// journal has the changes. An Intent (the record of a call that is about to start) is durable before each provider call
// that changes an object. The result is durable before any call that depends on it. If the process ends at any moment,
// the next command finds each completed change in the state or in the journal, and knows which calls were in progress
// (invariants I9 and I17).
//
// A record is a transaction: the effect of one step on several objects (depose and create, restore, move) is one
// record, which is replayed as a whole or not at all. Records have a fixed head and a checksum. An incomplete record at
// the end of the file is cut off. Damage in the middle costs only the damaged records, and is reported. Records that
// arrive at the same time share one write to the disk. After a disk error, the journal accepts no records, because a
// call must not start if its intent cannot be made durable.
//
// Leases are recorded, too: a record before each opening, durable before the provider is called, and a record after its
// end. The next command reports the leases without an end, by address and provider. The journal contains no other data
// of leases, and none is needed to find them.
//
// Notes are facts about crashed runs that no state contains: an open lease, or a creation with an unknown outcome. Each
// run copies them into its journal until they are settled. A lease is settled when a user removes it from the list. A
// creation is settled when a user resolves it or imports the object. A journal that contains only notes belongs to any
// state of its lineage.
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

// Sealing encrypts the keys of journals with the encryption settings of the state. Each journal has its own key, and
// its first record contains that key, encrypted by Seal. So a process that has the key, such as the keeper, can write
// the other records without a key provider.
type Sealing interface {
	// Encrypts reports whether Seal encrypts. If not, the journal is not encrypted.
	Encrypts() bool
	Seal(ctx context.Context, plain []byte) ([]byte, error)
	// Open decrypts the result of Seal. If data is not encrypted, and encryption is required, it returns an error.
	Open(ctx context.Context, data []byte) ([]byte, error)
	// AcceptsPlain returns an error if encryption is required.
	AcceptsPlain() error
}

// Op is the number of a provider call in a journal. 0 means a result without a call, such as a move.
type Op uint64

// Journal has the methods of a journal that the engine uses. They may be called concurrently. After an error, the
// engine must not start a provider call.
type Journal interface {
	// Intent records that a call is about to be made. It returns when the record is durable.
	Intent(Intent) (Op, error)
	// Later records the changes of a call as one transaction. Without changes, it records that the call changed
	// nothing. Later does not wait: it calls done once, from any goroutine, when the record is durable or has failed.
	// done receives the error, and must not block.
	Later(done func(error), op Op, changed ...Change)
}

// Leases records the openings and closings of leases (sessions of ephemeral resources). Its methods may be called
// concurrently.
type Leases interface {
	// Opening records that a lease is about to be opened. The record immediately survives a crash of the process, and
	// soon also a crash of the machine. After an error, the lease must not be opened.
	Opening(o addr.Object, p addr.Provider) (Op, error)
	// Closed records that a lease was closed, or that no lease was opened.
	Closed(op Op)
}

// Lease is a lease (the session of an ephemeral resource) that was opened, or is about to be.
type Lease struct {
	Object   string        `json:"object"` // the address of the ephemeral resource; keys that must not be shown are hidden
	Provider addr.Provider `json:"provider"`
	Run      string        `json:"run"`             // the ID of the run that opened the lease
	Time     time.Time     `json:"time"`            // the time just before the lease was opened
	Named    bool          `json:"named,omitempty"` // a command that changed objects has warned of this open lease
}

func (l Lease) String() string {
	return fmt.Sprintf("%s of %s (run %s, %s)", l.Object, l.Provider.ForDisplay(), l.Run, l.Time.UTC().Format(time.RFC3339))
}

// Intent describes a provider call that is about to be made.
type Intent struct {
	Object   addr.Object
	Action   string // such as "create"
	Provider addr.ProviderInstance
	Known    map[string]string // values of attributes that help to find the object; known, not sensitive, not ephemeral
}

// Invoke is the Action of an Intent for invoking an action of a provider. Its Object has the address of the action.
const Invoke = "invoke"

// Change is the new object at an address. A nil entry means that the object no longer exists.
type Change struct {
	Object addr.Object
	Entry  *state.Entry
}

// Unknown is a provider call without a recorded outcome: the call may have changed the object or not.
type Unknown struct {
	Intent
	Run  string    // the ID of the interrupted run
	Time time.Time // the time just before the call

	was state.Digest // the digest of the object's entry in the state after the journal was replayed
}

// EarlierValue lists the objects that were written with a value of an ephemeral resource, while other objects that need
// the same value will be written in a later round of the run (ADR 52). It does not contain the value.
type EarlierValue struct {
	Lease   string   `json:"lease"`   // the address of the ephemeral resource, or of one of its instances, in any module instance
	Objects []string `json:"objects"` // the addresses of the written objects
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

// Header is the first record of a journal, or the second if the journal is encrypted. It identifies the state that the
// journal continues, and the run.
type Header struct {
	Lineage string       `json:"lineage"` // the lineage of the state; a new lineage if no state exists
	Serial  uint64       `json:"serial"`  // the serial of the state; 0 without a state
	Base    state.Digest `json:"base"`    // the digest of the state's text; zero if no state exists
	Run     string       `json:"run"`     // the ID of the run
	Version string       `json:"version"` // the version of the program
	Time    time.Time    `json:"time"`
	Keeper  int          `json:"keeper,omitempty"` // the process ID of the keeper; 0 means that the run has none

	// Scrubbed is the digest of the state after `secrets scrub` removed secrets from it. A journal with this field
	// continues that state, too. Zero means that nothing was removed.
	Scrubbed state.Digest `json:"scrubbed,omitzero"`
}

// Continues reports whether the journal continues the state whose text has the digest d. Zero means that no state
// exists.
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

// Path returns the path of the journal for the state in a local file. It follows symbolic links in the path of the
// state, so that each name of the state leads to the same journal.
func Path(stateFile string) string {
	if real, err := disk.Resolve(disk.OS, stateFile); err == nil {
		stateFile = real
	}
	return stateFile + ".journal"
}

// None is a Journal that records nothing, for runs that change nothing.
type None struct{}

// Intent records nothing and returns 0 and nil.
func (None) Intent(Intent) (Op, error) { return 0, nil }

// Later records nothing and calls done with nil.
func (None) Later(done func(error), _ Op, _ ...Change) { done(nil) }
