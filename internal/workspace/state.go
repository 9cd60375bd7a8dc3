package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/journal"
	"github.com/lethe-iac/lethe/internal/state/parts"
	"github.com/lethe-iac/lethe/internal/store"
)

// State is the state of a workspace, locked for a command. It implements journal.Leases.
type State struct {
	env      *Env
	req      Request
	doc      document
	lock     lock
	record   recorder
	basis    basis
	recovery recovery
	interims *interims // writes interim states during an apply; nil if none are needed

	overridden []string // the addresses that the next written state lists; see Override
}

// basis has the states that Claim and Save compare if the command shares the state with others.
type basis struct {
	base       *state.Snapshot // the state from which the command's plan was made; nil before Claim
	atClaim    *state.Snapshot // the state after the last claim
	keptClaims bool            // a plan was out of date, and the command keeps its claims for the next plan
}

// Snapshot returns the state as the command last read or wrote it, with the changes of replayed journals. It is never
// nil.
func (s *State) Snapshot() *state.Snapshot { return s.doc.snapshot }

// Restored returns the objects that interrupted runs had changed, and whose changes were recovered from journals.
func (s *State) Restored() []addr.Object { return s.recovery.restored }

// Share replaces the snapshot of s by same, if both were read from the same text, so that only one copy of the text is
// in memory.
func (s *State) Share(same *state.Snapshot) {
	if s.doc.snapshot.SameText(same) {
		s.doc.snapshot = same
	}
}

// Missing reports whether the store has no state, and no replayed journal added an object.
func (s *State) Missing() bool { return s.doc.version == "" && s.doc.snapshot.Len() == 0 }

// Stored reports whether the store has a state, which may be empty.
func (s *State) Stored() bool { return s.doc.version != "" }

// Put writes a snapshot to the store without setting its serial or lineage. If the store refuses, Put writes the state
// to a file that only the user can read, adds an error, and returns false. It never prints the state.
func (s *State) Put(next *state.Snapshot) bool {
	recorded := s.record.complete()
	data, err := s.write(next)
	return err == nil || s.unsaved(err, next, data, recorded)
}

// write writes a snapshot to the store without setting its serial or lineage, and returns the written bytes.
func (s *State) write(next *state.Snapshot) ([]byte, error) {
	data, err := next.Bytes()
	if err == nil {
		s.record.about(state.DigestOf(data))
		started := s.env.Now()
		s.doc.version, err = s.doc.put(data)
		s.env.log(started, err, "write of the state of workspace %q, serial %d, %d bytes", s.req.Name, next.Serial, len(data))
	}
	if err == nil {
		s.doc.snapshot, s.record.keep, s.record.written = next, false, state.DigestOf(data)
		s.writtenOnce()
	}
	return data, err
}

// writtenOnce calls Request.Written after the first write of the state, and not again.
func (s *State) writtenOnce() {
	if written := s.req.Written; written != nil {
		s.req.Written = nil
		written()
	}
}

// Override makes the next written state list the addresses of the protected objects that the command has destroyed
// because of -allow-destroy.
func (s *State) Override(addresses []string) { s.overridden = addresses }

// Stamped reports whether the store keeps stamps: digests of configurations, which tell a plan the objects that it need
// not refresh.
func (s *State) Stamped() bool {
	return s.req.Store.Capabilities().Parts != nil
}

// Stamp sets the stamps (digests of configurations) to write with the command's next state. They are for the resources
// that need no further change after that write.
func (s *State) Stamp(stamps map[string]store.Stamp) { s.doc.stamps = stamps }

// Encrypts reports whether the state is stored encrypted.
func (s *State) Encrypts() bool {
	sealer := s.req.Store.Capabilities().Sealer
	return sealer != nil && sealer.Encrypts()
}

// Part returns the addresses of the resources that the command has read from the store, or nil if it has read the whole
// state.
func (s *State) Part() []string { return s.doc.part }

// unsaved reports that a state could not be written, and where its content is now. It returns false. data is the text
// of the state. recorded is true if the journal has all changes.
func (s *State) unsaved(err error, next *state.Snapshot, data []byte, recorded bool) bool {
	s.env.Bag.Add(diag.Errorf("Failed to save state", "Error saving state: %s\n\n%s", err, s.elsewhere(err, next, data, recorded)))
	return false
}

