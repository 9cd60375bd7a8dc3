package workspace

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/lethe-iac/lethe/internal/state/journal"
	"github.com/lethe-iac/lethe/internal/state/store"
)

// copied hands a journal to the store. One goroutine sends, one request at a time, each with all that has come
// meanwhile: so the store has the journal up to some point, in order, and a run makes no more requests than there is time for.
//
// A call that changes something waits until its intent is there; what came of a call does not, since the next intent
// comes after it. Where the store cannot be reached nothing waits: what could not be sent goes along later.
type copied struct {
	st   store.Journaler
	name string
	work chan struct{} // has an element when there is something to send
	stop chan struct{} // closed when the journal ends
	over chan struct{} // closed when nothing is sent any more; nil before the journal begins

	mu      sync.Mutex
	at      int64         // as far as the store has it
	pending []byte        // what comes after that
	waiting chan struct{} // closed once that is there, or cannot be; nil: nothing waits
	problem error         // why the store did not take it the last time
	left    bool          // the journal stays: what is pending is to be sent yet
}

// again is how long the store is not asked after it could not be reached, and how long it is waited for.
const again = 10 * time.Second

// longestLull is the longest that results wait for an intent to go along with.
const longestLull = 100 * time.Millisecond

func newCopied(st store.Journaler, name string) *copied {
	return &copied{st: st, name: name, work: make(chan struct{}, 1)}
}

// add takes bytes that the journal has now, one call at a time. With wait it returns when the store has them, or cannot
// be reached.
func (c *copied) add(b []byte, wait bool) {
	c.mu.Lock()
	if c.over == nil {
		c.stop, c.over = make(chan struct{}), make(chan struct{})
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

// send sends what comes until the journal ends.
func (c *copied) send() {
	defer close(c.over)
	var began time.Time
	took := longestLull // the header waits for the first intent
	for going := true; going; {
		var retry <-chan time.Time
		if c.down() {
			retry = time.After(time.Until(began.Add(again)))
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

func (c *copied) down() bool {
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

// flush sends what is pending; at the end only if the journal stays, and the store could be reached.
func (c *copied) flush(last bool) {
	c.mu.Lock()
	b, at, waiting := slices.Clone(c.pending), c.at, c.waiting
	c.waiting = nil
	skip := len(b) == 0 || last && (!c.left || c.problem != nil)
	c.mu.Unlock()
	if !skip {
		ctx, cancel := context.WithTimeout(context.Background(), again)
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

// live shows that the run goes on until it ends.
func (c *copied) live(stop chan struct{}) {
	tick := time.NewTicker(store.LifeSign)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
			ctx, cancel := context.WithTimeout(context.Background(), again)
			_ = c.st.Note(ctx, c.name, 0, nil)
			cancel()
		}
	}
}

// end says that no more comes, and whether the journal stays. The error says why the store has not all of it.
func (c *copied) end(stays bool) error {
	c.mu.Lock()
	over := c.over
	c.left = stays
	c.mu.Unlock()
	if over == nil {
		return nil
	}
	close(c.stop)
	<-over
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over, c.at, c.pending = nil, 0, nil
	err := c.problem
	c.problem = nil
	return err
}

// runs are those whose journals were taken in from files.
type runs []journal.Header

func (r runs) same(h journal.Header) bool {
	return slices.ContainsFunc(r, func(x journal.Header) bool { return x.Run == h.Run && x.Time.Equal(h.Time) })
}
