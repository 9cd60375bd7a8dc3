package view

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/event"
)

// written is a stream that says in which pieces it was written.
type written struct {
	mu     sync.Mutex
	pieces []string
	came   chan struct{}
}

func (w *written) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pieces = append(w.pieces, string(p))
	if w.came != nil {
		w.came <- struct{}{}
	}
	return len(p), nil
}

func (w *written) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return fmt.Sprintf("%q", w.pieces)
}

// Lines wait for each other; whatever is written otherwise comes after them, on either stream.
func TestHeld(t *testing.T) {
	var w written
	h := NewLineBuffer(&w, time.Hour)
	other := h.Beside(&w)
	h.Later("a\n")
	h.Later("b\n")
	if len(w.pieces) > 0 {
		t.Errorf("lines do not wait: %s", &w)
	}
	fmt.Fprint(h, "question")
	h.Later("c\n")
	fmt.Fprint(other, "error")
	h.Later("d\n")
	h.Flush()
	h.Flush()
	fmt.Fprint(h, "end")
	if got := w.String(); got != `["a\nb\n" "question" "c\n" "error" "d\n" "end"]` {
		t.Errorf("got %s", got)
	}
}

// Nobody waits for long, and not for much.
func TestHeldBriefly(t *testing.T) {
	w := written{came: make(chan struct{}, 10)}
	h := NewLineBuffer(&w, time.Millisecond)
	for _, line := range []string{"a\n", "b\n"} { // the clock is wound up again
		h.Later(line)
		<-w.came
	}
	if got := w.String(); got != `["a\n" "b\n"]` {
		t.Errorf("got %s", got)
	}
	h = NewLineBuffer(&w, time.Hour)
	h.Later(strings.Repeat("x", most))
	<-w.came
}

// Lines of progress may wait, in both views, and nothing else; a terminal has its own ways.
func TestWhatMayWait(t *testing.T) {
	i, err := addr.ParseInstance("x_y.z")
	if err != nil {
		t.Fatal(err)
	}
	o := i.Current()
	for name, view := range map[string]func(w *LineBuffer) View{
		"human": func(h *LineBuffer) View { return NewHuman(h, h.Beside(h), Options{}) },
		"json":  func(h *LineBuffer) View { return NewJSON(h, "1", Options{}) },
	} {
		t.Run(name, func(t *testing.T) {
			var w bytes.Buffer
			h := NewLineBuffer(&w, time.Hour)
			v := view(h)
			before := w.Len()
			v.Tell(event.Started{Object: o, Op: event.Create})
			v.Tell(event.Done{Object: o, Op: event.Create})
			if w.Len() != before {
				t.Errorf("progress does not wait: %s", w.String()[before:])
			}
			v.Tell(event.Interrupted{Times: 1})
			text := w.String()
			if began, told := strings.Index(text, "Creating..."), strings.Index(text, "Interrupt received"); began < 0 || told < began {
				t.Errorf("an interrupt waits, or comes before what was before it: %s", text)
			}
			v.Finish()
		})
	}
}
