package journal

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/state"
)

// ErrExists reports that a journal of an earlier run exists at the path. The caller must first recover or rename it.
var ErrExists = errors.New("there is a journal of an earlier run")

// Create creates a journal at path, and makes its header durable. If a journal exists there and o.Replace is false, it
// returns ErrExists.
func Create(path string, h Header, o Options) (*Writer, error) {
	w := newWriter(h.Run, o)
	if h.Time.IsZero() {
		h.Time = w.now().UTC()
	}
	made := path
	if o.Replace {
		made = path + ".new"
		_ = w.fs.Remove(made) // removes the temporary file of a killed command
	} else if _, err := w.fs.Lstat(path); err == nil {
		return nil, fmt.Errorf("%w: %s", ErrExists, path)
	}
	raw, sealedKey, err := newKey(o.Seal)
	if err != nil {
		return nil, fmt.Errorf("the journal cannot be encrypted: %w", err)
	}
	w.key = aead(raw)
	if w.file, err = disk.Append(w.fs, made); err != nil {
		return nil, fmt.Errorf("the journal cannot be created: %w", err)
	}
	if o.Before != nil {
		w.ops.Store(o.Before.ops.Load())
		w.leases = o.Before.OpenLeases()
	}
	if err = w.begin(h, sealedKey, o.Carry); err == nil && o.Replace {
		err = w.fs.Rename(made, path)
	}
	if err == nil {
		err = disk.SyncDir(w.fs, filepath.Dir(path))
	}
	if err != nil {
		w.file.Close()
		w.fs.Remove(made)
		return nil, fmt.Errorf("the journal cannot be created: %w", err)
	}
	w.start(path, raw, o)
	return w, nil
}

// start takes the shared lock of the file that Held finds, calls Options.Opened, and starts the goroutine of the
// writer.
func (w *Writer) start(path string, key []byte, o Options) {
	_ = disk.Share(w.file) // an error is ignored: without file locks, only the lock of the state prevents that two runs use the journal
	if o.Opened != nil {
		o.Opened(path, key)
	}
	go w.write()
}

func newWriter(run string, o Options) *Writer {
	w := &Writer{
		lazy: 2 * time.Millisecond, fs: o.FS, run: run, now: o.Now, done: o.Recorded, copy: o.Copy,
		pending: pending{recorded: map[addr.Object]bool{}, leases: map[Op]Lease{}},
		signals: signals{
			urgent: make(chan struct{}, 1), work: make(chan struct{}, 1), leased: make(chan struct{}, 1), idle: make(chan struct{}, 1), ended: make(chan struct{}),
		},
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

// Continue appends to a recovered journal. A run that writes no state uses it, such as a plan, because the journal must
// stay until a state has its changes. run is the ID of the new run, which may record leases, but no changes of objects.
func (r *Recovery) Continue(path, run string, o Options) (*Writer, error) {
	w := newWriter(run, o)
	w.number, w.key = r.next, aead(r.key)
	w.ops.Store(uint64(r.ops))
	var err error
	if w.file, err = w.fs.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0); err != nil {
		return nil, fmt.Errorf("the journal cannot be written: %w", err)
	}
	w.start(path, r.key, o)
	return w, nil
}

// begin writes the key record if key is not nil, the header, the notes of earlier runs, and the open leases of the
// previous round (Options.Before).
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
	for _, op := range slices.Sorted(maps.Keys(w.leases)) {
		add(leaseRecord, encode(leaseJSON{op, w.leases[op]}))
	}
	if len(carry.Earlier) > 0 {
		add(earlierRecord, encode(earlierJSON{carry.Earlier}))
	}
	return w.put(b, false) // false, because no caller waits for the copy yet: the first record of a call or lease completes the copy
}

// Intent records durably that a call is about to be made, and returns a new number for the call. It returns an error if
// the record cannot be written, or the object is ephemeral: then the call must not be made.
func (w *Writer) Intent(i Intent) (Op, error) {
	if i.Object.Mode == addr.Ephemeral {
		return 0, fmt.Errorf("%s is ephemeral and cannot be in a journal", i.Object)
	}
	if i.Action == Invoke {
		w.invoked.Store(true)
	}
	op := Op(w.ops.Add(1))
	w.reportFound(Change{Object: i.Object})
	return op, w.durable(intentRecord, encodeIntent(op, Unknown{Intent: i, Time: w.now().UTC()}))
}

