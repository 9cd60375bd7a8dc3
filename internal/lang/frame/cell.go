package frame

import (
	"sync"
	"sync/atomic"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// A cell holds the value of a variable, local or output in one module instance. The value is computed at its first use,
// and kept. Computing a cell has no side effects, and waits only for other cells and for calls of provider functions
// (invariant I5). The program has no cycles, so the locks of cells are always acquired in the order of the references,
// and no cell waits for itself.
//
// A cell keeps its diagnostics. Every evaluation that reads the cell adds them to its bag, which drops repeated
// diagnostics. So the failure of a cell is an error for every evaluation that reads it, even if the first of them was a
// check, whose errors are collected separately.

type cell struct {
	mu  sync.Mutex
	got atomic.Pointer[result]
}

// result is the cached outcome of computing a cell: its value and its diagnostics.
type result struct {
	val     cty.Value         // the value with cty marks, for references
	rest    mark.Value        // the same value, with its marks as a list beside it
	outcome Status            // OK, Failed (because of another value) or Broken (an error of this evaluation)
	diags   []diag.Diagnostic // the diagnostics of the evaluation
	early   fillCount         // 0 if the result is final; otherwise the time until which it is valid
}

// fillCount identifies the time of an evaluation that lacked a value: an ephemeral resource was not open, or no object
// was in the slot of a resource instance yet. It is zero if no value was missing: then the result of the evaluation is
// final. Otherwise the result is valid until an ephemeral resource is opened or closed, or an object is put into an
// empty slot of a resource from which an evaluation has read.
type fillCount uint64

// fills counts the events in a walk that may provide a value that an evaluation lacked.
type fills struct{ atomic.Uint64 }

// now returns the fillCount for an evaluation that begins now. It is never zero.
func (n *fills) now() fillCount { return fillCount(n.Load() + 1) }

func (m fillCount) valid(n *fills) bool { return m == 0 || m == n.now() }

// get returns the cell's result. At the first use, it calls compute. It calls compute again if a value was missing
// then, and n has counted an event since. get is safe for concurrent use: other callers wait for compute.
func (c *cell) get(n *fills, compute func() *result) *result {
	if r := c.got.Load(); r != nil && r.early.valid(n) {
		return r
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.got.Load(); r != nil && r.early.valid(n) {
		return r
	}
	r := compute()
	c.got.Store(r)
	return r
}

// replay adds the diagnostics in the result of a cell to the bag of an evaluation that reads the cell.
func (r *result) replay(bag *diag.Bag) {
	if len(r.diags) > 0 {
		bag.Add(r.diags...)
	}
}
