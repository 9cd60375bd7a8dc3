package workspace

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/journal"
	"github.com/lethe-iac/lethe/internal/store"
)

// recorder creates and writes the journal of a command.
type recorder struct {
	env     *Env
	seal    journal.Sealing // encrypts the journal; nil without encryption
	path    string          // the path of the journal
	name    string          // the name of the workspace
	lineage string          // the lineage of the state; a new one if the state has none
	keeper  Keeper          // nil: no keeper
	copied  *copied         // sends a copy of the journal to the store; nil without a copy
	silent  bool            // another run may use the journal file, so this run records nothing
	refresh bool            // the operation refreshes the state, so notes that a refresh settles are dropped

	starting   sync.Mutex        // held while the journal is created
	journal    *journal.Writer   // created for the first lease or the first change; nil before
	written    state.Digest      // digest of the state that the command wrote last; its snapshot does not have it
	before     *journal.Writer   // the closed journal of the previous round, if it has open leases; otherwise nil
	earlier    *journal.Recovery // a journal of an earlier run that stays, because this run only reads
	obstacle   obstacle          // the file at path that stays until this run needs a journal
	unresolved journal.Notes     // notes in journals of interrupted runs that stay
	notes      journal.Notes     // notes of interrupted runs, for the next journal
	onDisk     bool              // the journal that contains notes is still in the file
	parts      atomic.Bool       // the journal has a record which says that the run uses only a part of the state
	keep       bool              // the journal has changes that the state lacks
}

// obstacle is a file in the place of a command's journal.
type obstacle uint8

// The obstacles. The zero value means that no such file exists.
const (
	foreignJournal obstacle = iota + 1 // the journal of another state
	emptyJournal                       // the journal of a run that ended before it recorded anything
)

// invoked reports whether the command has begun to invoke an action of a provider.
func (r *recorder) invoked() bool { return r.journal != nil && r.journal.Invoked() }

// newRecorder returns the recorder of a command. It creates no journal.
func newRecorder(env *Env, req Request) recorder {
	policy := req.Operation.Policy()
	return recorder{
		env: env, seal: sealing(req.Store), path: journalFile(env, req.Store, req.Name), name: req.Name, lineage: state.NewLineage(),
		keeper: req.Keeper, silent: policy.ReadOnly && !req.Lock, refresh: policy.Refresh,
	}
}

// begin creates the journal of the command, unless it exists already. A command calls it for the first lease, or at the
// beginning of an apply. If a journal of an earlier run must stay, begin continues that journal.
func (r *recorder) begin(base *state.Snapshot) error {
	r.starting.Lock()
	defer r.starting.Unlock()
	if r.journal != nil {
		return nil
	}
	started := r.env.Now()
	var o journal.Options
	if r.copied != nil {
		o.Copy = r.copied.add
		if !r.copied.shared {
			o.Base = base.Get
		}
	}
	process := 0
	if r.keeper != nil {
		hand := r.presigned()
		o.Opened = func(path string, key []byte) { r.keeper.JournalOpened(path, key, hand, r.earlier != nil) }
		o.Recorded, process = r.keeper.Recorded, r.keeper.ID()
	}
	err := r.makeRoom()
	switch {
	case err != nil:
	case r.earlier != nil:
		o.FS, o.Now = r.env.FS, r.env.Now
		r.journal, err = r.earlier.Continue(r.path, r.run(), o)
	default:
		r.journal, err = r.create(base, process, o)
	}
	r.env.log(started, err, "begin of the journal of run %s", r.run())
	return err
}

// makeRoom removes an empty journal, or renames a journal of another state. The leases of a renamed journal move to the
// notes of the new journal. If another command uses the file, makeRoom does nothing.
func (r *recorder) makeRoom() error {
	if r.obstacle == 0 || journal.Held(r.env.FS, r.path) {
		return nil
	}
	var err error
	if r.obstacle == emptyJournal {
		if begun, err := journal.Recover(r.env.FS, r.path, nil, r.seal); begun != nil || err != nil {
			return nil // another command has begun a journal meanwhile, so create returns an error
		}
		err = journal.Remove(r.env.FS, r.path)
	} else if _, err = journal.Aside(r.env.FS, r.path); err == nil {
		r.notes.Leases, r.unresolved.Leases = r.unresolved.Leases, nil
	}
	if err == nil {
		r.obstacle = 0
	}
	return err
}

// create creates a journal that continues base, with the notes about interrupted runs. keeper is the process ID of the
// keeper, or 0 without a keeper.
func (r *recorder) create(base *state.Snapshot, keeper int, o journal.Options) (*journal.Writer, error) {
	h := journal.About(base, r.lineage, r.run(), r.env.Version)
	h.Keeper = keeper
	if h.Base == (state.Digest{}) && base != nil && base.Serial > 0 {
		h.Base = r.written
	}
	o.Seal, o.FS, o.Now, o.Carry, o.Replace = r.seal, r.env.FS, r.env.Now, r.notes.Unsettled(base, r.refresh), r.onDisk
	o.Before, r.before = r.before, nil
	w, err := journal.Create(r.path, h, o)
	r.onDisk = r.onDisk && err != nil
	return w, err
}

