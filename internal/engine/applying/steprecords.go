package applying

import (
	"sync"

	"github.com/lethe-iac/lethe/internal/walk"
)

// stepRecords are what a step waits for before it is over: its records must be durable. Its worker need
// not wait: it begins another step, whose intent is mostly written together with the last record
// of this one.
type stepRecords struct {
	mu   sync.Mutex
	left int  // records that are not durable yet
	lost bool // one never will be
	then func(ok bool)
}

// record counts a record of the step in. The caller calls what it returns when that is durable, or
// cannot be; this calls written.
func (s *stepRecords) record(written func(error)) func(error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left++
	return func(err error) {
		written(err)
		s.mu.Lock()
		s.left--
		s.lost = s.lost || err != nil
		then := s.then
		if s.left > 0 {
			then = nil
		}
		ok := !s.lost
		s.mu.Unlock()
		if then != nil {
			then(ok)
		}
	}
}

// rest calls then once all records are durable or cannot be, with whether they are.
func (s *stepRecords) rest(then func(ok bool)) {
	s.mu.Lock()
	left, ok := s.left > 0, !s.lost
	if left {
		s.then = then
	}
	s.mu.Unlock()
	if !left {
		then(ok)
	}
}

// wait waits for the records.
func (s *stepRecords) wait() {
	over := make(chan bool, 1)
	s.rest(func(ok bool) { over <- ok })
	<-over
}

// whole does the work of a step, which then is over when its records are durable. For those of a
// step that failed it waits, as for those of one that panicked.
func (s *stepRecords) whole(f *walk.Fan, work func() bool) bool {
	well := false
	defer func() {
		if !well {
			s.wait()
		}
	}()
	if well = work(); well {
		f.Rest(s.rest)
	}
	return well
}
