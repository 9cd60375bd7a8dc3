package workspace

import (
	"testing"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/state/journal"
)

// TestRounds checks that the journals of rounds follow each other without a gap: if a later round is killed, the next
// command finds its changes, the leases that are still open, and the notes about earlier values.
func TestRounds(t *testing.T) {
	b := newBench(t)
	s := b.lock(Request{})
	closed, err := s.Opening(object(t, "ephemeral.a.closed"), addr.Default("x"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Opening(object(t, "ephemeral.a.open"), addr.Default("x")); err != nil {
		t.Fatal(err)
	}
	change(t, s, "a.x")
	if err := s.NoteEarlier([]journal.EarlierValue{{Lease: "ephemeral.a.open", Objects: []string{"a.x"}}}); err != nil {
		t.Fatal(err)
	}
	if !s.SaveApplied(with(t, s.Snapshot(), "a.x")) || !s.EndRound() {
		t.Fatal(b.Bag.List())
	}
	if !b.journals() {
		t.Error("there is no journal between the rounds")
	}
	change(t, s, "a.y")
	s.Closed(closed)
	die(t, s)
	b.reported()

	s = b.lock(Request{})
	b.reported("Recovered an interrupted run", "Leases left open")
	n := s.Notes()
	if s.Snapshot().Len() != 2 || len(n.Leases) != 1 || n.Leases[0].Object != "ephemeral.a.open" || len(s.Earlier()) != 1 {
		t.Errorf("%d objects, notes %+v", s.Snapshot().Len(), n)
	}
	s.Unlock()
	s = b.lock(Request{})
	if len(s.Earlier()) != 1 {
		t.Error("the note is lost")
	}
	n = s.Notes()
	n.Leases = nil
	s.Note(n)
	if err := s.NoteEarlier(nil); err != nil {
		t.Fatal(err)
	}
	s.Unlock()
	if b.journals() {
		t.Error("the journal stays, with nothing in it")
	}
}

// A round without open leases and notes leaves no journal.
func TestRoundWithoutLeases(t *testing.T) {
	b := newBench(t)
	s := b.lock(Request{})
	change(t, s, "a.x")
	if !s.SaveApplied(with(t, s.Snapshot(), "a.x")) || !s.EndRound() || b.journals() {
		t.Errorf("journal after a round: %t, %v", b.journals(), b.Bag.List())
	}
	change(t, s, "a.y")
	die(t, s)
	s = b.lock(Request{})
	b.reported("Recovered an interrupted run")
	if s.Snapshot().Len() != 2 {
		t.Errorf("%d objects", s.Snapshot().Len())
	}
	s.Unlock()
}
