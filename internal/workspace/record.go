package workspace

import (
	"errors"
	"path/filepath"
	"sync"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/journal"
	"github.com/lethe-iac/lethe/internal/state/store"
)

// recorder keeps the journal of a run.
type recorder struct {
	env    *Env
	seal   journal.Sealing // what encrypts it; nil: nothing does
	path   string          // of the journal
	name   string          // of the workspace
	silent bool            // another run may have its journal there: nothing is written to it

	starting sync.Mutex        // held while the journal is begun
	journal  *journal.Writer   // from the first lease on, or the first change
	left     *journal.Recovery // an earlier journal that stays: this run only looks
	unknown  []journal.Unknown // calls of a lost run whose outcome is not known
	keep     bool              // the journal has what the state has not
}

// journalFile is where the progress of a run on a workspace is written.
func journalFile(env *Env, st store.Store, name string) string {
	if f, ok := store.As[store.Filer](st); ok {
		return journal.Path(f.File(name))
	}
	return journal.Path(filepath.Join(env.Data, name))
}

// begin starts the journal, unless it has begun: with the first lease, or with an apply. Where there
// is one that this run does not take in, it goes on in that.
func (r *recorder) begin(base *state.Snapshot) error {
	r.starting.Lock()
	defer r.starting.Unlock()
	if r.journal != nil {
		return nil
	}
	o := journal.Options{Seal: r.seal, FS: r.env.FS, Now: r.env.Now, Carry: r.unknown}
	run := r.name + "-" + r.env.Now().UTC().Format("20060102T150405Z")
	var err error
	if r.left != nil {
		r.journal, err = r.left.Continue(r.path, run, o)
	} else {
		r.journal, err = journal.Create(r.path, journal.About(base, state.NewLineage(), run, r.env.Version), o)
	}
	return err
}

// complete reports whether the journal has everything that was done.
func (r *recorder) complete() bool { return r.keep && r.journal.Err() == nil }

// about notes that a state of that digest is about to be written, for a command that comes after a
// kill between that and the removal of the journal. A journal that takes no more, which was
// reported, is no reason not to write.
func (r *recorder) about(next state.Digest) {
	if r.journal != nil {
		_ = r.journal.End(next)
	}
}

// Record begins the journal of an apply: from now on it has what the state has not.
func (s *State) Record() (journal.Journal, bool) {
	if err := s.record.begin(s.snapshot); err != nil {
		s.env.Bag.Add(diag.Errorf("Failed to begin the journal", "The journal of this run could not be created: %s.", err))
		return nil, false
	}
	s.record.keep = true
	return s.record.journal, true
}

// Opening implements journal.Leases.
func (s *State) Opening(o addr.Object, p addr.Provider) (journal.Op, error) {
	if s.record.silent {
		return 0, nil
	}
	if err := s.record.begin(s.snapshot); err != nil {
		return 0, err
	}
	return s.record.journal.Opening(o, p)
}

// Over implements journal.Leases.
func (s *State) Over(op journal.Op) {
	s.record.starting.Lock()
	defer s.record.starting.Unlock()
	if s.record.journal != nil {
		s.record.journal.Over(op)
	}
}

// End closes the journal. It is dropped, unless it has something that the state has not: changes,
// calls without an answer, leases that are open, or what an earlier run left. The next command
// reports these.
func (s *State) End() {
	r := &s.record
	if r.journal == nil {
		return
	}
	keep := r.keep || r.journal.Unsettled()
	if keep && !r.keep && r.left == nil {
		_ = r.journal.End(s.snapshot.Digest()) // the changes in it are in the state
	}
	r.starting.Lock()
	defer r.starting.Unlock()
	err := r.journal.Close()
	if !keep && r.left == nil {
		err = errors.Join(err, journal.Remove(r.env.FS, r.path))
	}
	if err != nil {
		r.env.Bag.Add(diag.Warningf("Journal not removed", "%s.", err))
	}
	r.journal = nil
}
