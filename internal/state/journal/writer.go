package journal

import (
	"crypto/cipher"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/disk"
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
	key  cipher.AEAD                                    // what records are encrypted under; nil: they are not
	ops  atomic.Uint64                                  // calls announced
	done func(Op)                                       // see Options.Recorded
	copy func([]byte, bool)                             // see Options.Copy
	base atomic.Pointer[func(addr.Object) *state.Entry] // see Options.Base
	lazy time.Duration                                  // how long results may wait for a record that a caller waits for

	mu     sync.Mutex
	number uint32               // of the next record
	batch  batch                // what is to be written
	open   int                  // calls under way: their intents are durable, and their outcome is not known
	leases int                  // announced and not over
	err    error                // the first; nothing is taken after it
	said   map[addr.Object]bool // of which it is recorded how they were found, see Options.Base
	closed bool

	urgent chan struct{} // has an element when a caller waits
	work   chan struct{} // has an element when there is something to write, or to end
	idle   chan struct{} // has an element when no call is under way any more
	over   chan struct{} // closed when the goroutine has ended

	// The goroutine's own.
	spare      batch
	took       time.Duration // by the last write
	vain, skip int           // see batchWait
}

// Recovery is what a journal tells.
type Recovery struct {
	Header   Header
	Snapshot *state.Snapshot // the base with all recorded changes; the base itself if there are none
	Changes  int             // recorded changes
	Objects  []addr.Object   // those that were changed, each once
	Refused  []addr.Object   // those of them that are not as the run, one of several, knew them: their changes are not in Snapshot
	Notes                    // calls without a recorded outcome, in the order they were made; leases not closed as far as is known, in the order they were opened
	Damaged  int             // bytes that could not be read between those that could
	Missing  int             // records that could not be read
	Written  bool            // the base holds all this already: the run was lost after writing it

	key  []byte // what its records are encrypted under; nil: they are not
	next uint32 // the number of the next record
	ops  Op     // the last one that was given
}

// Name tells the journal of a run from all others.
func (h Header) Name() string { return h.Run + " " + h.Time.UTC().Format(time.RFC3339Nano) }

// Records is how many records there are, with those that are missing.
func (r *Recovery) Records() uint32 { return r.next }

// batch is records that are written together.
type batch struct {
	data    []byte
	over    []func(error) // of the callers
	intents int
	awaited bool // by a caller: something is done once it is durable
}

// Options are for Create.
type Options struct {
	FS    disk.FS          // the real one
	Now   func() time.Time // the clock
	Seal  Sealing          // nil: the journal is in the clear
	Carry Notes            // of earlier runs: they stay known until settled
	Over  bool             // the journal at the path was taken in, and gives way to this one

	// Kept gets the journal once it is begun, for a process that outlives this one: the key that its records are
	// encrypted under, nil if they are not. Recorded gets each call whose result is durable. Both may be nil.
	Kept     func(path string, key []byte)
	Recorded func(Op)

	// Copy gets all that is written, while it is made durable here: what was given is over when both are done. Unless it
	// has to wait, it need not have done more than taken note: what comes after that and has to wait comes after it. It
	// may be nil.
	Copy func(b []byte, wait bool)

	// Base gives what the run found at an address, where it has the state to itself. Then it is recorded with each
	// change, and what a lost run did can be told from what was done since. It may be nil.
	Base func(addr.Object) *state.Entry
}

// ErrExists says that there is a journal already. It has to be recovered, or put aside, first.
var ErrExists = errors.New("there is a journal of an earlier run")

