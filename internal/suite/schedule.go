package suite

import (
	"context"
	"sync"
	"time"
)

// runs runs the runs of a file: each when those that it waits for are over, no more at once than there may be.
func (x *execution) runs(ctx context.Context) {
	all := x.file.Runs
	over := make([]chan struct{}, len(all))
	for i := range over {
		over[i] = make(chan struct{})
	}
	places := make(chan struct{}, max(x.suite.AtOnce, 1))
	results := &results{x: x}
	var group sync.WaitGroup
	begun := 0 // a run that all before are over for has seen to those before this one
	for i, wait := range x.file.Waits() {
		r := all[i]
		r.after = all[:wait.Before]
		for j := begun; j < wait.Before; j++ {
			<-over[j]
		}
		begun = max(begun, wait.Before)
		for _, j := range wait.On {
			r.beside = append(r.beside, all[j])
		}
		group.Go(func() {
			defer close(over[i])
			for _, j := range wait.On {
				<-over[j]
			}
			places <- struct{}{}
			x.begin(ctx, r, results)
			<-places
		})
	}
	group.Wait()
}

// begin runs a run, or skips it.
func (x *execution) begin(ctx context.Context, r *Run, results *results) {
	if because, skipped := r.skipped(ctx); skipped {
		r.Status, r.Because = Skip, because
	} else {
		r.Began = x.suite.Now()
		results.begin(r)
		stop := x.suite.still(func(since time.Duration) { results.still(r, since) })
		x.run(ctx, r)
		stop()
		r.Took = x.suite.Now().Sub(r.Began)
		r.stopped = ctx.Err() != nil
	}
	results.end(r)
}

// still has something told again and again, with the time since then, until stop is called.
func (s *Suite) still(tell func(since time.Duration)) (stop func()) {
	if s.Beat == 0 {
		return func() {}
	}
	began, beat, over := s.Now(), time.NewTicker(s.Beat), make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		defer beat.Stop()
		for {
			select {
			case <-over:
				return
			case <-beat.C:
				tell(s.Now().Sub(began))
			}
		}
	})
	return func() {
		close(over)
		group.Wait()
	}
}

// skipped reports whether a run is not begun, since one that it comes after ended in error (or, because is nil, since
// an interrupt ended one, or was there before it).
func (r *Run) skipped(ctx context.Context) (because *Run, is bool) {
	for _, runs := range [][]*Run{r.after, r.beside} {
		for _, earlier := range runs {
			if earlier.Status == Error {
				return earlier, true
			}
			if earlier.stopped || earlier.Status == Skip {
				because, is = earlier.Because, true
			}
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

func (o *results) still(r *Run, since time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.x.suite.Reporter.Still(r, Running, since)
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
