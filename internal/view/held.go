package view

import (
	"io"
	"sync"
	"time"
)

// Held is a stream on which lines of progress may wait a little, so that many of them are one
// write: for pipes and files, which nobody watches line by line. Everything else is written at
// once, after what waited. It may be used from many goroutines.
type Held struct {
	w    io.Writer
	wait time.Duration

	mu    sync.Mutex
	lines []byte
	timer *time.Timer // runs while lines wait
}

// most is how much waits at most.
const most = 64 << 10

// Hold makes a stream on which lines wait for so long at most.
func Hold(w io.Writer, wait time.Duration) *Held {
	h := &Held{w: w, wait: wait}
	h.timer = time.AfterFunc(wait, h.Flush)
	h.timer.Stop()
	return h
}

// Write writes at once.
func (h *Held) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.flush()
	return h.w.Write(p)
}

// WriteString writes at once.
func (h *Held) WriteString(s string) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.flush()
	return io.WriteString(h.w, s)
}

// Later writes a line within the time that lines may wait.
func (h *Held) Later(line string) {
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
func (h *Held) Flush() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.flush()
}

func (h *Held) flush() {
	if len(h.lines) == 0 {
		return
	}
	h.timer.Stop()
	_, _ = h.w.Write(h.lines) // nobody to tell that nobody listens
	h.lines = h.lines[:0]
}

// Beside gives another stream that people see together with this one: what waits here is written
// before anything is written there.
func (h *Held) Beside(w io.Writer) io.Writer { return beside{h, w} }

type beside struct {
	held *Held
	w    io.Writer
}

func (b beside) Write(p []byte) (int, error) {
	b.held.Flush()
	return b.w.Write(p)
}

// patient is a stream on which lines may wait.
type patient interface{ Later(line string) }
