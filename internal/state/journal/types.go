package journal

import (
	"crypto/cipher"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/state"
)

// Writer is a journal in a file.
//
// One goroutine writes records. It takes all records that have arrived during the last write, writes them at once, and
// informs their callers. So records that arrive together share a write to the disk, which is by far the most expensive
// step.
type Writer struct {
	fs   disk.FS
	run  string // the ID of the run
	now  func() time.Time
	file disk.File
	key  cipher.AEAD                                    // encrypts records; nil without encryption
	ops  atomic.Uint64                                  // the number of the last call or lease
	done func(Op)                                       // see Options.Recorded
	copy func([]byte, bool)                             // see Options.Copy
	base atomic.Pointer[func(addr.Object) *state.Entry] // see Options.Base
	lazy time.Duration                                  // how long the writer waits, before it writes outcomes of calls, for a record whose caller waits, to write both together

	invoked atomic.Bool // see Invoked

	mu sync.Mutex
	pending

	disk  sync.Mutex // held while a batch is taken and written; locked before mu
	loose bool       // the file has bytes that are not durable yet

	signals
	pace
}

// pending is the data that the callers and the goroutine of a writer share. Writer.mu guards it.
type pending struct {
	number   uint32               // the number of the next record
	batch    batch                // the records that are not written yet
	open     int                  // calls in progress: with an intent and without an outcome
	leases   map[Op]Lease         // leases that are announced and not closed
	err      error                // the first error; after it, no record is accepted
	recorded map[addr.Object]bool // objects whose found content is recorded, see Options.Base
	soon     bool                 // the goroutine was asked to make records of leases durable within leaseSync
	closed   bool
}

// signals are the channels between the callers of a writer and its goroutine. All except ended have room for one
// element.
type signals struct {
	urgent chan struct{} // has an element if a caller waits
	work   chan struct{} // has an element if there are records to write, or if the writer is closed
	leased chan struct{} // has an element if there are records of leases, see pending.soon
	idle   chan struct{} // has an element if the last call in progress has ended
	ended  chan struct{} // closed when the goroutine has ended
}

// pace decides how long the goroutine waits for more records. Only the goroutine uses it, except reserve, which the
// holder of Writer.disk uses.
type pace struct {
	reserve    batch
	took       time.Duration // the duration of the last write
	vain, skip int           // vain waits, and waits to skip: see batchWait
}

// Recovery is the result of replaying a journal.
type Recovery struct {
	Header   Header
	Snapshot *state.Snapshot // base with all recorded changes; base itself without changes
	Changes  int             // the number of recorded changes
	Objects  []addr.Object   // the changed objects, each once
	Refused  []addr.Object   // changed objects that base does not have as found; not in Snapshot
	Notes                    // unknown calls and open leases, in the order of their beginnings
	Damaged  int             // damaged bytes between whole records
	Missing  int             // records that could not be read
	Invoked  bool            // the run has begun to invoke an action
	Written  bool            // base already has all changes: the run ended after it had written the state

	key  []byte // encrypts the records; nil without encryption
	next uint32 // the number of the next record
	ops  Op     // the highest number in use
}

// Name identifies the journal of a run among all journals.
func (h Header) Name() string { return h.Run + " " + h.Time.UTC().Format(time.RFC3339Nano) }

// Records returns the number of records, including missing ones.
func (r *Recovery) Records() uint32 { return r.next }

// batch has records that are written together.
type batch struct {
	data    []byte
	done    []func(error) // the functions of the callers
	intents int
	awaited bool // a caller waits for a record of the batch
	firm    bool // the goroutine must write the batch; otherwise, a caller with a lease may write it
}

// Options are settings for Create and Continue. Continue ignores Seal, Carry, Before and Replace.
type Options struct {
	FS      disk.FS          // nil: the real file system
	Now     func() time.Time // nil: time.Now
	Seal    Sealing          // nil: no encryption
	Carry   Notes            // notes of earlier runs, which stay until they are settled
	Before  *Writer          // the journal of the run's previous round (ADR 52), whose open leases this journal continues; nil: this is the first round
	Replace bool             // the journal at the path was replayed; the new journal replaces it

	// Opened is called when the journal exists, with its path and the key that encrypts its records (nil without
	// encryption), so that a process that outlives this one can continue the journal. Recorded is called with each call
	// whose result is durable. Both may be nil.
	Opened   func(path string, key []byte)
	Recorded func(Op)

	// Copy receives all records while the writer makes them durable. The callers are informed when both are done. If
	// wait is false, Copy may return before it has stored the bytes, but a later call with wait must store them. Copy
	// may be nil.
	Copy func(b []byte, wait bool)

	// Base returns the object that the run found at an address. It is set only if no other run works on the state. Then
	// each change is recorded together with the found object, so that a recovery can distinguish the changes of the
	// interrupted run from later changes. Base may be nil.
	Base func(addr.Object) *state.Entry
}
