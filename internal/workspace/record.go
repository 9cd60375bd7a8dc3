package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/disk"
	"github.com/lethe-iac/lethe/internal/state/journal"
	"github.com/lethe-iac/lethe/internal/state/parts"
	"github.com/lethe-iac/lethe/internal/state/store"
	"github.com/lethe-iac/lethe/internal/state/store/crypt"
)

// begin starts the journal, unless it has begun: with the first lease, or with an apply. Where there
// is one that this run does not take in, it goes on in that.
func (r *recorder) begin(base *state.Snapshot) error {
	r.starting.Lock()
	defer r.starting.Unlock()
	if r.journal != nil {
		return nil
	}
	begun := r.env.Now()
	var o journal.Options
	if r.copied != nil {
		o.Copy = r.copied.add
		if !r.shared {
			o.Base = base.Get
		}
	}
	process := 0
	if r.keeper != nil {
		hand := r.hand()
		o.Kept = func(path string, key []byte) { r.keeper.Begun(path, key, hand, r.left != nil) }
		o.Recorded, process = r.keeper.Recorded, r.keeper.ID()
	}
	var err error
	if r.left != nil {
		o.FS, o.Now = r.env.FS, r.env.Now
		r.journal, err = r.left.Continue(r.path, r.run(), o)
	} else {
		r.journal, err = r.create(base, process, o)
	}
	r.env.log(begun, err, "begin of the journal of run %s", r.run())
	return err
}

// create makes a journal about a state, with what is noted of lost runs.
func (r *recorder) create(base *state.Snapshot, keeper int, o journal.Options) (*journal.Writer, error) {
	h := journal.About(base, r.lineage, r.run(), r.env.Version)
	h.Keeper = keeper
	o.Seal, o.FS, o.Now, o.Carry, o.Over = r.seal, r.env.FS, r.env.Now, r.notes.Unsettled(base, r.refreshes), r.stands
	w, err := journal.Create(r.path, h, o)
	r.stands = r.stands && err != nil
	return w, err
}

// hand is how the keeper hands the journal to the store should this process be lost; nil: not at all.
func (r *recorder) hand() *store.Handed {
	if r.copied == nil {
		return nil
	}
	h, ok := r.copied.st.(store.Hander)
	if !ok {
		return nil
	}
	to, err := h.Hand(context.Background(), r.name)
	if err != nil {
		return nil // what the keeper records is then in the file alone
	}
	return to
}

func (r *recorder) run() string {
	return r.name + "-" + r.env.Now().UTC().Format("20060102T150405Z")
}

// Record begins the journal of an apply: from now on it has what the state has not.
func (s *State) Record() (journal.Journal, bool) {
	err := s.record.begin(s.snapshot)
	if err == nil && s.shared != nil {
		err = s.record.journal.Found(s.mine())
	} else if err == nil && s.record.copied != nil && s.snapshot.Len() == 0 {
		err = s.record.journal.Found(nil) // another command may take in the copy before this file is
	}
	if err != nil {
		s.env.Bag.Add(Problem(err, diag.Errorf("Failed to begin the journal", "The journal of this run could not be created: %s.", err)))
		return nil, false
	}
	s.record.keep = true
	if s.startInterims(); s.interims != nil {
		return s.interims, true
	}
	return s.record.journal, true
}

// mine are the objects that the command may change, as they are.
func (s *State) mine() []journal.Change {
	var out []journal.Change
	for o, e := range s.snapshot.Objects() {
		if parts.Changes(s.shared.claimed, o.Instance) {
			out = append(out, journal.Change{Object: o, Entry: e})
		}
	}
	return out
}