// Create begins a journal at path, which must not exist, and makes its header durable.
func Create(path string, h Header, o Options) (*Writer, error) {
	w := newWriter(h.Run, o)
	if h.Time.IsZero() {
		h.Time = w.now().UTC()
	}
	made := path
	if o.Over {
		made = path + ".new"
		_ = w.fs.Remove(made) // of a command that was killed
	} else if _, err := w.fs.Lstat(path); err == nil {
		return nil, fmt.Errorf("%w: %s", ErrExists, path)
	}
	raw, sealedKey, err := newKey(o.Seal)
	if err != nil {
		return nil, fmt.Errorf("the journal cannot be encrypted: %w", err)
	}
	w.key = aead(raw)
	if w.file, err = disk.Append(w.fs, made); err != nil {
		return nil, fmt.Errorf("the journal cannot be made: %w", err)
	}
	if err = w.begin(h, sealedKey, o.Carry); err == nil && o.Over {
		err = w.fs.Rename(made, path)
	}
	if err == nil {
		err = disk.SyncDir(w.fs, filepath.Dir(path))
	}
	if err != nil {
		w.file.Close()
		w.fs.Remove(made)
		return nil, fmt.Errorf("the journal cannot be made: %w", err)
	}
	w.begun(path, raw, o)
	return w, nil
}

// begun has the journal in use from now on.
func (w *Writer) begun(path string, key []byte, o Options) {
	_ = disk.Share(w.file) // where there are no such locks, two runs are kept apart by that of the state
	if o.Kept != nil {
		o.Kept(path, key)
	}
	go w.write()
}

func newWriter(run string, o Options) *Writer {
	w := &Writer{
		lazy: 2 * time.Millisecond, fs: o.FS, run: run, now: o.Now, done: o.Recorded, copy: o.Copy, said: map[addr.Object]bool{},
		urgent: make(chan struct{}, 1), work: make(chan struct{}, 1), idle: make(chan struct{}, 1), over: make(chan struct{}),
	}
	if o.Base != nil {
		w.base.Store(&o.Base)
	}
	if w.fs == nil {
		w.fs = disk.OS
	}
	if w.now == nil {
		w.now = time.Now
	}
	return w
}

// Continue goes on writing a journal that was read and stays where it is: for a run that changes
// nothing that the journal is about, and opens leases. run names it.
func (r *Recovery) Continue(path, run string, o Options) (*Writer, error) {
	w := newWriter(run, o)
	w.number, w.key = r.next, aead(r.key)
	w.ops.Store(uint64(r.ops))
	var err error
	if w.file, err = w.fs.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0); err != nil {
		return nil, fmt.Errorf("the journal cannot be written: %w", err)
	}
	w.begun(path, r.key, o)
	return w, nil
}

// begin makes the header durable, and what is noted of earlier runs.
func (w *Writer) begin(h Header, key []byte, carry Notes) error {
	var b []byte
	if key != nil {
		b = appendRecord(b, keyRecord, w.number, key)
		w.number++
	}
	add := func(k kind, payload []byte) {
		b = appendRecord(b, k, w.number, sealed(w.key, k, w.number, payload))
		w.number++
	}
	add(headerRecord, encode(h))
	for _, u := range carry.Unknown {
		add(intentRecord, encodeIntent(Op(w.ops.Add(1)), u))
	}
	for _, l := range carry.Leases {
		add(leaseRecord, encode(leaseJSON{Op(w.ops.Add(1)), l}))
	}
	return w.put(b, false) // with the first call, or lease
}

// Intent implements Journal.
func (w *Writer) Intent(i Intent) (Op, error) {
	if i.Object.Mode == addr.Ephemeral {
		return 0, fmt.Errorf("%s is ephemeral and has no place in a journal", i.Object)
	}
	op := Op(w.ops.Add(1))
	w.sayFound(Change{Object: i.Object})
	return op, w.durable(intentRecord, encodeIntent(op, Unknown{Intent: i, Time: w.now().UTC()}))
}

// Later implements Journal.
func (w *Writer) Later(over func(error), op Op, changed ...Change) {
	for _, c := range changed {
		if c.Object.Mode == addr.Ephemeral {
			over(fmt.Errorf("%s is ephemeral and has no place in a journal", c.Object))
			return
		}
	}
	w.sayFound(changed...)
	w.add(resultRecord, op, encodeResult(op, changed), func(err error) {
		if err == nil && op != 0 && w.done != nil {
			w.done(op)
		}
		over(err)
	})
}

