package workspace

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/lethe-iac/lethe/internal/store"
)

// slowJournals is a store of notes. Note sends its data to came, and then blocks until the test sends a result to let.
type slowJournals struct {
	let  chan error // the result of each call of Note, which the test sends
	came chan string
	mu   sync.Mutex
	has  string
	n    int
}

func (n *slowJournals) Note(_ context.Context, _ string, at int64, data []byte) error {
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

func (*slowJournals) Orphaned(context.Context, string) ([]store.OrphanedJournal, error) {
	return nil, nil
}
func (*slowJournals) Drop(context.Context, string, string) error { return nil }

// TestCopied checks three rules: an add with wait returns only when the store has the record; all records that arrive
// during a request are sent in the next one; an add without wait does not block.
func TestCopied(t *testing.T) {
	n := &slowJournals{let: make(chan error), came: make(chan string)}
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
		c.add([]byte("r"), false) // the store is still busy with the first request
	}
	n.let <- nil
	if !strings.Contains(first, "intent") { // the first request contained only the header of the journal
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

// TestCopiedOutOfReach checks that add waits only once for a store that cannot be reached.
func TestCopiedOutOfReach(t *testing.T) {
	n := &slowJournals{let: make(chan error, 1), came: make(chan string, 1)}
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