// Opening implements journal.Leases.
func (s *State) Opening(o addr.Object, p addr.Provider) (journal.Op, error) {
	if s.record.silent {
		return 0, nil
	}
	if err := s.record.begin(s.snapshot); err != nil {
		return 0, err
	}
	if s.part != nil && !s.record.parts.Swap(true) { // the journal is about a part: by objects, of which there are none yet
		if err := s.record.journal.Found(nil); err != nil {
			return 0, err
		}
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
// reports these. What is noted of lost runs is in a journal of its own otherwise.
func (s *State) End() {
	s.stopInterims()
	r := &s.record
	kept := r.left != nil || r.silent
	if r.journal != nil {
		kept = s.endJournal()
	}
	if kept {
		return
	}
	var err error
	if left := r.notes.Unsettled(s.snapshot, r.refreshes); !left.Empty() {
		r.notes = left
		var w *journal.Writer
		if w, err = r.create(s.snapshot, 0, journal.Options{}); err == nil {
			err = w.Close()
		}
		r.notes = journal.Notes{} // they are written
	} else if r.stands {
		err = journal.Remove(r.env.FS, r.path)
	}
	r.stands = false
	if err != nil {
		r.env.Bag.Add(diag.Warningf("Journal not removed", "%s.", err))
	}
}

// endJournal closes the journal of the command, and reports whether it stays for the next one.
func (s *State) endJournal() (stays bool) {
	r := &s.record
	keep := r.keep || r.journal.Unsettled()
	if keep && !r.keep && r.left == nil {
		_ = r.journal.End(s.snapshot.Digest()) // the changes in it are in the state
	}
	r.starting.Lock()
	defer r.starting.Unlock()
	if r.keeper != nil {
		r.keeper.Begun("", nil, nil, false)
	}
	begun := r.env.Now()
	err := r.journal.Close()
	stays = keep || r.left != nil
	if r.copied != nil {
		if unsent := r.copied.end(stays); unsent != nil {
			r.env.Bag.Add(diag.Warningf("Journal not in the backend", "The backend did not take all of the journal of this run: %s. The whole journal was only in %s: had this machine been lost before the state was written, what was done would have been lost with it.", unsent, r.path))
		}
	}
	if !stays && r.copied != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		err = errors.Join(err, store.DropJournal(ctx, s.req.Store, r.name, ""))
		cancel()
	}
	r.stands = !stays
	r.env.log(begun, err, "end of the journal of workspace %q", r.name)
	if err != nil {
		r.env.Bag.Add(diag.Warningf("Journal not removed", "%s.", err))
	}
	r.journal = nil
	return stays
}

// read reads what the command needs of the state.
func (s *State) read(ctx context.Context) (*state.Snapshot, store.Version, bool) {
	return read(ctx, s.env, s.req, s.part)
}

func read(ctx context.Context, env *Env, req Request, part []string) (*state.Snapshot, store.Version, bool) {
	begun := env.Now()
	var data []byte
	var version store.Version
	var err error
	if p, ok := store.PartsOf(req.Store); ok && part != nil {
		data, version, err = p.GetPart(ctx, req.Name, part)
	} else {
		data, version, err = req.Store.Get(ctx, req.Name)
	}
	env.log(begun, err, "read of the state of workspace %q, %d bytes", req.Name, len(data))
	damaged := new(store.DamagedError)
	if errors.As(err, &damaged) && req.Unread {
		return &state.Snapshot{}, damaged.Version, giveUp(ctx, env, req, damaged.Data, sentence(err))
	}
	if err != nil {
		problem := diag.Errorf("Failed to load state", "Error refreshing state: %s", err)
		if errors.As(err, &damaged) {
			problem.Detail += ". To see what is left of it, run: lethe state check"
		}
		env.Bag.Add(Problem(err, problem))
		return nil, "", false
	}
	if version == "" || req.Replaces && len(data) == 0 {
		return &state.Snapshot{}, version, true
	}
	var bag diag.Bag
	s, ok := state.Read(data, &bag)
	if !ok && req.Unread {
		return &state.Snapshot{}, version, giveUp(ctx, env, req, data, bag.List()[0].Summary+".")
	}
	env.Bag.Take(&bag)
	return s, version, ok
}

// sentence is an error of a store as a sentence.
func sentence(err error) string { return strings.TrimSuffix(store.Sentence(err), ".") + "." }

// giveUp writes down what there is of a state that cannot be read and is about to be replaced.
func giveUp(ctx context.Context, env *Env, req Request, data []byte, why string) bool {
	kept := "Nothing of it could be kept."
	if len(data) > 0 {
		path := unreadable(env, req)
		if err := keep(ctx, env, req, path, data); err != nil {
			env.Bag.Add(diag.Errorf("Failed to put the state aside", "The state that is there cannot be read: %s Before it is replaced, what is left of it is written to a file, %s, and that failed: %s. Nothing was changed.", why, relative(env, path), disk.Reason(err)))
			return false
		}
		kept = "What is left of it is kept as " + relative(env, path) + "."
	}
	env.Bag.Add(diag.Warningf("Unreadable state replaced", "The state that was there cannot be read: %s %s", why, kept))
	return true
}

// unreadable is a name that no file has, beside the journal, for a state that cannot be read.
func unreadable(env *Env, req Request) string {
	path := journalFile(env, req.Store, req.Name)
	path = strings.TrimSuffix(path, filepath.Ext(path)) + ".unreadable"
	for n, name := 1, path; ; n++ {
		if _, err := env.FS.Lstat(name); err != nil {
			return name
		}
		name = fmt.Sprintf("%s-%d", path, n)
	}
}

// keep writes the text of a state to a file, encrypted where the state is.
func keep(ctx context.Context, env *Env, req Request, path string, data []byte) error {
	var err error
	if seal := sealing(req.Store); seal != nil && !crypt.Sealed(data) { // what could not be decrypted is
		data, err = seal.Seal(ctx, data)
	}
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o755)
	}
	if err != nil {
		return err
	}
	return disk.Replace(env.FS, path, data)
}