// End says what the state is that now will be written in place of all this.
func (w *Writer) End(next state.Digest) error {
	return w.durable(endRecord, encode(endJSON{next}))
}

// Next returns the number of the next record.
func (w *Writer) Next() uint32 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.number
}

// Interim records, durably, that a state is about to be written that has the changes of all records before a number. The
// journal goes on after that state.
func (w *Writer) Interim(next state.Digest, before uint32) error {
	return w.durable(interimRecord, encode(interimJSON{Next: next, Before: before}))
}

// InterimWritten records that the store has confirmed the state. base finds objects in it: from now on the journal says of
// each object how it was before its first change, because another run may go on from that state. It does not wait.
func (w *Writer) InterimWritten(next state.Digest, before uint32, base func(addr.Object) *state.Entry) {
	w.add(interimRecord, 0, encode(interimJSON{next, before, true}), func(error) {})
	w.base.Store(&base)
}

// sayFound records of objects that are about to be changed how they were found, each once.
func (w *Writer) sayFound(changed ...Change) {
	base := w.base.Load()
	if base == nil {
		return
	}
	found := map[string]state.Digest{}
	w.mu.Lock()
	for _, c := range changed {
		if !w.said[c.Object] {
			w.said[c.Object] = true
			found[c.Object.String()] = entryDigest(c.Object, (*base)(c.Object))
		}
	}
	w.mu.Unlock()
	if len(found) > 0 {
		w.add(foundRecord, 0, encode(foundJSON{Found: found, Some: true}), func(error) {})
	}
}

// Found says that the run is one of several that work on the state, each on its own objects, and how it found
// those: other objects may change meanwhile.
func (w *Writer) Found(objects []Change) error {
	found := make(map[string]state.Digest, len(objects))
	for _, c := range objects {
		found[c.Object.String()] = entryDigest(c.Object, c.Entry)
	}
	return w.durable(foundRecord, encode(foundJSON{Found: found}))
}

// Opening implements Leases.
func (w *Writer) Opening(o addr.Object, p addr.Provider) (Op, error) {
	op := Op(w.ops.Add(1))
	err := w.durable(leaseRecord, encode(leaseJSON{op, Lease{Object: o.String(), Provider: p, Run: w.run, Time: w.now().UTC()}}))
	if err == nil {
		w.count(1)
	}
	return op, err
}

// Over implements Leases. It does not wait: should the record be lost, a lease is named that is
// closed.
func (w *Writer) Over(op Op) {
	w.count(-1)
	w.add(overRecord, 0, encode(overJSON{op}), func(error) {})
}

func (w *Writer) count(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.leases += n
}

// Unsettled reports whether there are calls without a recorded outcome, or leases that are not
// over.
func (w *Writer) Unsettled() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.open > 0 || w.leases > 0
}

// durable takes a record and returns when it is durable, or cannot be.
func (w *Writer) durable(k kind, payload []byte) error {
	result := make(chan error, 1)
	w.addAwaited(k, payload, func(err error) { result <- err })
	return <-result
}

// addAwaited takes a record that a caller waits for.
func (w *Writer) addAwaited(k kind, payload []byte, over func(error)) {
	w.add(k, 0, payload, over)
	w.Urge()
}

// Urge says that a caller waits for what was given so far.
func (w *Writer) Urge() {
	w.mu.Lock()
	w.batch.awaited = len(w.batch.over) > 0
	w.mu.Unlock()
	signal(w.urgent)
}

