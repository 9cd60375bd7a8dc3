package applying

import "sync"

// pending are the records of a run that are not durable yet. They become so in the order that they are given in, so a step
// that announces its call does not wait for those of the steps that it depends on: its intent is durable after them, and
// mostly by the same write. Others (applier.needsDurable) begin when all that was given before is durable.
type pending struct {
	mu         sync.Mutex
	some       sync.Cond
	begun, out int
}

// given counts a record in, and written out again when it is durable, or cannot be.
func (p *pending) given() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.begun++
}

func (p *pending) written() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.out++
	if p.some.L != nil {
		p.some.Broadcast()
	}
}

// settle waits for what was given so far.
func (p *pending) settle() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.some.L = &p.mu
	for n := p.begun; p.out < n; {
		p.some.Wait()
	}
}

// stepRecords are those of one step, which waits for them if it fails: what is said of it then is about something that is
// recorded.
type stepRecords struct{ pending }

// record counts a record of the step in. The caller calls what it returns when that is durable, or
// cannot be; this calls written.
func (s *stepRecords) record(written func(error)) func(error) {
	s.given()
	return func(err error) {
		written(err)
		s.written()
	}
}

// whole does the work of a step. For the records of one that failed it waits, as for those of one that panicked.
func (s *stepRecords) whole(work func() bool) (well bool) {
	defer func() {
		if !well {
			s.settle()
		}
	}()
	return work()
}