// Invoked reports whether the run has begun to invoke an action of a provider.
func (w *Writer) Invoked() bool { return w.invoked.Load() }

// Later records the changes of a call, and calls done with nil when the record is durable, or with an error when it
// cannot be recorded. A change of an ephemeral object is such an error.
func (w *Writer) Later(done func(error), op Op, changed ...Change) {
	for _, c := range changed {
		if c.Object.Mode == addr.Ephemeral {
			done(fmt.Errorf("%s is ephemeral and cannot be in a journal", c.Object))
			return
		}
	}
	w.reportFound(changed...)
	w.add(resultRecord, op, encodeResult(op, changed), func(err error) {
		if err == nil && op != 0 && w.done != nil {
			w.done(op)
		}
		done(err)
	})
}

// End records durably that a state with all changes of the journal is about to be written. The argument next is the
// digest of this state. After an error, the record is not durable.
func (w *Writer) End(next state.Digest) error {
	return w.durable(endRecord, encode(endJSON{next}))
}

// Next returns the number that the next record will get.
func (w *Writer) Next() uint32 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.number
}

// Interim records durably that an interim state (a state before the end of the run) is about to be written. The
// argument next is the digest of this state. The state has the changes of all records whose numbers are less than the
// argument before. Later records continue from that state.
func (w *Writer) Interim(next state.Digest, before uint32) error {
	return w.durable(interimRecord, encode(interimJSON{Next: next, Before: before}))
}

// InterimWritten records that the store has confirmed an interim state. next is the digest of the state, and before the
// number of the first record whose change the state may lack. From now on, another run may continue from that state.
// So, before the first change of each object, the journal records the entry that the interim state has for that object;
// base returns that entry. InterimWritten does not wait.
func (w *Writer) InterimWritten(next state.Digest, before uint32, base func(addr.Object) *state.Entry) {
	w.add(interimRecord, 0, encode(interimJSON{next, before, true}), func(error) {})
	w.base.Store(&base)
}

// reportFound records, for objects that are about to be changed, the digests of the entries that the run found. It
// records each object once.
func (w *Writer) reportFound(changed ...Change) {
	base := w.base.Load()
	if base == nil {
		return
	}
	found := map[string]state.Digest{}
	w.mu.Lock()
	for _, c := range changed {
		if !w.recorded[c.Object] {
			w.recorded[c.Object] = true
			found[c.Object.String()] = entryDigest(c.Object, (*base)(c.Object))
		}
	}
	w.mu.Unlock()
	if len(found) > 0 {
		w.add(foundRecord, 0, encode(foundJSON{Found: found, Some: true}), func(error) {})
	}
}

// Found records that other runs work on other objects of the same state. It also records the digests of the entries
// that this run found for its own objects. Objects that are not listed may change meanwhile.
func (w *Writer) Found(objects []Change) error {
	found := make(map[string]state.Digest, len(objects))
	for _, c := range objects {
		found[c.Object.String()] = entryDigest(c.Object, c.Entry)
	}
	return w.durable(foundRecord, encode(foundJSON{Found: found}))
}

// Opening records that a lease is about to be opened. After an error, the caller must not open it. When Opening
// returns, the record survives a crash of the process. It survives a crash of the machine after the time leaseSync: a
// disk flush for each of a thousand leases would cost as much as the leases.
func (w *Writer) Opening(o addr.Object, p addr.Provider) (Op, error) {
	op := Op(w.ops.Add(1))
	l := Lease{Object: o.String(), Provider: p, Run: w.run, Time: w.now().UTC()}
	err := w.written(leaseRecord, encode(leaseJSON{op, l}))
	if err == nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.leases[op] = l
	}
	return op, err
}

// OpenLeases returns the leases with a record of their opening and without a record of their closing.
func (w *Writer) OpenLeases() map[Op]Lease {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.leases)
}

// Earlier records durably which objects were written, or are about to be written, with ephemeral values that later
// rounds (plans and applies) of the run need.
func (w *Writer) Earlier(list []EarlierValue) error {
	return w.durable(earlierRecord, encode(earlierJSON{list}))
}

