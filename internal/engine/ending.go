package engine

import (
	"sync"

	"github.com/lethe-iac/lethe/internal/walk"
)

// ending is what a step waits for before it is over: its records must be durable. Its worker need
// not wait: it begins another step, whose intent is mostly written together with the last record
// of this one.
type ending struct {
	mu   sync.Mutex
	left int  // records that are not durable yet
	lost bool // one never will be
	then func(ok bool)
}

// record counts a record of the step in. What it returns is to be told when that is durable, or
// cannot be, and tells written.
func (e *ending) record(written func(error)) func(error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.left++
	return func(err error) {
		written(err)
		e.mu.Lock()
		e.left--
		e.lost = e.lost || err != nil
		then := e.then
		if e.left > 0 {
			then = nil
		}
		ok := !e.lost
		e.mu.Unlock()
		if then != nil {
			then(ok)
		}
	}
}

// rest has then told, once all records are durable or cannot be, whether they are.
func (e *ending) rest(then func(ok bool)) {
	e.mu.Lock()
	left, ok := e.left > 0, !e.lost
	if left {
		e.then = then
	}
	e.mu.Unlock()
	if !left {
		then(ok)
	}
}

// wait waits for the records.
func (e *ending) wait() {
	over := make(chan bool, 1)
	e.rest(func(ok bool) { over <- ok })
	<-over
}

// whole does the work of a step, which then is over when its records are durable. For those of a
// step that failed it waits, as for those of one that panicked.
func (e *ending) whole(f *walk.Fan, work func() bool) bool {
	well := false
	defer func() {
		if !well {
			e.wait()
		}
	}()
	if well = work(); well {
		f.Rest(e.rest)
	}
	return well
}
