package workspace

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/journal"
	"github.com/lethe-iac/lethe/internal/state/store"
)

// puts is a store that tells of each write, and lets some of them fail.
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

// next waits for a write, and checks what the state has.
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

// change records that an object was made, in a journal that goes on.
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

// TestInterimAtInterrupt: at the first interrupt the state is written, and after each change from then on; at the end it
// is not written again if nothing differs.
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
	b.said()
	s = b.lock(Request{})
	s.Unlock()
	b.said()
}

// TestShortApplyWritesOnce: an apply that ends before an interim state is due writes the state once.
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

// TestNoInterimBesideJournal: a state in a file of this machine has its journal beside it, and is written once.
func TestNoInterimBesideJournal(t *testing.T) {
	b := newBench(t)
	s := b.lock(Request{Interim: &Interim{}})
	defer s.Unlock()
	b.change(b.record(s), "x_t.a")
	if s.interims != nil {
		t.Error("interim states are written")
	}
}

// killedAfterInterim is a run that wrote an interim state with a, made b, and was killed.
func killedAfterInterim(t *testing.T) (*bench, *puts) {
	b, p := newBench(t), newPuts()
	b.store = p
	s := b.lock(Request{Interim: &Interim{}})
	j := b.record(s)
	b.change(j, "x_t.a")
	p.next(t, 1, "x_t.a")
	p.fail = func(int) (bool, error) { return false, errors.New("down") }
	b.change(j, "x_t.b")
	<-p.all
	die(t, s)
	p.fail = nil
	b.said("Interim state not written")
	return b, p
}

// TestJournalGoesOnFromInterim: of a journal beside an interim state, what comes after that state is taken in.
func TestJournalGoesOnFromInterim(t *testing.T) {
	b, p := killedAfterInterim(t)
	s := b.lock(Request{})
	p.next(t, 2, "x_t.a", "x_t.b")
	if got := s.Restored(); len(got) != 1 || got[0] != object(t, "x_t.b") {
		t.Errorf("restored %v", got)
	}
	s.Unlock()
	b.said("Recovered an interrupted run")
	s = b.lock(Request{})
	s.Unlock()
	b.said()
	p.none(t)
}

// TestJournalAfterOthersWentOn: where another run went on from an interim state, what the lost run made after that comes in
// if the other has not made it, and is named otherwise. What the interim state had is not looked at.
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
			b.said("Recovered an interrupted run")
			p.next(t, 8, "x_t.a", "x_t.b", "x_t.c")
		} else {
			b.said("Changes not recovered")
			p.none(t)
		}
	}
}

// TestInterimFails: that an interim state cannot be written is a warning; one whose request failed and which is there all
// the same is the one that the end goes on from.
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
		b.said("Interim state not written")
		s = b.lock(Request{})
		if s.Snapshot().Len() != 2 {
			t.Errorf("the state has %d objects", s.Snapshot().Len())
		}
		s.Unlock()
		b.said()
	}
}

func closed() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

// TestOneLineage: a state that could not be written has the lineage of the journal of its run, so it can be put in place of
// what a later command recovers from that.
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
	b.said("Failed to save state")
	p.fail = nil
	s = b.lock(Request{})
	defer s.Unlock()
	if got := p.next(t, 1, "x_t.a"); got.Lineage != failed.Lineage || got.Lineage == "" {
		t.Errorf("recovered with the lineage %q, the other has %q", got.Lineage, failed.Lineage)
	}
}