// already says how much of the journal of a run in this directory others have taken in, from the store's copy of it.
func already(ctx context.Context, st store.Store, name string) journal.Already {
	return func(h journal.Header) (uint32, error) { return store.RememberedJournal(ctx, st, name, h.Name()) }
}

// Read reads a state without a lock; nil where there is none. What runs have recorded beside it, those that were killed
// and those that go on, belongs to it, here and in a store that keeps journals. Who may not read the journals there has
// the state as it was written last.
func Read(ctx context.Context, env *Env, st store.Store, name string) (*state.Snapshot, bool) {
	s, v, ok := read(ctx, env, Request{Store: st, Name: name}, nil)
	if !ok {
		return nil, false
	}
	found := v != ""
	var here runs
	if r, err := journal.RecoverRest(env.FS, journalFile(env, st, name), s, sealing(st), already(ctx, st, name)); err == nil && r != nil {
		s, found, here = r.Snapshot, true, runs{r.Header}
	}
	stored, _ := store.LostJournals(ctx, st, name)
	for _, j := range stored {
		if r, err := journal.Replay(j.Data, s, sealing(st)); err == nil && !here.same(r.Header) {
			s, found = r.Snapshot, true
		}
	}
	if !found {
		return nil, true
	}
	return s, true
}

// startInterims begins to write interim states, if the state needs them: a journal that lies with the state, in a file
// beside it or in the store, makes them superfluous.
func (s *State) startInterims() {
	_, file := store.As[store.Filer](s.req.Store)
	if s.req.Interim == nil || file || s.shared != nil || s.record.copied != nil {
		return
	}
	base := s.snapshot
	if base.Lineage == "" {
		e := base.Edit()
		e.Head().Lineage = s.record.lineage
		base = e.Done()
	}
	i := &interims{
		Writer: s.record.journal, Interim: *s.req.Interim, env: s.env, name: s.req.Name, st: s.req.Store,
		latest: base, written: s.snapshot, version: s.version,
		work: make(chan struct{}, 1), end: make(chan struct{}), over: make(chan struct{}),
	}
	s.interims = i
	go i.run()
}

// stopInterims ends the writing of interim states. The state is then the last of them.
func (s *State) stopInterims() {
	i := s.interims
	if i == nil {
		return
	}
	s.interims = nil
	close(i.end)
	<-i.over
	i.resolve()
	if i.wrote {
		s.snapshot, s.version = i.written, i.version
		s.writtenOnce()
	}
}