// DisabledJournals returns the environment variable that enables reading the journals in the store, if the workspace
// has journals that were not read (store.DisabledJournals). Otherwise it returns "".
func (s *State) DisabledJournals(ctx context.Context) (variable string, err error) {
	left, variable, err := store.DisabledJournalsOf(ctx, s.req.Store)
	if !slices.Contains(left, s.req.Name) {
		variable = ""
	}
	return variable, err
}

// Delete deletes the workspace with its state.
func (s *State) Delete(ctx context.Context) error {
	err := s.req.Store.Delete(ctx, s.req.Name)
	if err == nil {
		s.record.notes = journal.Notes{}
	}
	return err
}

// Notes returns the notes about interrupted runs that are kept in journals, because no state contains these facts.
func (s *State) Notes() journal.Notes { return s.record.notes }

// Unanswered returns the calls of interrupted runs that have no answer, including the calls in journals that this
// command does not change.
func (s *State) Unanswered() []journal.Unknown {
	return slices.Concat(s.record.notes.Unknown, s.record.unresolved.Unknown)
}

// Earlier returns the notes about objects that were written with an earlier value of an ephemeral resource, including
// the notes in journals that this command does not change.
func (s *State) Earlier() []journal.EarlierValue {
	return slices.Concat(s.record.notes.Earlier, s.record.unresolved.Earlier)
}

// Note replaces the notes about interrupted runs. They are written to a journal when the command unlocks the state.
func (s *State) Note(n journal.Notes) { s.record.notes = n }

const journalHas = "All changes are in the journal beside the state, and the next command recovers them."

// elsewhere saves a state that could not be written to its store, and returns a text for the user about the place:
// another file, the journal, or only the screen. The parameter why is the error of the write. recorded is true if the
// journal has all changes. A command that changes only the state, such as "state mv", saves nothing: its result in
// another file would be one more copy of the state, with objects that another state may have.
func (s *State) elsewhere(why error, next *state.Snapshot, data []byte, recorded bool) string {
	switch {
	case !s.record.keep:
		return "The command has changed no real object. Correct the cause, and run it again."
	case s.lock.shared() && recorded: // a whole state would undo the changes of others
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
			s.record.keep = false // the journal continues a state that no longer exists, so it need not stay
			if file := s.req.File; file != "" {
				return fmt.Sprintf("The updated state was written to %s. It lacks newer changes in %s. Compare the two files first. To discard the newer changes, replace %s with %s.", path, file, file, path)
			}
			return fmt.Sprintf("The updated state was written to %s. It lacks newer changes in the stored state. Compare them first (lethe state pull). To replace the stored state, which discards its newer changes, run: lethe state push -force %s", path, store.ShellCommand(path))
		}
		if file := s.req.File; file != "" { // for a named state file, the hint "state push" would replace the state of the workspace
			return fmt.Sprintf("The updated state was written to %s. To store it, replace %s with this file.", path, file)
		}
		return fmt.Sprintf("The updated state was written to %s. To store it, run: lethe state push %s", path, store.ShellCommand(path))
	case recorded:
		return journalHas
	}
	var b strings.Builder
	b.WriteString("The updated state could not be written to another file either, and the journal is incomplete. Write down these objects, which differ from the stored state, and import the missing objects:")
	for o, e := range next.Objects() {
		if s.doc.snapshot.Get(o) != e {
			fmt.Fprintf(&b, "\n  %s [id=%s]", o, e.ShownID())
		}
	}
	for o := range s.doc.snapshot.Objects() {
		if next.Get(o) == nil {
			fmt.Fprintf(&b, "\n  %s (is gone)", o)
		}
	}
	return b.String()
}

// Record creates the journal of an apply. From now on, the journal has changes that the stored state lacks. After an
// error, Record reports the error and returns false.
func (s *State) Record() (journal.Journal, bool) {
	if s.lock.replaced() {
		return nil, false
	}
	if err := s.doc.copyApart(&s.record.written); err != nil {
		s.env.Bag.Add(diag.Errorf("Failed to save state", "Error saving state: %s\n\nNothing was changed.", err))
		return nil, false
	}
	err := s.record.begin(s.doc.snapshot)
	if err == nil && s.lock.shared() {
		err = s.record.journal.Found(s.mine())
	} else if err == nil && s.record.copied != nil && s.doc.snapshot.Len() == 0 {
		err = s.record.journal.Found(nil) // another command may replay the copy of the journal before this run has written a state
	}
	if err != nil {
		problem := diag.Errorf("Failed to begin the journal", "The journal of this run could not be created: %s.", err)
		if s.req.Store.Capabilities().Files == nil && (errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)) {
			problem.Detail += "\n\nA run records each change there, so that a crash loses none. Make the directory writable. If it must stay read-only, set TF_DATA_DIR to a writable directory and run \"lethe init\"."
		}
		s.env.Bag.Add(Problem(err, problem))
		return nil, false
	}
	s.record.keep = true
	if s.startInterims(); s.interims != nil {
		return s.interims, true
	}
	return s.record.journal, true
}

