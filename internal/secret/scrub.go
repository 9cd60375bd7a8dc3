package secret

import (
	"io"
	"sync"
)

// Scrub masks every secret in a text.
func (s *Set) Scrub(text string) string {
	if s.Empty() || len(text) < shortest {
		return text
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	var m masker
	m.feed(&s.table, text, len(text))
	if !m.masked {
		return text
	}
	return string(m.out)
}

// masker masks a text that may come in parts. Secrets may overlap and follow each other without a
// gap; what they cover together is replaced as one.
type masker struct {
	out     []byte
	open    bool // the mask that was written last covers what comes next: nothing, or some bytes
	covered int  // how many
	masked  bool // anything was
}

// feed decides about the first n bytes of a text; secrets that begin there may reach beyond.
func (m *masker) feed(t *table, text string, n int) {
	start := m.covered // of plain text that is not written yet
	for i, p := range t.matches(text) {
		if i >= n {
			break
		}
		if !m.open || i > start {
			m.out = append(m.out, text[start:i]...)
			m.out = append(m.out, p.form.of.origin.mask()...)
			m.open, m.masked = true, true
		}
		start = max(start, i+len(p.text))
	}
	if m.open && start >= n {
		m.covered = start - n
		return
	}
	m.out = append(m.out, text[start:n]...)
	m.open, m.covered = false, 0
}

// Writer masks every secret in what is written through it to w, also one that is split over
// several writes. To that end it holds back what may be the start of a secret, 63 bytes at most,
// until it is clear: Flush or Close it at the end.
func (s *Set) Writer(w io.Writer) *Writer { return &Writer{set: s, w: w} }

// Writer is a guarded stream. It may be used concurrently.
type Writer struct {
	set  *Set
	w    io.Writer
	mu   sync.Mutex
	held []byte
	mask masker
}

// Write implements io.Writer.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.set.Empty() && len(w.held) == 0 {
		return w.w.Write(p)
	}
	if err := w.pass(append(w.held, p...), false); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush writes what is held back: no more is to come, or not for long.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.pass(w.held, true)
}

// Close flushes. It does not close what lies below.
func (w *Writer) Close() error { return w.Flush() }

// pass writes as much as is clear, and keeps the rest.
func (w *Writer) pass(data []byte, all bool) error {
	text := string(data)
	n := len(text)
	w.mask.out = w.mask.out[:0]
	if w.set.Empty() {
		w.mask.out = append(w.mask.out, text...)
	} else {
		w.set.mu.RLock()
		if !all {
			n = w.set.table.hold(text)
		}
		w.mask.feed(&w.set.table, text, n)
		w.set.mu.RUnlock()
	}
	w.held = append(w.held[:0], text[n:]...)
	if len(w.mask.out) == 0 {
		return nil
	}
	_, err := w.w.Write(w.mask.out)
	return err
}
