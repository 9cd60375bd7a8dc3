package secret

import (
	"hash/maphash"
	"sync"
)

var seed = maphash.MakeSeed()

// clean records long texts in which a search found no piece of a secret (see table.go), so that the search need not be
// repeated. The text of one object is searched several times: when it is stored, when it is printed, and for each plan
// document.
type clean struct {
	mu     sync.Mutex
	pieces map[uint64]int // by hash of the text: number of pieces in the table at the time of the search
}

const (
	longText   = 16 << 10 // length, in bytes, of the shortest text that is recorded
	cleanTexts = 1 << 12  // maximum number of recorded texts
)

// of returns a hash of a long text and its depth. known is true if a search for the same number of pieces has found no
// piece in the text. For a text that is shorter than longText, the hash is 0.
func (c *clean) of(text string, depth, pieces int) (key uint64, known bool) {
	if len(text) < longText {
		return 0, false
	}
	key = max(maphash.String(seed, text)^uint64(depth), 1)
	c.mu.Lock()
	defer c.mu.Unlock()
	n, ok := c.pieces[key]
	return key, ok && n == pieces
}

func (c *clean) add(key uint64, pieces int) {
	if key == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pieces == nil || len(c.pieces) >= cleanTexts {
		c.pieces = map[uint64]int{}
	}
	c.pieces[key] = pieces
}