// mine returns the objects that the command may change, with their present entries.
func (s *State) mine() []journal.Change {
	var out []journal.Change
	for o, e := range s.doc.snapshot.Objects() {
		if parts.Changes(s.lock.claimed(), o.Instance) {
			out = append(out, journal.Change{Object: o, Entry: e})
		}
	}
	return out
}

// Opening records that a lease is about to be opened. After an error, the caller must not open it.
func (s *State) Opening(o addr.Object, p addr.Provider) (journal.Op, error) {
	if s.record.silent {
		return 0, nil
	}
	if err := s.record.begin(s.doc.snapshot); err != nil {
		return 0, err
	}
	if s.doc.part != nil && !s.record.parts.Swap(true) { // record that the run uses only a part of the state, and has found no objects to change yet
		if err := s.record.journal.Found(nil); err != nil {
			return 0, err
		}
	}
	return s.record.journal.Opening(o, p)
}

// Closed records that a lease was closed, or that no lease was opened.
func (s *State) Closed(op journal.Op) {
	s.record.starting.Lock()
	defer s.record.starting.Unlock()
	if s.record.journal != nil {
		s.record.journal.Closed(op)
	}
}

// End closes the journal of the command and deletes it. The journal stays if it has something that the state lacks:
// changes, calls without an answer, open leases, or content of an earlier run. The next command reports these. If the
// journal is deleted, unsettled notes about interrupted runs are written to a new journal.
func (s *State) End() {
	s.stopInterims()
	s.record.close(s.doc.snapshot, s.req.Store)
}

// EndRound ends the journal of a round: one plan and its apply, in a command that needs several. Open leases and notes
// are copied to the journal of the next round. After an error, EndRound reports the error and returns false.
func (s *State) EndRound() bool {
	s.stopInterims()
	err := s.record.round(s.doc.snapshot, s.req.Store)
	if err != nil {
		s.env.Bag.Add(Problem(err, diag.Errorf("Failed to begin the journal", "The journal of this run could not be created: %s.", err)))
	}
	return err == nil
}

// NoteEarlier replaces the notes about objects that were written with ephemeral values that later rounds (plans and
// applies) of the command need. If a journal is open, the notes are durable when NoteEarlier returns.
func (s *State) NoteEarlier(list []journal.EarlierValue) error {
	s.record.notes.Earlier = list
	if s.record.journal == nil {
		return nil
	}
	return s.record.journal.Earlier(list)
}

// startInterims starts to write interim states (states before the end of the apply), if they are needed. They are not
// needed if the journal is where the state is (in a file beside it, or in the store), or if other commands share the
// state.
func (s *State) startInterims() {
	if s.req.Interim == nil || s.req.Store.Capabilities().Files != nil || s.lock.shared() || s.record.copied != nil {
		return
	}
	base := s.doc.snapshot
	if base.Lineage == "" {
		e := base.Edit()
		e.Head().Lineage = s.record.lineage
		base = e.Done()
	}
	i := &interims{
		Writer: s.record.journal, Interim: *s.req.Interim, env: s.env, name: s.req.Name, st: s.req.Store,
		latest: base, written: s.doc.snapshot, version: s.doc.version,
		work: make(chan struct{}, 1), end: make(chan struct{}), ended: make(chan struct{}),
	}
	s.interims = i
	go i.run()
}

// stopInterims stops the writing of interim states. If an interim state was written, it becomes the known state of the
// workspace.
func (s *State) stopInterims() {
	i := s.interims
	if i == nil {
		return
	}
	s.interims = nil
	close(i.end)
	<-i.ended
	i.resolve()
	if i.wrote {
		s.doc.snapshot, s.doc.version, s.record.written = i.written, i.version, i.digest
		s.writtenOnce()
	}
}
