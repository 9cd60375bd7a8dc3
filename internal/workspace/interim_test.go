package workspace

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/journal"
	"github.com/lethe-iac/lethe/internal/store"
)

// puts is a store in memory that sends each written state to the channel all. If the function fail is set, it decides
// whether a write fails, and whether the failed write is stored.
type puts struct {
	store.Memory
	all  chan *state.Snapshot
	fail func(write int) (stored bool, err error)
	n    int
}

func newPuts() *puts { return &puts{all: make(chan *state.Snapshot, 100)} }

func (p *puts) Put(ctx context.Context, name string, data []byte, prev store.Version) (store.Version, error) {
	var bag diag.Bag
	s, ok := state.Read(data, &bag)
	if !ok {
		return "", errors.New("not a state")
	}
	p.n++
	if p.fail != nil {
		if stored, err := p.fail(p.n); err != nil {
			if stored {
				_, _ = p.Memory.Put(ctx, name, data, prev)
			}
			p.all <- s
			return "", err
		}
	}
	v, err := p.Memory.Put(ctx, name, data, prev)
	p.all <- s
	return v, err
}

// next waits for the next write, and checks the serial and the objects of the written state.
func (p *puts) next(t *testing.T, serial uint64, objects ...string) *state.Snapshot {
	t.Helper()
	s := <-p.all
	if s.Serial != serial || s.Len() != len(objects) {
		t.Errorf("written with serial %d and %d objects, want %d and %d", s.Serial, s.Len(), serial, len(objects))
	}
	for _, o := range objects {
		if s.Get(object(t, o)) == nil {
			t.Errorf("%s is not in the state", o)
		}
	}
	return s
}

func (p *puts) none(t *testing.T) {
	t.Helper()
	select {
	case s := <-p.all:
		t.Errorf("a state with %d objects was written", s.Len())
	default:
	}
}

// change records the creation of an object in an open journal.
func (b *bench) change(j journal.Journal, a string) {
	b.Helper()
	op, err := j.Intent(journal.Intent{Object: object(b.T, a), Action: "create", Provider: provider})
	if err != nil {
		b.Fatal(err)
	}
	result := make(chan error, 1)
	j.Later(func(err error) { result <- err }, op, journal.Change{Object: object(b.T, a), Entry: entry(a)})
	if err := <-result; err != nil {
		b.Fatal(err)
	}
}

func (b *bench) record(s *State) journal.Journal {
	b.Helper()
	j, ok := s.Record()
	if !ok {
		b.Fatal(b.Bag.List())
	}
	return j
}

var never = Interim{Every: time.Hour}

// TestInterimAtInterrupt checks that the first interrupt causes a write of the state, and so does each later change. If
// nothing has changed since, the end of the run does not write it again.
func TestInterimAtInterrupt(t *testing.T) {
	b, p, at := newBench(t), newPuts(), make(chan struct{})
	b.store = p
	s := b.lock(Request{Interim: &Interim{Every: time.Hour, At: at}})
	j := b.record(s)
	b.change(j, "x_t.a")
	p.none(t)
	close(at)
	lineage := p.next(t, 1, "x_t.a").Lineage
	b.change(j, "x_t.b")
	last := p.next(t, 2, "x_t.a", "x_t.b")
	if last.Lineage != lineage || lineage == "" {
		t.Errorf("the lineage is %q, and was %q", last.Lineage, lineage)
	}
	if !s.SaveApplied(last) {
		t.Error(b.Bag.List())
	}
	s.Unlock()
	p.none(t)
	b.reported()
	s = b.lock(Request{})
	s.Unlock()
	b.reported()
}

// TestShortApplyWritesOnce checks that an apply that ends before an interim state is due writes the state once.
func TestShortApplyWritesOnce(t *testing.T) {
	b, p := newBench(t), newPuts()
	b.store = p
	s := b.lock(Request{Interim: &never})
	j := b.record(s)
	b.change(j, "x_t.a")
	if !s.SaveApplied(with(t, s.Snapshot(), "x_t.a")) {
		t.Error(b.Bag.List())
	}
	s.Unlock()
	p.next(t, 1, "x_t.a")
	p.none(t)
}

// TestNoInterimBesideJournal checks that no interim states are written if the state is a local file, because the
// journal is beside it.
func TestNoInterimBesideJournal(t *testing.T) {
	b := newBench(t)
	s := b.lock(Request{Interim: &Interim{}})
	defer s.Unlock()
	b.change(b.record(s), "x_t.a")
	if s.interims != nil {
		t.Error("interim states are written")
	}
}

