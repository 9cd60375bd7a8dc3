package frame

import (
	"sync"
	"sync/atomic"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// A cell holds the value of a variable, local or output in one module instance. The value is computed on first use and
// remembered. Computing a cell changes nothing, and waits only for other cells and for calls of provider functions
// (invariant I5). The program has no cycles, so the locks of cells are always acquired in the order of the references,
// and no cell waits for itself.
//
// A cell keeps its diagnostics. Every evaluation that reads the cell adds them to its bag, which drops repeats. So a
// broken value is an error for every reader, even if the first reader was a check, whose errors are collected
// separately.

type cell struct {
	mu  sync.Mutex
	got atomic.Pointer[result]
}

// result is the result of computing a cell.
type result struct {
	val     cty.Value         // the value with cty marks, for references
	rest    mark.Value        // the same value, with its marks beside it
	outcome Status            // OK, Failed or Broken
	diags   []diag.Diagnostic // the diagnostics of the evaluation
	early   fillCount         // 0 if the result is final
}

// fillCount identifies the time of an evaluation that missed a value: an ephemeral resource was not open, or the slot
// of a resource instance, which holds its object, was empty. It is zero if no value was missing: then the result of the
// evaluation is final. Otherwise the result is valid until an ephemeral resource is opened or closed, or a slot of a
// resource with a missed slot is filled.
type fillCount uint64

// fills counts the events in a walk that may provide a value that an evaluation missed.
type fills struct{ atomic.Uint64 }

// now returns the fillCount of an evaluation that starts now. It is never zero.
func (n *fills) now() fillCount { return fillCount(n.Load() + 1) }

func (m fillCount) valid(n *fills) bool { return m == 0 || m == n.now() }

// get returns the cell's result. It calls compute on first use. It calls compute again if a value was missing then, and
// n has counted an event since. It is safe for concurrent use: other callers wait for compute.
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

// replay adds the cell's diagnostics to the reader's bag.
func (r *result) replay(bag *diag.Bag) {
	if len(r.diags) > 0 {
		bag.Add(r.diags...)
	}
}