// add takes a record, which may be the outcome of a call.
func (w *Writer) add(k kind, of Op, payload []byte, over func(error)) {
	w.mu.Lock()
	if of != 0 && w.open > 0 {
		if w.open--; w.open == 0 {
			signal(w.idle)
		}
	}
	err := w.err
	if err == nil && w.closed {
		err = errClosed
	}
	if err == nil {
		w.batch.data = appendRecord(w.batch.data, k, w.number, sealed(w.key, k, w.number, payload))
		w.batch.over = append(w.batch.over, over)
		if k == intentRecord {
			w.batch.intents++
		}
		w.number++
	}
	first := len(w.batch.over) == 1
	w.mu.Unlock()
	switch {
	case err != nil:
		over(err)
	case first:
		signal(w.work)
	}
}

// signal puts an element into a channel that has room for one.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// write writes what comes, until the writer is closed.
func (w *Writer) write() {
	defer close(w.over)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for range w.work {
		w.batchWait(timer)
		if w.commit() {
			return
		}
	}
}

// batchWait waits for more records that can go into the next write. Goroutines that are ready to run
// come first; then it waits for the outcomes of provider calls under way, at most as long as a write
// takes, so that no record takes more than twice the time that it would take alone. After waits that
// brought no record it waits less and less often: calls that take longer than a write are not worth
// waiting for.
func (w *Writer) batchWait(timer *time.Timer) {
	runtime.Gosched()
	w.mu.Lock()
	waits := w.batch.awaited || w.closed
	if !waits {
		select { // of another time
		case <-w.urgent:
		default:
		}
	}
	w.mu.Unlock()
	if !waits { // an intent of what depends on this result is near, as a rule
		timer.Reset(w.lazy)
		select {
		case <-w.urgent:
		case <-timer.C:
		}
		return
	}
	if w.skip > 0 {
		w.skip--
		return
	}
	w.mu.Lock()
	alone, before := w.open == 0 || w.closed, len(w.batch.over)
	if !alone {
		select { // of another time
		case <-w.idle:
		default:
		}
	}
	w.mu.Unlock()
	if alone {
		return
	}
	timer.Reset(min(w.took, longest))
	select {
	case <-w.idle:
		runtime.Gosched() // the caller that came last may have more
	case <-timer.C:
	}
	w.mu.Lock()
	came := len(w.batch.over) > before
	w.mu.Unlock()
	if came {
		w.vain = 0
		return
	}
	w.vain = min(2*w.vain+1, 63)
	w.skip = w.vain
}

// longest is the longest wait for further records.
const longest = time.Millisecond

// commit writes what has collected, and reports whether that was all there will be.
func (w *Writer) commit() (last bool) {
	w.mu.Lock()
	b, err := w.batch, w.err
	w.batch, w.spare = w.spare, batch{}
	last = w.closed
	w.mu.Unlock()
	if len(b.over) > 0 && err == nil {
		err = w.put(b.data, b.awaited)
	}
	w.mu.Lock()
	if err == nil {
		w.open += b.intents
	} else if w.err == nil {
		w.err = err
	}
	w.mu.Unlock()
	for i, over := range b.over {
		over(err)
		b.over[i] = nil
	}
	w.spare = batch{data: b.data[:0], over: b.over[:0]}
	return last
}

// put makes bytes durable at the end of the file.
func (w *Writer) put(b []byte, wait bool) error {
	began := time.Now()
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		if w.copy != nil {
			w.copy(b, wait)
		}
	}()
	_, err := w.file.Write(b)
	if err == nil {
		err = disk.Synced(w.file.DataSync())
	}
	<-copied
	w.took = time.Since(began)
	if err != nil {
		return fmt.Errorf("the journal cannot be written: %w", err)
	}
	return nil
}

// Err gives the error after which nothing is taken any more, nil as long as there is none.
func (w *Writer) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// Close ends the writing, once all that was taken is written, and leaves the journal where it is,
// to be recovered.
func (w *Writer) Close() error {
	w.mu.Lock()
	again := w.closed
	w.closed = true
	w.mu.Unlock()
	if again {
		<-w.over
		return nil
	}
	signal(w.work)
	signal(w.urgent)
	<-w.over
	err := w.file.Close()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = errClosed
	}
	return err
}

var errClosed = errors.New("the journal is closed")
