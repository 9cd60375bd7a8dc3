package workspace

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/lethe-iac/lethe/internal/state/journal"
	"github.com/lethe-iac/lethe/internal/state/store"
)

// copied hands a journal to the store, as far as that can be reached: what could not be sent goes along later.
type copied struct {
	st      store.Journaler
	name    string
	at      int64
	pending []byte
	failed  time.Time
	mu      sync.Mutex
	stop    chan struct{} // closed when the journal ends; nil before it begins
}

// again is how long the store is not asked after it could not be reached.
const again = 10 * time.Second

// add takes bytes that the journal has now, one call at a time.
func (c *copied) add(b []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stop == nil {
		c.stop = make(chan struct{})
		go c.live(c.stop)
	}
	c.pending = append(c.pending, b...)
	if time.Since(c.failed) < again {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), again)
	defer cancel()
	if err := c.st.Note(ctx, c.name, c.at, c.pending); err != nil {
		c.failed = time.Now()
		return
	}
	c.at += int64(len(c.pending))
	c.pending = c.pending[:0]
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

// end says that no more comes.
func (c *copied) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stop != nil {
		close(c.stop)
		c.stop = nil
	}
}

// runs are those whose journals were taken in from files.
type runs []journal.Header

func (r runs) same(h journal.Header) bool {
	return slices.ContainsFunc(r, func(x journal.Header) bool { return x.Run == h.Run && x.Time.Equal(h.Time) })
}
