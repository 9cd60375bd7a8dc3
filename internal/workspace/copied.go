package workspace

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/lethe-iac/lethe/internal/store"
)

// copied sends a copy of the journal to the store. One goroutine sends one request at a time. Each request has all
// records that were added since the last request. So the store always has the beginning of the journal up to some
// record.
//
// A provider call that changes an object waits until its intent (the record of the coming call) is stored. The result
// of a call does not wait, because the next intent is sent after it. If the store cannot be reached, no call waits, and
// the records are sent later.
type copied struct {
	st        store.Journaler
	presigner store.JournalPresigner // signs requests for uploads by the keeper, the second process; nil if the store cannot do so
	name      string
	shared    bool          // other commands work on the state, too
	work      chan struct{} // has an element if there are records to send
	stop      chan struct{} // closed when the run ends the journal
	ended     chan struct{} // closed when the goroutine has ended; nil before the journal begins

	mu      sync.Mutex
	at      int64         // the number of bytes of the journal that the store has
	pending []byte        // the bytes of the journal after the position at
	waiting chan struct{} // closed when pending is stored or the request has failed; nil if no caller waits
	problem error         // the error of the last request; nil after a success
	stays   bool          // the journal stays for a later command, so pending must be sent at the end
}

// retryPause is the pause after a request that failed, and the time limit of a request.
const retryPause = 10 * time.Second

// longestLull is the longest time that the results of calls wait, so that they can be sent together with an intent.
const longestLull = 100 * time.Millisecond

func newCopied(st store.Journaler, name string) *copied {
	return &copied{st: st, name: name, work: make(chan struct{}, 1)}
}

// add takes the next bytes of the journal. Only one call may run at a time. If wait is true, add returns when the store
// has the bytes, or when a request has failed.
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

// send sends records until the journal ends. Then it sends the rest if the journal stays.
func (c *copied) send() {
	defer close(c.ended)
	var began time.Time
	took := longestLull // the header of the journal waits, so that it is sent with the first intent
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

// lull waits until a caller waits for its records, so that they are sent in the same request. The argument longest is
// the maximum time. lull also ends when the copying stops.
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

// flush sends the pending bytes. At the end of the journal, it sends them only if the journal stays and the last
// request was successful.
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

// live sends signs of life of the run to the store until the run ends. Without them, other commands could assume that
// the run has crashed.
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

// end stops the sending. stays is true if the journal file stays for the next command. The error is the reason why the
// store lacks a part of the journal.
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