// killedAfterInterim returns the directory and the store of a run that was killed. The run wrote an interim state with
// x_t.a, and then created x_t.b.
func killedAfterInterim(t *testing.T) (*bench, *puts) {
	b, p := newBench(t), newPuts()
	b.store = p
	s := b.lock(Request{Interim: &Interim{}})
	j := b.record(s)
	b.change(j, "x_t.a")
	p.next(t, 1, "x_t.a")
	// The goroutine receives the next work after it has recorded that the store has the interim state.
	s.interims.work <- struct{}{}
	for len(s.interims.work) > 0 {
		time.Sleep(time.Millisecond)
	}
	p.fail = func(int) (bool, error) { return false, errors.New("down") }
	b.change(j, "x_t.b")
	<-p.all
	die(t, s)
	p.fail = nil
	b.reported("Interim state not written")
	return b, p
}

// TestJournalGoesOnFromInterim checks that only the records after the interim state are replayed from its journal.
func TestJournalGoesOnFromInterim(t *testing.T) {
	b, p := killedAfterInterim(t)
	s := b.lock(Request{})
	p.next(t, 2, "x_t.a", "x_t.b")
	if got := s.Restored(); len(got) != 1 || got[0] != object(t, "x_t.b") {
		t.Errorf("restored %v", got)
	}
	s.Unlock()
	b.reported("Recovered an interrupted run")
	s = b.lock(Request{})
	s.Unlock()
	b.reported()
	p.none(t)
}

// TestJournalAfterOthersWentOn checks recovery if another run has changed the interim state since. An object that the
// killed run created later is added, unless the other run has created it, too: then it is reported. Records older than
// the interim state are ignored.
func TestJournalAfterOthersWentOn(t *testing.T) {
	for _, other := range []string{"x_t.c", "x_t.b"} {
		b, p := killedAfterInterim(t)
		data, v, _ := p.Get(ctx, store.Default)
		now, _ := state.Read(data, b.Bag)
		e := now.Edit()
		e.Put(object(t, other), entry("other"))
		e.Put(object(t, "x_t.a"), entry("changed"))
		e.Head().Serial = 7
		data, _ = e.Done().Bytes()
		if _, err := p.Memory.Put(ctx, store.Default, data, v); err != nil {
			t.Fatal(err)
		}
		s := b.lock(Request{})
		got := s.Snapshot()
		s.Unlock()
		if got.Lineage != now.Lineage || got.Get(object(t, "x_t.a")).ID() != "changed" {
			t.Errorf("after %s: the object of the interim state was changed", other)
		}
		if other == "x_t.c" {
			b.reported("Recovered an interrupted run")
			p.next(t, 8, "x_t.a", "x_t.b", "x_t.c")
		} else {
			b.reported("Changes not recovered")
			p.none(t)
		}
	}
}

// TestInterimFails checks that a failed write of an interim state is only a warning. If the store has the interim state
// in spite of the error, the final write replaces it.
func TestInterimFails(t *testing.T) {
	for _, stored := range []bool{false, true} {
		b, p := newBench(t), newPuts()
		b.store = p
		p.fail = func(n int) (bool, error) {
			if n == 1 {
				return stored, errors.New("no answer")
			}
			return false, nil
		}
		s := b.lock(Request{Interim: &Interim{Every: time.Hour, At: closed()}})
		b.change(b.record(s), "x_t.a")
		<-p.all
		if !s.SaveApplied(with(t, with(t, s.Snapshot(), "x_t.a"), "x_t.b")) {
			t.Error(b.Bag.List())
		}
		s.Unlock()
		b.reported("Interim state not written")
		s = b.lock(Request{})
		if s.Snapshot().Len() != 2 {
			t.Errorf("the state has %d objects", s.Snapshot().Len())
		}
		s.Unlock()
		b.reported()
	}
}

func closed() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

// TestOneLineage checks that a state that could not be written has the same lineage as its journal. So it can replace
// the state that a later command recovers from the journal.
func TestOneLineage(t *testing.T) {
	b, p := newBench(t), newPuts()
	b.store = p
	p.fail = func(int) (bool, error) { return false, errors.New("down") }
	s := b.lock(Request{Interim: &never})
	b.change(b.record(s), "x_t.a")
	e := (&state.Snapshot{}).Edit()
	e.Put(object(t, "x_t.a"), entry("x_t.a"))
	if s.SaveApplied(e.Done()) {
		t.Error("it was written")
	}
	failed := <-p.all
	s.Unlock()
	b.reported("Failed to save state")
	p.fail = nil
	s = b.lock(Request{})
	defer s.Unlock()
	if got := p.next(t, 1, "x_t.a"); got.Lineage != failed.Lineage || got.Lineage == "" {
		t.Errorf("recovered with the lineage %q, the other has %q", got.Lineage, failed.Lineage)
	}
}
