package journal

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/disk"
)

// Writer is a journal in a file.
//
// There is no goroutine behind it. Whoever comes while nothing is being written writes what has
// collected, his own record with it, and wakes those whose records went along; whoever comes
// meanwhile adds to the collection and waits. So one writer alone waits for one write, and a
// hundred together for two.
type Writer struct {
	fs   disk.FS
	path string
	now  func() time.Time

	mu      sync.Mutex
	woken   *sync.Cond
	file    disk.File
	ops     Op
	number  uint32 // of the next record
	pending []byte // records that nobody writes yet
	spare   []byte
	queued  uint64 // records taken
	durable uint64 // records on disk
	writing bool
	err     error // the first; nothing is taken after it
}

// Options are for Create.
type Options struct {
	FS    disk.FS          // the real one
	Now   func() time.Time // the clock
	Carry []Unknown        // outcomes still unknown from earlier runs: they stay known until settled
}

// ErrExists says that there is a journal already. It has to be recovered, or put aside, first.
var ErrExists = errors.New("there is a journal of an earlier run")

// Create begins a journal at path, which must not exist, and makes its header durable.
func Create(path string, h Header, o Options) (*Writer, error) {
	if o.FS == nil {
		o.FS = disk.OS
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if h.Time.IsZero() {
		h.Time = o.Now().UTC()
	}
	if _, err := o.FS.Lstat(path); err == nil {
		return nil, fmt.Errorf("%w: %s", ErrExists, path)
	}
	f, err := disk.Append(o.FS, path)
	if err != nil {
		return nil, fmt.Errorf("the journal cannot be made: %w", err)
	}
	w := &Writer{fs: o.FS, path: path, now: o.Now, file: f}
	w.woken = sync.NewCond(&w.mu)
	if err = w.begin(h, o.Carry); err == nil {
		err = o.FS.SyncDir(filepath.Dir(path))
	}
	if err != nil {
		f.Close()
		o.FS.Remove(path)
		return nil, fmt.Errorf("the journal cannot be made: %w", err)
	}
	return w, nil
}

// begin makes the header durable, and what is still unknown of earlier runs.
func (w *Writer) begin(h Header, carry []Unknown) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.add(headerRecord, encodeHeader(h))
	for _, u := range carry {
		w.ops++
		w.add(intentRecord, encodeIntent(w.ops, u))
	}
	return w.wait(w.queued)
}

// Intent implements Journal.
func (w *Writer) Intent(i Intent) (Op, error) {
	if i.Object.Mode == addr.Ephemeral {
		return 0, fmt.Errorf("%s is ephemeral and has no place in a journal", i.Object)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ops++
	op := w.ops
	return op, w.append(intentRecord, encodeIntent(op, Unknown{Intent: i, Time: w.now().UTC()}))
}

// Result implements Journal.
func (w *Writer) Result(op Op, changed ...Change) error {
	for _, c := range changed {
		if c.Object.Mode == addr.Ephemeral {
			return fmt.Errorf("%s is ephemeral and has no place in a journal", c.Object)
		}
	}
	payload := encodeResult(op, changed)
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.append(resultRecord, payload)
}

// End implements Journal.
func (w *Writer) End(next state.Digest) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.append(endRecord, encode(endJSON{digestText(next)}))
}

// append takes a record and returns when it is durable.
func (w *Writer) append(k kind, payload []byte) error {
	if w.err != nil {
		return w.err
	}
	w.add(k, payload)
	return w.wait(w.queued)
}

// add takes a record.
func (w *Writer) add(k kind, payload []byte) {
	w.pending = appendRecord(w.pending, k, w.number, payload)
	w.number++
	w.queued++
}

// wait returns when record n is durable, and writes if nobody else does.
func (w *Writer) wait(n uint64) error {
	for w.durable < n && w.err == nil {
		if w.writing {
			w.woken.Wait()
			continue
		}
		w.commit()
	}
	if w.durable >= n {
		return nil
	}
	return w.err
}

// commit writes what has collected. The lock is free meanwhile.
func (w *Writer) commit() {
	batch, upTo := w.pending, w.queued
	w.pending, w.spare = w.spare[:0], nil
	w.writing = true
	w.mu.Unlock()
	_, err := w.file.Write(batch)
	if err == nil {
		err = w.file.DataSync()
	}
	w.mu.Lock()
	w.writing = false
	w.spare = batch[:0]
	if err != nil {
		w.err = fmt.Errorf("the journal cannot be written: %w", err)
	} else {
		w.durable = upTo
	}
	w.woken.Broadcast()
}

// Err gives the error after which nothing is taken any more, nil as long as there is none.
func (w *Writer) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// Close ends the writing and leaves the journal where it is, to be recovered.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.writing {
		w.woken.Wait()
	}
	if w.file == nil {
		return nil
	}
	err := w.file.Close()
	w.file = nil
	if w.err == nil {
		w.err = errors.New("the journal is closed")
	}
	return err
}

// Drop ends the writing and removes the journal: what it says is in the state.
func (w *Writer) Drop() error {
	return errors.Join(w.Close(), Remove(w.fs, w.path))
}
