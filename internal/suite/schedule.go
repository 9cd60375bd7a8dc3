package suite

import (
	"context"
	"sync"
)

// runs runs the runs of a file: each when those that it waits for are over, no more at once than there may be.
func (x *execution) runs(ctx context.Context) {
	waits := x.file.Waits()
	over := make([]chan struct{}, len(x.file.Runs))
	for i := range over {
		over[i] = make(chan struct{})
	}
	places := make(chan struct{}, max(x.suite.AtOnce, 1))
	results := &results{x: x}
	var all sync.WaitGroup
	for i, r := range x.file.Runs {
		for _, j := range waits[i] {
			r.after = append(r.after, x.file.Runs[j])
		}
		all.Go(func() {
			defer close(over[i])
			for _, j := range waits[i] {
				<-over[j]
			}
			places <- struct{}{}
			defer func() { <-places }()
			if because, skipped := r.skipped(ctx); skipped {
				r.Status, r.Because = Skip, because
			} else {
				r.Began = x.suite.Now()
				results.begin(r)
				x.run(ctx, r)
				r.Took = x.suite.Now().Sub(r.Began)
				r.stopped = ctx.Err() != nil
			}
			results.end(r)
		})
	}
	all.Wait()
}

// skipped reports whether a run is not begun, since one that it comes after ended in error (or, because is nil, since
// an interrupt ended one, or was there before it).
func (r *Run) skipped(ctx context.Context) (because *Run, is bool) {
	for _, earlier := range r.after {
		if earlier.Status == Error {
			return earlier, true
		}
		if earlier.stopped || earlier.Status == Skip {
			because, is = earlier.Because, true
		}
	}
	return because, is || ctx.Err() != nil
}

// results reports runs: when they begin, and in the order of the file when they are over.
type results struct {
	x    *execution
	mu   sync.Mutex
	over int // runs from the first on that were reported
	done map[*Run]bool
}

func (o *results) begin(r *Run) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.x.suite.Reporter.Run(r, Starting)
}

func (o *results) end(r *Run) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.done == nil {
		o.done = map[*Run]bool{}
	}
	o.done[r] = true
	for all := o.x.file.Runs; o.over < len(all) && o.done[all[o.over]]; o.over++ {
		next := all[o.over]
		o.x.suite.Reporter.Run(next, Complete)
		if next.Status != Skip {
			o.x.file.Status = max(o.x.file.Status, next.Status)
		}
	}
}