// Closed records that a lease was closed, or that no lease was opened. It does not wait: if the record is lost, the
// next command only lists a lease that is already closed.
func (w *Writer) Closed(op Op) {
	w.mu.Lock()
	delete(w.leases, op)
	w.mu.Unlock()
	failed, _ := w.append(closedRecord, 0, encode(closedJSON{op}), func(error) {}, false)
	if failed {
		return
	}
	if w.copy == nil && w.disk.TryLock() {
		w.writeLeases()
		w.disk.Unlock()
	}
	w.durableSoon()
}

// leaseSync is the longest time between writing the record of a lease to the file and flushing it to the disk.
const leaseSync = 100 * time.Millisecond

// durableSoon asks the goroutine to write and flush all records within leaseSync.
func (w *Writer) durableSoon() {
	w.mu.Lock()
	before := w.soon
	w.soon = true
	w.mu.Unlock()
	if !before {
		signal(w.leased)
	}
}

// written adds a record, and returns when the record is in the file, perhaps without being flushed to the disk. It
// returns an error if the record cannot be written.
func (w *Writer) written(k kind, payload []byte) error {
	if w.copy != nil {
		return w.durable(k, payload)
	}
	result := make(chan error, 1)
	w.disk.Lock()
	w.append(k, 0, payload, func(err error) { result <- err }, false)
	w.writeLeases()
	w.disk.Unlock()
	select {
	case err := <-result:
		w.durableSoon()
		return err
	default: // the goroutine is about to write the record together with others
		w.Urge()
		return <-result
	}
}

// writeLeases writes the batch to the file. If the batch is firm, it does nothing, because the goroutine writes the
// batch. The caller holds w.disk.
func (w *Writer) writeLeases() {
	w.flush(false, func(b *batch) error {
		if len(b.data) == 0 {
			return nil
		}
		w.loose = true
		_, err := w.file.Write(b.data)
		return unwritable(err)
	})
}

// Unsettled reports whether a call has no recorded outcome, or an opened lease has no recorded closing.
func (w *Writer) Unsettled() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.open > 0 || len(w.leases) > 0
}

// Unanswered reports whether a call has no recorded outcome.
func (w *Writer) Unanswered() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.open > 0
}

// durable adds a record, and returns when the record is durable, or with an error if it cannot be made durable.
func (w *Writer) durable(k kind, payload []byte) error {
	result := make(chan error, 1)
	w.addAwaited(k, payload, func(err error) { result <- err })
	return <-result
}

// addAwaited adds a record for which a caller waits. It calls done with nil when the record is durable, or with the
// error.
func (w *Writer) addAwaited(k kind, payload []byte, done func(error)) {
	w.add(k, 0, payload, done)
	w.Urge()
}

// Urge tells the goroutine that a caller waits for the records that were added so far.
func (w *Writer) Urge() {
	w.mu.Lock()
	w.batch.awaited = len(w.batch.done) > 0
	w.mu.Unlock()
	signal(w.urgent)
}

// add adds a record for the goroutine to write. The parameter of is the call whose outcome the record contains, or 0.
// done is called when the record is durable or has failed.
func (w *Writer) add(k kind, of Op, payload []byte, done func(error)) {
	if failed, first := w.append(k, of, payload, done, true); !failed && first {
		signal(w.work)
	}
}

// append adds a record to the batch. If the journal accepts no records, append calls done with the error and returns
// true for failed. If firm is true, the goroutine must write the batch. first is true if this record is the first such
// record of the batch.
func (w *Writer) append(k kind, of Op, payload []byte, done func(error), firm bool) (failed, first bool) {
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
		w.batch.done = append(w.batch.done, done)
		if k == intentRecord {
			w.batch.intents++
		}
		first = firm && !w.batch.firm
		w.batch.firm = w.batch.firm || firm
		w.number++
	}
	w.mu.Unlock()
	if err != nil {
		done(err)
	}
	return err != nil, first
}

// signal sends an element to a channel that has room for one. If the channel is full, signal does nothing.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// write is the goroutine of the writer: it writes records until the writer is closed.
func (w *Writer) write() {
	defer close(w.ended)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	soon := time.NewTimer(time.Hour)
	defer soon.Stop()
	for {
		select {
		case <-w.work:
			w.batchWait(timer)
		case <-w.leased:
			soon.Reset(leaseSync)
			continue
		case <-soon.C:
			w.mu.Lock()
			w.soon = false
			w.mu.Unlock()
		}
		if w.commit() {
			return
		}
	}
}

