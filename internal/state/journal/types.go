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
// One goroutine writes. It takes all records that have come while it was busy, writes them at once,
// and tells every caller whose record went along. Records that come together so share a write to the
// disk, which costs more than all else about them.
type Writer struct {
	fs   disk.FS
	run  string // names it
	now  func() time.Time
	file disk.File
	key  cipher.AEAD                                    // encrypts records; nil: they are not encrypted
	ops  atomic.Uint64                                  // calls announced
	done func(Op)                                       // see Options.Recorded
	copy func([]byte, bool)                             // see Options.Copy
	base atomic.Pointer[func(addr.Object) *state.Entry] // see Options.Base
	lazy time.Duration                                  // how long results may wait for a record that a caller waits for

	mu sync.Mutex
	pending

	disk  sync.Mutex // held while a batch is taken and written; taken before mu
	loose bool       // something in the file is not durable

	signals
	pace
}

// pending is the state of a writer between its callers and its goroutine. Writer.mu guards it.
type pending struct {
	number   uint32               // of the next record
	batch    batch                // the records that are not written yet
	open     int                  // calls in progress: their intents are durable, and their outcome is unknown
	leases   map[Op]Lease         // announced and not finished
	err      error                // the first error; nothing is accepted after it
	recorded map[addr.Object]bool // objects whose found state is recorded, see Options.Base
	soon     bool                 // records of leases are durable at the latest when the goroutine has seen its timer
	closed   bool
}

// signals are the channels between the callers of a writer and its goroutine. All except ended have room for one
// element.
type signals struct {
	urgent chan struct{} // has an element when a caller waits
	work   chan struct{} // has an element when there is something to write, or to end
	leased chan struct{} // has an element when there are records of leases, see pending.soon
	idle   chan struct{} // has an element when the last call in progress has ended
	ended  chan struct{} // closed when the goroutine has ended
}

// pace decides how long the goroutine waits for more records. Only the goroutine uses it, and the holder of Writer.disk
// uses reserve.
type pace struct {
	reserve    batch
	took       time.Duration // by the last write
	vain, skip int           // see batchWait
}

// Recovery is the result of replaying a journal.
type Recovery struct {
	Header   Header
	Snapshot *state.Snapshot // the base with all recorded changes; the base itself without changes
	Changes  int             // recorded changes
	Objects  []addr.Object   // the changed objects, each once
	Refused  []addr.Object   // the changed objects that differ from the objects that the run, one of several, found: their changes are not in Snapshot
	Notes                    // calls without a recorded outcome, in the order they were made; leases not closed as far as is known, in the order they were opened
	Damaged  int             // damaged bytes between whole records
	Missing  int             // records that could not be read
	Written  bool            // the base holds all this already: the run was lost after writing it

	key  []byte // encrypts its records; nil: they are not encrypted
	next uint32 // the number of the next record
	ops  Op     // the highest number in use
}

// Name tells the journal of a run from all others.
func (h Header) Name() string { return h.Run + " " + h.Time.UTC().Format(time.RFC3339Nano) }

// Records returns the number of records, including missing ones.
func (r *Recovery) Records() uint32 { return r.next }

// batch is records that are written together.
type batch struct {
	data    []byte
	done    []func(error) // of the callers
	intents int
	awaited bool // by a caller: something is done once it is durable
	firm    bool // the goroutine is to write it
}

// Options are for Create.
type Options struct {
	FS      disk.FS          // the real one
	Now     func() time.Time // the clock
	Seal    Sealing          // nil: the journal is in the clear
	Carry   Notes            // of earlier runs: they stay known until settled
	Before  *Writer          // the journal of the previous round: this journal continues its open leases; nil: none
	Replace bool             // the journal at the path was replayed, and is replaced by this one

	// Opened gets the journal once it is begun, for a process that outlives this one: the key that its records are
	// encrypted under, nil if they are not. Recorded gets each call whose result is durable. Both may be nil.
	Opened   func(path string, key []byte)
	Recorded func(Op)

	// Copy receives all records while they are made durable here. The callers are informed when both are done. If wait
	// is false, Copy may return before it has stored its copy, but a later call with wait must include it. It may be
	// nil.
	Copy func(b []byte, wait bool)

	// Base returns the object that the run found at an address, if no other run works on the state. Then each change is
	// recorded together with the found object, so that changes of a lost run can be distinguished from later ones. It
	// may be nil.
	Base func(addr.Object) *state.Entry
}
