package suite

import (
	"context"
	"sync"
	"time"
)

// runs executes the runs of a file. Each run starts when all runs for which it waits have ended, and when fewer than
// AtOnce runs are in progress.
func (x *execution) runs(ctx context.Context) {
	all := x.file.Runs
	done := make([]chan struct{}, len(all))
	for i := range done {
		done[i] = make(chan struct{})
	}
	places := make(chan struct{}, max(x.suite.AtOnce, 1))
	results := &results{x: x}
	var group sync.WaitGroup
	started := 0 // the number of runs at the beginning of the file that are known to have ended
	for i, wait := range x.file.Waits() {
		r := all[i]
		r.after = all[:wait.Before]
		for j := started; j < wait.Before; j++ {
			<-done[j]
		}
		started = max(started, wait.Before)
		for _, j := range wait.On {
			r.beside = append(r.beside, all[j])
		}
		group.Go(func() {
			defer close(done[i])
			for _, j := range wait.On {
				<-done[j]
			}
			places <- struct{}{}
			x.begin(ctx, r, results)
			<-places
		})
	}
	group.Wait()
}

// begin executes a run, or skips it, and reports the result to results.
func (x *execution) begin(ctx context.Context, r *Run, results *results) {
	if because, skipped := r.skipped(ctx); skipped {
		r.Status, r.Because = Skip, because
	} else {
		r.Began = x.suite.Clock.Now()
		results.begin(r)
		stop := x.suite.still(func(since time.Duration) { results.still(r, since) })
		x.run(ctx, r)
		stop()
		r.Took = x.suite.Clock.Now().Sub(r.Began)
		r.stopped = ctx.Err() != nil
	}
	results.end(r)
}

// still calls tell at intervals, with the time since the call of still, until the returned function is called. If
// Clock.Beat is 0, it does not call tell.
func (s *Suite) still(tell func(since time.Duration)) (stop func()) {
	if s.Clock.Beat == 0 {
		return func() {}
	}
	began, beat, done := s.Clock.Now(), time.NewTicker(s.Clock.Beat), make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		defer beat.Stop()
		for {
			select {
			case <-done:
				return
			case <-beat.C:
				tell(s.Clock.Now().Sub(began))
			}
		}
	})
	return func() {
		close(done)
		group.Wait()
	}
}

// skipped reports whether a run must be skipped. A run is skipped after an error or a skipped run before it, or after
// an interrupt. The result because is the earlier run that ended in an error. It is nil if an interrupt is the reason.
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

// results reports the progress of runs to the Reporter: the start of a run at once, and the ends in the order of the
// file.
type results struct {
	x        *execution
	mu       sync.Mutex
	finished int // the number of runs at the beginning of the file whose end was reported
	done     map[*Run]bool
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
	for all := o.x.file.Runs; o.finished < len(all) && o.done[all[o.finished]]; o.finished++ {
		next := all[o.finished]
		o.x.suite.Reporter.Run(next, Complete)
		if next.Status != Skip {
			o.x.file.Status = max(o.x.file.Status, next.Status)
		}
	}
}