// unwritable adds to an error of the file that the journal cannot be written. For nil it returns nil.
func unwritable(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("the journal cannot be written: %w", err)
}

// batchWait waits for more records for the next write. It first lets runnable goroutines run. If no caller waits for a
// record, it waits up to w.lazy until a caller does. Otherwise it waits for the outcomes of provider calls in progress:
// at most as long as the last write took, and at most for the time longest. If such a wait brings no record, later
// waits become rarer, because calls that take longer than a write are not worth a wait.
func (w *Writer) batchWait(timer *time.Timer) {
	runtime.Gosched()
	w.mu.Lock()
	waits := w.batch.awaited || w.closed
	if !waits {
		select { // removes an old element from the channel
		case <-w.urgent:
		default:
		}
	}
	w.mu.Unlock()
	if !waits { // usually, an intent that depends on this result follows soon
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
	alone, before := w.open == 0 || w.closed, len(w.batch.done)
	if !alone {
		select { // removes an old element from the channel
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
		runtime.Gosched() // lets the last caller add more records
	case <-timer.C:
	}
	w.mu.Lock()
	came := len(w.batch.done) > before
	w.mu.Unlock()
	if came {
		w.vain = 0
		return
	}
	w.vain = min(2*w.vain+1, 63)
	w.skip = w.vain
}

// longest is the longest time that batchWait waits for the outcomes of calls.
const longest = time.Millisecond

// commit makes the collected records durable. It returns true if the writer is closed and no records are left.
func (w *Writer) commit() (last bool) {
	w.disk.Lock()
	defer w.disk.Unlock()
	return w.flush(true, func(b *batch) error { return w.put(b.data, b.awaited) })
}

// flush takes the batch, writes it with the function write, and informs the callers of its records. If the batch is
// firm (only the goroutine may write it) and the argument firm is false, flush does nothing. It returns true if the
// writer is closed and no records are left. The caller holds w.disk.
func (w *Writer) flush(firm bool, write func(*batch) error) (last bool) {
	w.mu.Lock()
	if w.batch.firm && !firm {
		w.mu.Unlock()
		return false
	}
	b, err := w.batch, w.err
	w.batch, w.reserve = w.reserve, batch{}
	last = w.closed
	w.mu.Unlock()
	if err == nil {
		err = write(&b)
	}
	w.mu.Lock()
	if err == nil {
		w.open += b.intents
	} else if w.err == nil {
		w.err = err
	}
	w.mu.Unlock()
	for i, done := range b.done {
		done(err)
		b.done[i] = nil
	}
	w.reserve = batch{data: b.data[:0], done: b.done[:0]}
	return last
}

// put appends bytes to the file and flushes the file, including earlier bytes that are not durable yet. wait is passed
// to Options.Copy.
func (w *Writer) put(b []byte, wait bool) error {
	if len(b) == 0 && !w.loose {
		return nil
	}
	began := time.Now()
	copied := func() {}
	if w.copy != nil {
		var copying sync.WaitGroup
		copying.Go(func() { w.copy(b, wait) })
		copied = copying.Wait
	}
	var err error
	if len(b) > 0 {
		_, err = w.file.Write(b)
	}
	if err == nil {
		err = disk.Synced(w.file.DataSync())
	}
	copied()
	w.loose, w.took = false, time.Since(began)
	return unwritable(err)
}

// Err returns the first error of the writer, after which it accepts no record, or nil.
func (w *Writer) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// Close writes all accepted records, ends the goroutine and closes the file. The journal file stays on the disk, so
// that it can be recovered. A second Close waits for the end of the first and returns nil.
func (w *Writer) Close() error {
	w.mu.Lock()
	again := w.closed
	w.closed = true
	w.mu.Unlock()
	if again {
		<-w.ended
		return nil
	}
	signal(w.work)
	signal(w.urgent)
	<-w.ended
	err := w.file.Close()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = errClosed
	}
	return err
}

var errClosed = errors.New("the journal is closed")
