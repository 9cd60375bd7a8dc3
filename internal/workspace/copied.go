package workspace

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/lethe-iac/lethe/internal/store"
)

// copied sends a journal to the store. One goroutine sends, one request at a time, each with all records that have
// arrived meanwhile. So the store has the journal up to some point, in order, and a run makes no more requests than
// there is time for.
//
// A call that changes something waits until its intent is stored. The result of a call does not wait, because the next
// intent follows it. If the store cannot be reached, nothing waits: the rest is sent later.
type copied struct {
	st        store.Journaler
	presigner store.JournalPresigner // nil: the store has none
	name      string
	work      chan struct{} // has an element when there is something to send
	stop      chan struct{} // closed when the journal ends
	ended     chan struct{} // closed when nothing is sent any more; nil before the journal begins

	mu      sync.Mutex
	at      int64         // as far as the store has it
	pending []byte        // the records after that
	waiting chan struct{} // closed once those are stored, or cannot be; nil: nothing waits
	problem error         // why the store did not take it the last time
	stays   bool          // the journal stays: pending must still be sent
}

// retryPause is the pause after an attempt that did not reach the store, and the time limit of an attempt.
const retryPause = 10 * time.Second

// longestLull is the longest that results wait for an intent to go along with.
const longestLull = 100 * time.Millisecond

func newCopied(st store.Journaler, name string) *copied {
	return &copied{st: st, name: name, work: make(chan struct{}, 1)}
}

// add takes bytes that the journal has now, one call at a time. With wait it returns when the store has them, or cannot
// be reached.
func (c *copied) add(b []byte, wait bool) {
	c.mu.Lock()
	if c.ended == nil {
		c.stop, c.ended = make(chan struct{}), make(chan struct{})
		go c.live(c.stop)
		go c.send()
	}
	c.pending = append(c.pending, b...)
	var sent chan struct{}
	if wait && c.problem == nil {
		sent = make(chan struct{})
		c.waiting = sent
	}
	c.mu.Unlock()
	select {
	case c.work <- struct{}{}:
	default:
	}
	if sent != nil {
		<-sent
	}
}

// send sends records until the journal ends.
func (c *copied) send() {
	defer close(c.ended)
	var began time.Time
	took := longestLull // the header waits for the first intent
	for going := true; going; {
		var retry <-chan time.Time
		if c.unreachable() {
			retry = time.After(time.Until(began.Add(retryPause)))
		}
		select {
		case <-c.stop:
			going = false
		case <-retry:
		case <-c.work:
			if retry != nil {
				continue
			}
			c.lull(min(took, longestLull))
		}
		began = time.Now()
		c.flush(!going)
		took = time.Since(began)
	}
}

func (c *copied) unreachable() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.problem != nil
}

// lull waits for something that waits, to go along with: no longer than sending takes.
func (c *copied) lull(longest time.Duration) {
	end := time.After(longest)
	for {
		c.mu.Lock()
		urgent := c.waiting != nil
		c.mu.Unlock()
		if urgent {
			return
		}
		select {
		case <-c.work:
		case <-c.stop:
			return
		case <-end:
			return
		}
	}
}

// flush sends pending; at the end only if the journal stays and the store could be reached.
func (c *copied) flush(last bool) {
	c.mu.Lock()
	b, at, waiting := slices.Clone(c.pending), c.at, c.waiting
	c.waiting = nil
	skip := len(b) == 0 || last && (!c.stays || c.problem != nil)
	c.mu.Unlock()
	if !skip {
		ctx, cancel := context.WithTimeout(context.Background(), retryPause)
		err := c.st.Note(ctx, c.name, at, b)
		cancel()
		c.mu.Lock()
		if c.problem = err; err == nil {
			c.at += int64(len(b))
			c.pending = c.pending[len(b):]
		}
		c.mu.Unlock()
	}
	if waiting != nil {
		close(waiting)
	}
}

// live sends signs of life until the run ends.
func (c *copied) live(stop chan struct{}) {
	tick := time.NewTicker(store.LifeSign)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
			ctx, cancel := context.WithTimeout(context.Background(), retryPause)
			_ = c.st.Note(ctx, c.name, 0, nil)
			cancel()
		}
	}
}

// end ends the sending. stays is true if the journal stays. The error is the reason why the store does not have all of
// the journal.
func (c *copied) end(stays bool) error {
	c.mu.Lock()
	ended := c.ended
	c.stays = stays
	c.mu.Unlock()
	if ended == nil {
		return nil
	}
	close(c.stop)
	<-ended
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended, c.at, c.pending = nil, 0, nil
	err := c.problem
	c.problem = nil
	return err
}
