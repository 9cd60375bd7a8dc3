package view

import (
	"io"
	"sync"
	"time"
)

// LineBuffer is a stream on which lines of progress may wait a little, so that many of them are one
// write: for pipes and files, which no person watches line by line. Everything else is written at
// once, after what waited. It may be used from many goroutines.
type LineBuffer struct {
	w    io.Writer
	wait time.Duration

	mu    sync.Mutex
	lines []byte
	timer *time.Timer // runs while lines wait
}

// most is how much waits at most.
const most = 64 << 10

// NewLineBuffer makes a stream on which lines wait for so long at most.
func NewLineBuffer(w io.Writer, wait time.Duration) *LineBuffer {
	h := &LineBuffer{w: w, wait: wait}
	h.timer = time.AfterFunc(wait, h.Flush)
	h.timer.Stop()
	return h
}

// Write writes at once.
func (h *LineBuffer) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.flush()
	return h.w.Write(p)
}

// Later writes a line within the time that lines may wait.
func (h *LineBuffer) Later(line string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	first := len(h.lines) == 0
	h.lines = append(h.lines, line...)
	switch {
	case len(h.lines) >= most:
		h.flush()
	case first:
		h.timer.Reset(h.wait)
	}
}

// Flush writes what waits.
func (h *LineBuffer) Flush() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.flush()
}

func (h *LineBuffer) flush() {
	if len(h.lines) == 0 {
		return
	}
	h.timer.Stop()
	_, _ = h.w.Write(h.lines) // that the reader has gone is no error
	h.lines = h.lines[:0]
}

// Beside gives another stream that people see together with this one: what waits here is written
// before anything is written there.
func (h *LineBuffer) Beside(w io.Writer) io.Writer { return beside{h, w} }

type beside struct {
	held *LineBuffer
	w    io.Writer
}

func (b beside) Write(p []byte) (int, error) {
	b.held.Flush()
	return b.w.Write(p)
}

// patient is a stream on which lines may wait.
type patient interface{ Later(line string) }
