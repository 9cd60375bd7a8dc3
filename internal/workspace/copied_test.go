package workspace

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/lethe-iac/lethe/internal/state/store"
)

// noted is a store that takes notes when it is let.
type noted struct {
	let  chan error // an element for each note: what becomes of it
	came chan string
	mu   sync.Mutex
	has  string
	n    int
}

func (n *noted) Note(_ context.Context, _ string, at int64, data []byte) error {
	if data == nil {
		return nil
	}
	n.came <- string(data)
	err := <-n.let
	n.mu.Lock()
	defer n.mu.Unlock()
	n.n++
	if err == nil {
		if int(at) != len(n.has) {
			err = errors.New("a gap")
		}
		n.has += string(data)
	}
	return err
}

func (*noted) Lost(context.Context, string) ([]store.LostJournal, error) { return nil, nil }
func (*noted) Drop(context.Context, string, string) error                { return nil }

// TestCopied: what has to wait waits until the store has it, all that came meanwhile goes along at once, and nothing waits
// for what does not have to.
func TestCopied(t *testing.T) {
	n := &noted{let: make(chan error), came: make(chan string)}
	c := newCopied(n, "w")
	sent := make(chan bool)
	add := func(text string) {
		go func() {
			c.add([]byte(text), true)
			sent <- true
		}()
	}
	c.add([]byte("header "), false)
	add("intent ")
	first := <-n.came
	select {
	case <-sent:
		t.Error("the intent does not wait")
	default:
	}
	for range 100 {
		c.add([]byte("r"), false) // while the store is busy
	}
	n.let <- nil
	if !strings.Contains(first, "intent") { // the header went alone
		if second := <-n.came; !strings.Contains(second, "intent") {
			t.Errorf("there came %q, then %q", first, second)
		}
		n.let <- nil
	}
	<-sent
	add(" last")
	for done := false; !done; {
		select {
		case <-n.came:
			n.let <- nil
		case <-sent:
			done = true
		}
	}
	if err := c.end(true); err != nil {
		t.Error(err)
	}
	if want := "header intent " + strings.Repeat("r", 100) + " last"; n.has != want || n.n > 5 {
		t.Errorf("in %d requests there came %q", n.n, n.has)
	}
}

// TestCopiedOutOfReach: a store that cannot be reached is waited for once.
func TestCopiedOutOfReach(t *testing.T) {
	n := &noted{let: make(chan error, 1), came: make(chan string, 1)}
	c := newCopied(n, "w")
	n.let <- errors.New("out of reach")
	c.add([]byte("intent "), true)
	for range 10 {
		c.add([]byte("intent "), true)
	}
	if err := c.end(true); err == nil || !strings.Contains(err.Error(), "out of reach") || n.n != 1 {
		t.Errorf("after %d requests: %v", n.n, err)
	}
}
