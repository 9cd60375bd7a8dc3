package applying

import "sync"

// pending counts the records for the journal (the file that records the calls of an apply) that are not durable yet
// (not safely on the disk): the records of an apply, or of one step. A record that could not be written does not count
// any more.
//
// Records become durable in the order in which they were written. A step that writes an intent (the record that a call
// is about to start) need not wait for earlier records: its intent is durable after them, usually in the same write.
// Steps for which applier.needsDurable returns true wait until all earlier records are durable or have failed.
type pending struct {
	mu           sync.Mutex
	some         sync.Cond // signals that out has grown; unused before the first call of settle
	started, out int       // number of all records; number of the records that are durable or have failed
}

// given counts a new record. The method written counts a record that has become durable or has failed.
func (p *pending) given() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.started++
}

func (p *pending) written() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.out++
	if p.some.L != nil {
		p.some.Broadcast()
	}
}

// settle waits until all records given so far are durable or have failed.
func (p *pending) settle() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.some.L = &p.mu
	for n := p.started; p.out < n; {
		p.some.Wait()
	}
}

// stepRecords counts the records of one step. A step that fails waits for its records, so that the changes before the
// failure are recorded when the failure is reported.
type stepRecords struct{ pending }

// record counts a record of the step. The caller must call the returned function when the record is durable or has
// failed. This function also calls the argument written.
func (s *stepRecords) record(written func(error)) func(error) {
	s.given()
	return func(err error) {
		written(err)
		s.written()
	}
}

// whole calls work, which does the work of a step, and returns its result. If work returns false or panics, whole waits
// for the step's records before it returns.
func (s *stepRecords) whole(work func() bool) (well bool) {
	defer func() {
		if !well {
			s.settle()
		}
	}()
	return work()
}
