package workspace

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/journal"
	"github.com/lethe-iac/lethe/internal/state/store"
	"github.com/lethe-iac/lethe/internal/state/store/crypt"
)

// State is the state of a workspace, locked for a command. It is a journal.Leases.
type State struct {
	env      *Env
	req      Request
	snapshot *state.Snapshot // never nil
	version  store.Version
	release  func(context.Context) error
	record   recorder
	shared   *shared                // nil: the state is this command's alone, or not locked
	taken    runs                   // whose journals were taken in
	restored []addr.Object          // what those had changed, and was written
	part     []string               // the resources that are known of the state; nil: all
	stamps   map[string]store.Stamp // to be written with the state
	interims *interims              // writes the state while an apply is in progress; nil: nothing does
}

// shared is what a command has of a state that others work on, too.
type shared struct {
	member  store.Member
	claimed store.Parts
	base    *state.Snapshot // what the command makes its changes of; nil until it has claimed
	found   *state.Snapshot // what was there when it claimed
}

// recorder keeps the journal of a run.
type recorder struct {
	env       *Env
	seal      journal.Sealing // what encrypts it; nil: nothing does
	path      string          // of the journal
	name      string          // of the workspace
	lineage   string          // of the state, or what it gets if it has none
	keeper    Keeper          // nil: there is none
	copied    *copied         // where all of it goes as well; nil: nowhere
	shared    bool            // others work on the state, too
	silent    bool            // another run may have its journal there: nothing is written to it
	refreshes bool            // see Request

	starting sync.Mutex        // held while the journal is begun
	journal  *journal.Writer   // from the first lease on, or the first change
	left     *journal.Recovery // an earlier journal that stays: this run only looks
	notes    journal.Notes     // of lost runs
	stands   bool              // the journal that has them is still there
	parts    atomic.Bool       // it says that it is about a part of the state
	keep     bool              // the journal has what the state has not
}

// Problem is what users read of an error of a store: what it says of itself, or else otherwise.
func Problem(err error, otherwise diag.Diagnostic) diag.Diagnostic {
	if d, ok := crypt.Diagnostic(err); ok {
		return d
	}
	return otherwise
}

// sealing is what a store encrypts journals with; nil if it encrypts nothing.
func sealing(st store.Store) journal.Sealing {
	if s, ok := store.As[store.Sealer](st); ok {
		return s
	}
	return nil
}

// Snapshot is the state as it was read, journals included, or as it was written last. It is never nil.
func (s *State) Snapshot() *state.Snapshot { return s.snapshot }

// Restored are the objects that lost runs had changed, whose journals were taken in.
func (s *State) Restored() []addr.Object { return s.restored }

// Share takes a snapshot in the place of the one that was read if their texts are the same, byte for byte: then there is
// one such text in memory.
func (s *State) Share(same *state.Snapshot) {
	if s.snapshot.SameText(same) {
		s.snapshot = same
	}
}

// Missing reports whether there is no state, and no journal of one.
func (s *State) Missing() bool { return s.version == "" && s.snapshot.Len() == 0 }

// Stored reports whether the store has a state, if only an empty one.
func (s *State) Stored() bool { return s.version != "" }

// Put writes a snapshot as it is. If the store refuses, the state goes to a file that only the
// user can read, never to the screen.
func (s *State) Put(next *state.Snapshot) bool {
	data, err := next.Bytes()
	recorded := s.record.complete()
	if err == nil {
		s.record.about(state.DigestOf(data))
		begun := s.env.Now()
		s.version, err = s.put(data)
		s.env.log(begun, err, "write of the state of workspace %q, serial %d, %d bytes", s.req.Name, next.Serial, len(data))
	}
	if err == nil {
		s.snapshot, s.record.keep = next, false
		s.writtenOnce()
		return true
	}
	return s.unsaved(err, next, data, recorded)
}

// writtenOnce calls Request.Written after the first write.
func (s *State) writtenOnce() {
	if written := s.req.Written; written != nil {
		s.req.Written = nil
		written()
	}
}

// put hands bytes to the store, with the stamps.
func (s *State) put(data []byte) (store.Version, error) {
	p, ok := s.parted()
	if !ok || s.part == nil && len(s.stamps) == 0 {
		return s.req.Store.Put(context.Background(), s.req.Name, data, s.version)
	}
	return p.PutPart(context.Background(), s.req.Name, store.Part{Whole: s.part == nil, Resources: s.part, Data: data, Stamps: s.stamps}, s.version)
}

