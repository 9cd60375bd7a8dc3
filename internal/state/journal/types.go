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
// One goroutine writes the records. It takes all records that have arrived during its last write, writes them with one
// write, and then informs their callers. So records that arrive together share a write to the disk, which is by far the
// most expensive step.
type Writer struct {
	fs   disk.FS
	run  string // the ID of the run
	now  func() time.Time
	file disk.File
	key  cipher.AEAD                                    // encrypts records; nil without encryption
	ops  atomic.Uint64                                  // the number of the last call or lease
	done func(Op)                                       // called with each call whose result is durable; see Options.Recorded
	copy func([]byte, bool)                             // stores a copy of the records elsewhere; see Options.Copy
	base atomic.Pointer[func(addr.Object) *state.Entry] // returns the object that the run found at an address; see Options.Base
	lazy time.Duration                                  // how long the goroutine delays the outcomes of calls, so that it can write them together with a record for which a caller waits

	invoked atomic.Bool // the run has begun to invoke an action of a provider

	mu sync.Mutex
	pending

	disk  sync.Mutex // held while the goroutine or a caller takes and writes a batch; locked before mu
	loose bool       // the file has bytes that are written, but not durable yet

	signals
	pace
}

// pending has the data that the callers of a writer and its goroutine share. Writer.mu guards it.
type pending struct {
	number   uint32               // the number of the next record
	batch    batch                // the records that are not written yet
	open     int                  // the number of calls in progress: calls with an intent and without an outcome
	leases   map[Op]Lease         // the leases with a record of their opening and without a record of their closing
	err      error                // the first error; after an error, no record is accepted
	recorded map[addr.Object]bool // the objects for which the entry that the run found is recorded; see Options.Base
	soon     bool                 // the goroutine was asked to make the records of leases durable within leaseSync
	closed   bool
}

// signals has the channels between the callers of a writer and its goroutine. Each except ended has room for one
// element.
type signals struct {
	urgent chan struct{} // has an element if a caller waits for a record
	work   chan struct{} // has an element if there are records to write, or if the writer is closed
	leased chan struct{} // has an element if there are records of leases to make durable; see pending.soon
	idle   chan struct{} // has an element if the last call in progress has ended
	ended  chan struct{} // closed when the goroutine has ended
}

// pace decides how long the goroutine waits for more records before it writes. Only the goroutine uses it. The
// exception is reserve, an empty batch, which the holder of Writer.disk uses.
type pace struct {
	reserve    batch
	took       time.Duration // the duration of the last write
	vain, skip int           // vain counts waits that brought no record, and skip counts the waits that are skipped because of that; see batchWait
}

// Recovery is the result of replaying a journal.
type Recovery struct {
	Header   Header
	Snapshot *state.Snapshot // the state with all recorded changes; the unchanged state if no change was recorded
	Changes  int             // the number of recorded changes
	Objects  []addr.Object   // the changed objects, without duplicates
	Refused  []addr.Object   // changed objects that the state no longer has as the run found them; their changes are not in Snapshot
	Notes                    // the calls with an unknown outcome and the open leases, in the order of their beginnings
	Damaged  int             // the number of damaged bytes between undamaged records
	Missing  int             // the number of records that could not be read
	Invoked  bool            // the run has begun to invoke an action of a provider
	Written  bool            // the state already has all changes, because the run ended after it had written the state

	key  []byte // the key of the journal; nil without encryption
	next uint32 // the number of the next record
	ops  Op     // the highest number of a call or lease
}

// Name returns a text that identifies the journal of a run among all journals.
func (h Header) Name() string { return h.Run + " " + h.Time.UTC().Format(time.RFC3339Nano) }

// Records returns the number of records in the journal, including records that could not be read.
func (r *Recovery) Records() uint32 { return r.next }

// batch has records that will be written with one write.
type batch struct {
	data    []byte
	done    []func(error) // the functions to call when the records are durable or have failed
	intents int
	awaited bool // a caller waits until a record of the batch is durable
	firm    bool // the goroutine must write the batch; if false, a caller that opens a lease may write it
}

// Options are settings for Create and Continue. Continue ignores Seal, Carry, Before and Replace.
type Options struct {
	FS      disk.FS          // nil: the real file system
	Now     func() time.Time // nil: time.Now
	Seal    Sealing          // nil: no encryption
	Carry   Notes            // notes of earlier runs, which each journal repeats until they are settled
	Before  *Writer          // the journal of the previous round (plan and apply) of this run (ADR 52), whose open leases this journal takes over; nil in the first round
	Replace bool             // the existing journal at the path was replayed, so the new journal replaces it

	// Opened is called when the journal exists, with its path and its key (nil without encryption), so that a process that
	// outlives this one, the keeper, can continue the journal. Recorded is called with each call whose result is durable.
	// Both may be nil.
	Opened   func(path string, key []byte)
	Recorded func(Op)

	// Copy receives all records while the writer makes them durable. The writer informs the callers when both are done. If
	// wait is false, Copy may return before it has stored the bytes, but a later call with wait must store them, too. Copy
	// may be nil.
	Copy func(b []byte, wait bool)

	// Base returns the entry that the run found at an address. It is set only if no other run works on the state. Then the
	// digest of that entry is recorded with each change, so that a recovery can distinguish the changes of the interrupted
	// run from later changes. Base may be nil.
	Base func(addr.Object) *state.Entry
}
