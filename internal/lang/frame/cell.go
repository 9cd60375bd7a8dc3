package frame

import (
	"sync"
	"sync/atomic"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// A cell is a value that is computed when first asked for and remembered. Cells change nothing and
// wait for nothing but other cells (invariant I5); since the program has no cycles, the locks of
// cells being computed are always taken in the order of the references, and none waits for itself.
//
// A cell keeps what it had to report: every evaluation that asks gets the same diagnostics into its own bag,
// where repeats fall out. So a broken value is an error for everyone who needs it, even if the
// first to ask was a check, whose errors are collected apart.

type cell struct {
	mu  sync.Mutex
	got atomic.Pointer[result]
}

// result is a computed cell.
type result struct {
	val     cty.Value // with cty marks, as references see it
	rest    mark.Value
	outcome Outcome
	diags   []diag.Diagnostic
	early   fillCount
}

// fillCount is when something was worked out without a value that was not there yet: a lease that is not
// open, or a slot that is empty. It is zero if nothing was missing, and what was found stands. It stands
// as well as long as no lease is opened and nothing that was missed is filled.
type fillCount uint64

// fills is how often in a walk something came that may have been missed before.
type fills struct{ atomic.Uint64 }

// now is when something is worked out that begins now.
func (n *fills) now() fillCount { return fillCount(n.Load() + 1) }

func (m fillCount) stands(n *fills) bool { return m == 0 || m == n.now() }

// get computes the cell once, or again if it was asked for too early.
func (c *cell) get(n *fills, compute func() *result) *result {
	if r := c.got.Load(); r != nil && r.early.stands(n) {
		return r
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.got.Load(); r != nil && r.early.stands(n) {
		return r
	}
	r := compute()
	c.got.Store(r)
	return r
}

// replay adds what a cell had to report to the bag of who asks.
func (r *result) replay(bag *diag.Bag) {
	if len(r.diags) > 0 {
		bag.Add(r.diags...)
	}
}
