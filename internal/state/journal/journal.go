// Package journal makes every change durable while an apply runs.
//
// The state is written at the end of a run; long runs write interim states before (ADR 43). Until then a journal says what
// happened: an Intent before each provider call that changes something, durable before the call is
// made; its Result after it, durable before any call that depends on it. If
// the process is lost at any moment, the next command finds every answered change in the state or here, and
// learns the names of those that were being made (invariants I9 and I17).
//
// A record is a transaction: what one step did to several objects (depose and create, restore,
// move) is one record and is there as a whole or not at all. Records are framed and have
// checksums; a torn end is cut off, and damage in the middle costs the damaged records only, which
// is noticed and said. Writers that come together share one write to the disk. After an error of
// the disk nothing more is taken: what cannot be made durable must not be started.
//
// Leases are named, too: a record before each opening, durable before the provider is asked, and
// one when it is over. Those that were not closed are named to the next command, by address and
// provider: nothing else is known of them here, nor is it needed to look for them.
//
// What no state has goes from journal to journal until it is settled (Notes): leases that were left open, until a user
// takes them off the list, and creations without an outcome, until a user says what became of them or imports the object. A journal that has nothing else belongs to whichever state of its lineage there is.
//
// The first record says which state the rest is about, by lineage, serial and digest. A journal
// whose state has moved on, because another program wrote it since, is put aside and never
// applied. A journal of a state that is encrypted is encrypted, too. No ephemeral value has a place in any record: objects are stored entries, and an intent
// holds addresses and attributes like names.
package journal

import (
	"context"
	"fmt"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/state"
)

// Sealing encrypts a journal. A journal has a key of its own, and in its first record that key, sealed: what
// is recorded costs no call of a key provider then, and no program.
type Sealing interface {
	// Encrypts reports whether Seal encrypts; journals are in the clear otherwise.
	Encrypts() bool
	Seal(ctx context.Context, plain []byte) ([]byte, error)
	// Open is the opposite of Seal. What is not encrypted is an error where that may not be.
	Open(ctx context.Context, data []byte) ([]byte, error)
	// AcceptsPlain returns an error if files that are not encrypted are refused.
	AcceptsPlain() error
}

// Op tells the calls of one run apart. 0 is no call: a result of its own, such as a move.
type Op uint64

// Journal is what the engine writes to. Its methods may be called from many goroutines, and
// return when what they were given is as durable as it will be; after an error no new call may be
// started.
type Journal interface {
	// Intent says that a call is about to be made.
	Intent(Intent) (Op, error)
	// Later says what a call changed, as one transaction; nothing at all if it changed nothing. It does
	// not wait: over is called when the record is as durable as it will be, or why it is not, once and
	// from any goroutine. It must not wait for anything.
	Later(over func(error), op Op, changed ...Change)
}

// Leases is what takes note of leases. Its methods may be called from many goroutines.
type Leases interface {
	// Opening says that a lease is about to be opened, durably; after an error it must not be.
	Opening(o addr.Object, p addr.Provider) (Op, error)
	// Over says that a lease is closed, or that nothing was opened.
	Over(op Op)
}

// Lease is one that was opened, or about to be.
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
	Known    map[string]string // what the object can be found by: known, neither sensitive nor ephemeral
}

// Change is what is at an object's address now; a nil entry says nothing.
type Change struct {
	Object addr.Object
	Entry  *state.Entry
}

// Unknown is a call whose outcome was not recorded: the object may or may not have been changed.
type Unknown struct {
	Intent
	Run  string    // the run that was lost
	Time time.Time // when the call was about to be made

	was state.Digest // of what the state had there after the run was taken in
}

// Notes are what is known of lost runs, and in no state.
type Notes struct {
	Unknown []Unknown
	Leases  []Lease
}

func (u Unknown) String() string {
	return fmt.Sprintf("%s: the outcome of %q is unknown: the run %s had no answer to it (%s)", u.Object, u.Action, u.Run, u.Time.UTC().Format(time.RFC3339))
}

// Header is the first record: which state the journal is about, and whose it is.
type Header struct {
	Lineage string       `json:"lineage"` // of the state, or the one it will get
	Serial  uint64       `json:"serial"`  // of the state; 0: there is none
	Base    state.Digest `json:"base"`    // of the state's bytes; zero: there is none
	Run     string       `json:"run"`     // names the run
	Version string       `json:"version"` // the program
	Time    time.Time    `json:"time"`
	Keeper  int          `json:"keeper,omitempty"` // the process that goes on with it should the run be lost; 0: none
}

// About is the header of a journal about a state as it was read, nil if there is none. lineage is
// what it will get if it has none.
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

// Path is where the journal of the state in a file stands.
func Path(stateFile string) string { return stateFile + ".journal" }

// None is a journal that keeps nothing: for runs that store nothing.
type None struct{}

// Intent implements Journal.
func (None) Intent(Intent) (Op, error) { return 0, nil }

// Later implements Journal.
func (None) Later(over func(error), _ Op, _ ...Change) { over(nil) }