// CopyNotes writes the notes about interrupted runs to the journal of a workspace whose state is now, unless the
// workspace has a journal already.
func CopyNotes(env *Env, st store.Store, name string, now *state.Snapshot, notes journal.Notes) error {
	r := newRecorder(env, Request{Store: st, Name: name})
	if r.notes = notes; notes.Empty() || exists(env, r.path) {
		return nil
	}
	w, err := r.create(now, 0, journal.Options{})
	if err != nil {
		return err
	}
	return w.Close()
}

// presigned returns a signed request with which the keeper (the second process) can upload the journal if this process
// ends. It returns nil if the store supports no such requests, or cannot sign one now.
func (r *recorder) presigned() *store.PresignedRequest {
	if r.copied == nil {
		return nil
	}
	if r.copied.presigner == nil {
		return nil
	}
	to, err := r.copied.presigner.Presign(context.Background(), r.name)
	if err != nil {
		return nil // without a request, the keeper writes its records only to the file
	}
	return to
}

func (r *recorder) run() string {
	return r.name + "-" + r.env.Now().UTC().Format("20060102T150405Z")
}

// close ends the journal of the command, if it has one. If no journal stays, close writes the unsettled notes about
// interrupted runs to a new journal. The parameter now is the state as last read or written. close reports failures as
// warnings.
func (r *recorder) close(now *state.Snapshot, st store.Store) {
	kept := r.earlier != nil || r.silent
	if r.journal != nil {
		kept = r.end(now, st, r.journal.Unsettled())
	}
	if kept {
		return
	}
	var err error
	if left := r.notes.Unsettled(now, r.refresh); !left.Empty() {
		r.notes = left
		var w *journal.Writer
		if w, err = r.create(now, 0, journal.Options{}); err == nil {
			err = w.Close()
		}
		r.notes = journal.Notes{} // the new journal has the notes
	} else if r.onDisk {
		err = journal.Remove(r.env.FS, r.path)
	}
	r.onDisk = false
	if err != nil {
		r.env.Bag.Add(diag.Warningf("Journal not removed", "%s.", err))
	}
}

// round ends the journal of a round: one plan and its apply, in a command that needs several. If leases are open or
// notes are unsettled, it creates the journal of the next round at once, so that these are always recorded. The
// parameter now is the state as last read or written.
func (r *recorder) round(now *state.Snapshot, st store.Store) error {
	if r.journal == nil {
		return nil
	}
	last := r.journal
	if len(last.OpenLeases()) == 0 && r.notes.Unsettled(now, r.refresh).Empty() {
		r.close(now, st)
		return nil
	}
	r.before = last // for the next journal, in which the leases must keep their numbers, because the keeper knows them by number
	if r.end(now, st, last.Unanswered()) {
		return nil
	}
	return r.begin(now)
}

// end closes the journal of the command. It returns true if the file stays for the next command. unsettled is true if
// the journal has calls or leases that the next command must know. The parameter now is the state as last read or
// written.
func (r *recorder) end(now *state.Snapshot, st store.Store, unsettled bool) (stays bool) {
	keep := r.keep || unsettled
	if keep && !r.keep && r.earlier == nil {
		_ = r.journal.End(now.Digest()) // record that the state has the changes in the journal
	}
	r.starting.Lock()
	defer r.starting.Unlock()
	if r.keeper != nil && r.before == nil {
		r.keeper.JournalOpened("", nil, nil, false)
	}
	started := r.env.Now()
	err := r.journal.Close()
	stays = keep || r.earlier != nil
	if r.copied != nil {
		if unsent := r.copied.end(stays); unsent != nil {
			r.env.Bag.Add(diag.Warningf("Journal not in the backend", "The backend did not store the whole journal of this run: %s. The whole journal was only in %s, so the loss of this machine during the run would have lost changes.", unsent, r.path))
		}
	}
	if !stays && r.copied != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		err = errors.Join(err, store.DropJournal(ctx, st, r.name, ""))
		cancel()
	}
	r.onDisk = !stays
	r.env.log(started, err, "end of the journal of workspace %q", r.name)
	if err != nil {
		r.env.Bag.Add(diag.Warningf("Journal not removed", "%s.", err))
	}
	r.journal = nil
	return stays
}

// about records in the journal that a state is about to be written. The argument next is the digest of the state. If
// the command is killed after the write, but before it removes the journal, the next command recognizes that state. If
// the journal accepts no more records, about does nothing: that error was reported already.
func (r *recorder) about(next state.Digest) {
	if r.journal != nil {
		_ = r.journal.End(next)
	}
}

// complete reports whether the journal has all changes that the stored state lacks.
func (r *recorder) complete() bool { return r.keep && r.journal.Err() == nil }