// parted is what can be done with parts of the state. What is encrypted has none.
func (s *State) parted() (store.Parted, bool) {
	if sealing(s.req.Store) != nil {
		return nil, false
	}
	return store.PartsOf(s.req.Store)
}

// Stamped reports whether the store keeps stamps.
func (s *State) Stamped() bool {
	_, ok := s.parted()
	return ok
}

// Stamp says for what nothing is left to do once the state is written that the command made.
func (s *State) Stamp(stamps map[string]store.Stamp) { s.stamps = stamps }

// Part are the resources that are known of the state; nil: all.
func (s *State) Part() []string { return s.part }

// stamp writes stamps alone, of a state that does not change. Without them the next plan looks at more.
func (s *State) stamp() {
	if p, ok := s.parted(); ok && len(s.stamps) > 0 && s.version != "" {
		if v, err := p.PutPart(context.Background(), s.req.Name, store.Part{Whole: true, Stamps: s.stamps}, s.version); err == nil {
			s.version = v
		}
	}
}

// unsaved reports that a state could not be written. data are its bytes; recorded says that the journal has all of it.
func (s *State) unsaved(err error, next *state.Snapshot, data []byte, recorded bool) bool {
	s.env.Bag.Add(diag.Errorf("Failed to save state", "Error saving state: %s\n\n%s", err, s.elsewhere(err, next, data, recorded)))
	return false
}

// Unread gives the environment variable that has taken in what lost runs recorded in the store, where there is something of
// the workspace, and it was not: see store.Unread.
func (s *State) Unread(ctx context.Context) (variable string, err error) {
	left, variable, err := store.LeftUnread(ctx, s.req.Store)
	if !slices.Contains(left, s.req.Name) {
		variable = ""
	}
	return variable, err
}

// Delete removes the workspace with its state.
func (s *State) Delete(ctx context.Context) error {
	err := s.req.Store.Delete(ctx, s.req.Name)
	if err == nil {
		s.record.notes = journal.Notes{}
	}
	return err
}

// Notes are what is known of lost runs beside the state.
func (s *State) Notes() journal.Notes { return s.record.notes }

// Note replaces what is known of lost runs. It is written when the command unlocks the state.
func (s *State) Note(n journal.Notes) { s.record.notes = n }

const journalHas = "Everything that was done is in the journal beside the state, and the next command recovers it from there."

// elsewhere says where a state is that could not be written: in another file, or in the journal of a
// run that recorded everything, or nowhere but on the screen.
func (s *State) elsewhere(why error, next *state.Snapshot, data []byte, recorded bool) string {
	if s.shared != nil && recorded { // a whole state has what others changed as it was
		return journalHas
	}
	var err error
	if seal := sealing(s.req.Store); seal != nil {
		data, err = seal.Seal(context.Background(), data)
	}
	path := ""
	if err == nil {
		path, err = store.EmergencyDump(s.env.FS, data, store.EmergencyDirs(s.env.Dir, s.env.Getenv)...)
	}
	switch {
	case err == nil:
		if stale := (*store.StaleError)(nil); errors.As(why, &stale) {
			s.record.keep = false // the state that the journal goes on from is no more
			return fmt.Sprintf("The updated state was written to %s. The state that is there now has changes that this one lacks, which would be lost with it: compare the two first (lethe state pull). To put the updated state in its place, run: lethe state push -force %s", path, path)
		}
		return fmt.Sprintf("The updated state was written to %s. To put it in place, run: lethe state push %s", path, path)
	case recorded:
		return journalHas
	case !s.record.keep:
		return "The stored state is unchanged."
	}
	var b strings.Builder
	b.WriteString("The updated state could not be written to another file either, and the journal does not have all of it. These objects differ from the stored state: note them down, and import those that are missing:")
	for o, e := range next.Objects() {
		if s.snapshot.Get(o) != e {
			fmt.Fprintf(&b, "\n  %s [id=%s]", o, e.ID())
		}
	}
	for o := range s.snapshot.Objects() {
		if next.Get(o) == nil {
			fmt.Fprintf(&b, "\n  %s (is gone)", o)
		}
	}
	return b.String()
}

// about notes that a state of that digest is about to be written, for a command that comes after a
// kill between that and the removal of the journal. A journal that takes no more, which was
// reported, is no reason not to write.
func (r *recorder) about(next state.Digest) {
	if r.journal != nil {
		_ = r.journal.End(next)
	}
}

// complete reports whether the journal has everything that was done.
func (r *recorder) complete() bool { return r.keep && r.journal.Err() == nil }
