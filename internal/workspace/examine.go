package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/journal"
	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/store/crypt"
)

// Examination lists everything that exists of a state: in its store, in the journal beside it, and in copies.
type Examination struct {
	State   Copy
	Journal *JournalReport   // nil: no journal
	Stored  []*JournalReport // journals in the store, of runs whose directory is another or gone
	Copies  []Copy           // backups and former states, those first that were written last
	Older   int              // number of further former states, which were not read
	Files   []string
	Twice   [][]addr.Object // objects of one type and provider with the same ID: it may be one real object
}

// Copy is one text of a state.
type Copy struct {
	Where    string // a file, or which former state it is
	Missing  bool   // it does not exist
	Problem  string // why it cannot be read, as sentences; "": it is whole
	Locked   bool   // it may be whole, and its key is missing
	Time     time.Time
	Snapshot *state.Snapshot // nil unless it is whole

	data    []byte        // in its stored form
	version store.Version // of the state alone
}

// JournalReport is a journal as far as it can be read.
type JournalReport struct {
	Path     string            // the file or the place in the store
	Run      string            // the run that wrote it; "" if unknown
	Running  bool              // a process uses it: the run is in progress
	Recovery *journal.Recovery // nil: it has no part in the state, see Problem
	Problem  string            // why it does not belong to the state, or cannot be read; "" otherwise
	Leases   []journal.Lease

	other *journal.Header // if it continues another state
	err   error           // why it cannot be read
}

// Examine reads everything that exists of a state, and changes nothing. Damage is part of the result. It returns false
// if the store could not be asked; that was reported.
func Examine(ctx context.Context, env *Env, st store.Store, name string) (*Examination, bool) {
	x := &Examination{State: Copy{Where: place(env, st, name)}}
	data, version, err := st.Get(ctx, name)
	var damaged *store.DamagedError
	if sealer := st.Capabilities().Sealer; sealer != nil && err != nil && !errors.As(err, &damaged) {
		x.State.Problem, x.State.Locked = err.Error(), true
		data, version, err = sealer.Stored(ctx, name)
	}
	if errors.As(err, &damaged) {
		x.State.Problem, data, version, err = sentence(damaged.Err), damaged.Data, damaged.Version, nil
	}
	if err != nil {
		env.Bag.Add(Problem(err, diag.Errorf("Failed to load state", "Error refreshing state: %s", err)))
		return nil, false
	}
	x.State.Missing, x.State.data, x.State.version = version == "", data, version
	if !x.State.Missing && x.State.Problem == "" {
		x.State.read(data)
		x.State.Locked = crypt.Sealed(data) && json.Valid(data)
	}
	x.Twice = twice(x.State.Snapshot)
	x.Copies, x.Older = copies(ctx, env, st, name, x.State.Snapshot)
	x.Journal = examineJournal(ctx, env, st, name, x.State.Snapshot)
	if x.Stored, err = storedJournals(ctx, st, name, x.State.Snapshot, x.Journal.run()); err != nil {
		env.Bag.Add(diag.Errorf("Failed to read the journal", "%s.", err))
		return nil, false
	}
	x.Files = others(env, st, name)
	if record := recordFile(env, st, name); exists(env, record) {
		x.Files = append(x.Files, relative(env, record))
	}
	return x, true
}

// place is where a state is, as people read it.
func place(env *Env, st store.Store, name string) string {
	if f := st.Capabilities().Files; f != nil {
		return relative(env, f.File(name))
	}
	return "workspace " + name
}

// read reads a copy of a state, and records its serial, or its damage.
func (c *Copy) read(data []byte) {
	var bag diag.Bag
	c.data = data
	if s, ok := state.Read(data, &bag); ok {
		c.Snapshot = s
		return
	}
	for _, d := range bag.List() {
		c.Problem = strings.TrimSpace(c.Problem + " " + d.Summary + ": " + d.Detail)
	}
}

// opened is a text of a state in the clear.
func opened(ctx context.Context, st store.Store, data []byte) ([]byte, error) {
	if s := sealing(st); s != nil && len(data) > 0 {
		return s.Open(ctx, data)
	}
	return data, nil
}

// A database has a former state for each write of a month. Once a whole one is found, no more than this number of
// former states, or this number of bytes, are read.
const (
	mostCopies     = 20
	mostCopiedSize = 256 << 20
)

// copies returns the backup and the former states, each text once, and the number of older states that were not read. now
// is the present state, or nil if it cannot be read.
func copies(ctx context.Context, env *Env, st store.Store, name string, now *state.Snapshot) (out []Copy, older int) {
	size := 0 // of the whole ones
	add := func(c Copy, data []byte, err error) {
		if err == nil {
			data, err = opened(ctx, st, data)
		}
		if err != nil {
			c.Problem = err.Error()
		} else {
			c.read(data)
		}
		if c.Snapshot != nil {
			size += len(data)
		}
		out = append(out, c)
	}
	if b := st.Capabilities().Files; b != nil && b.BackupFile(name) != "" {
		path := b.BackupFile(name)
		if info, err := env.FS.Stat(path); err == nil {
			data, err := disk.Read(env.FS, path)
			add(Copy{Where: relative(env, path), Time: info.ModTime().UTC()}, data, err)
		}
	}
	if h := st.Capabilities().History; h != nil {
		past, _ := h.History(ctx, name) // a list that cannot be read does not help
		for n, p := range past {
			if n == 0 && now != nil && p.Serial == now.Serial {
				continue // it is no copy of itself
			}
			if size > 0 && (n > mostCopies || size > mostCopiedSize) {
				older = len(past) - n
				break
			}
			data, err := h.Former(ctx, name, p)
			if data == nil && err == nil {
				continue // it is not kept any more
			}
			add(Copy{Where: fmt.Sprintf("the former state with the serial %d", p.Serial), Time: p.Time}, data, err)
		}
	}
	slices.SortStableFunc(out, func(a, b Copy) int { return b.Time.Compare(a.Time) })
	seen := map[state.Digest]bool{}
	return slices.DeleteFunc(out, func(c Copy) bool {
		again := c.Snapshot != nil && seen[c.Snapshot.Digest()]
		if c.Snapshot != nil {
			seen[c.Snapshot.Digest()] = true
		}
		return again
	}), older
}

// examineJournal reads the journal of a state; nil if it cannot be read.
func examineJournal(ctx context.Context, env *Env, st store.Store, name string, s *state.Snapshot) *JournalReport {
	path := journalFile(env, st, name)
	if _, err := env.FS.Lstat(path); err != nil {
		return nil
	}
	f := &JournalReport{Path: relative(env, path), Running: journal.Held(env.FS, path)}
	if s == nil {
		s = &state.Snapshot{}
	}
	r, err := journal.RecoverRest(env.FS, path, s, sealing(st), already(ctx, st, name))
	if err == nil && r == nil {
		return nil
	}
	f.fill(r, err)
	return f
}

// fill records the result of reading a journal.
func (f *JournalReport) fill(r *journal.Recovery, err error) {
	var mismatch *journal.MismatchError
	switch {
	case errors.As(err, &mismatch):
		f.Run, f.Problem, f.Leases, f.other = mismatch.Header.Run, mismatch.Reason, mismatch.Leases, &mismatch.Header
	case err != nil:
		f.Problem, f.err = err.Error(), err
	default:
		f.Run, f.Recovery, f.Leases = r.Header.Run, r, r.Leases
	}
}

// continues reports whether the journal belongs to another state, and that state is s.
func (f *JournalReport) continues(s *state.Snapshot) bool {
	return f != nil && f.other != nil && s.Digest() != (state.Digest{}) && f.other.Continues(s.Digest())
}

func (f *JournalReport) run() string {
	if f == nil {
		return ""
	}
	return f.Run
}

// storedJournals returns the journals in the store of runs that have ended, as far as that is known without a lock,
// except the run whose journal is in a local file.
func storedJournals(ctx context.Context, st store.Store, name string, s *state.Snapshot, here string) ([]*JournalReport, error) {
	all, err := store.OrphanedJournals(ctx, st, name)
	if s == nil {
		s = &state.Snapshot{}
	}
	var out []*JournalReport
	for _, j := range all {
		f := &JournalReport{Path: "in the backend"}
		if f.Running = j.Held; j.Held {
			f.Path = "in the backend, of the run that has the lock"
		}
		r, err := journal.Replay(j.Data, s, sealing(st))
		if errors.Is(err, journal.ErrNothing) {
			continue
		}
		if f.fill(r, err); here == "" || f.Run != here {
			out = append(out, f)
		}
	}
	return out, err
}

// RunNotes has the notes about lost runs beside a state.
type RunNotes struct {
	journal.Notes
	Running string // a run in progress, whose notes are included; "" if no run is in progress
}

// ReadNotes reads the notes about lost runs without a lock: beside the state, and in a store that keeps journals.
func ReadNotes(ctx context.Context, env *Env, st store.Store, name string) (RunNotes, bool) {
	s, _, ok := read(ctx, env, Request{Store: st, Name: name}, nil)
	if !ok {
		return RunNotes{}, false
	}
	here := examineJournal(ctx, env, st, name, s)
	stored, err := storedJournals(ctx, st, name, s, here.run())
	var left RunNotes
	for _, f := range append([]*JournalReport{here}, stored...) {
		if f == nil {
			continue
		}
		err = errors.Join(err, f.err)
		left.Leases = append(left.Leases, f.Leases...)
		if f.Running {
			left.Running = f.Run
		}
		if f.Recovery != nil {
			left.Unknown = append(left.Unknown, f.Recovery.Unknown...)
		}
	}
	if err != nil {
		env.Bag.Add(Problem(err, diag.Errorf("Failed to read the journal", "%s.", err)))
		return RunNotes{}, false
	}
	return left, true
}

// others returns files that may have changes that the state lacks: journals that were put aside, and states that could
// not be stored.
func others(env *Env, st store.Store, name string) []string {
	var out []string
	find := func(dir, prefix string) {
		entries, err := env.FS.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return
		}
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), prefix) {
				out = append(out, relative(env, filepath.Join(dir, e.Name())))
			}
		}
	}
	path := journalFile(env, st, name)
	find(filepath.Dir(path), filepath.Base(path)+".aside-")
	for _, dir := range store.EmergencyDirs(env.Dir, env.Getenv)[:1] {
		find(dir, store.EmergencyName)
	}
	return out
}

// twice are the objects that look like one real object with two addresses.
func twice(s *state.Snapshot) [][]addr.Object {
	type real struct {
		provider addr.ProviderConfig
		typ, id  string
	}
	by := map[real][]addr.Object{}
	var order []real
	for o, e := range s.Objects() {
		if id := e.ID(); o.Mode == addr.Managed && id != "" {
			r := real{e.Provider.ProviderConfig, o.Type, id}
			if by[r] = append(by[r], o); len(by[r]) == 2 {
				order = append(order, r)
			}
		}
	}
	var out [][]addr.Object
	for _, r := range order {
		out = append(out, by[r])
	}
	return out
}

// Whole reports whether nothing is wrong that a repair could mend, or a user has to look at.
func (x *Examination) Whole() bool {
	whole := func(f *JournalReport) bool { return f.Problem == "" && f.Recovery.Damaged+f.Recovery.Missing == 0 }
	return x.State.Problem == "" && (x.Journal == nil || whole(x.Journal)) && !slices.ContainsFunc(x.Stored, func(f *JournalReport) bool { return !whole(f) })
}

// Fitting returns the copy that should replace an unreadable state: the copy that its journal continues or, without a
// journal, the copy with the highest serial. A missing state is restored only if a journal needs it. nil: nothing has
// to be replaced, or no copy fits.
func (x *Examination) Fitting() *Copy {
	if x.State.Snapshot != nil || x.State.Locked {
		return nil
	}
	var best *Copy
	for i := range x.Copies {
		c := &x.Copies[i]
		switch {
		case c.Snapshot == nil:
		case x.Journal.continues(c.Snapshot):
			return c
		case !x.State.Missing && (best == nil || c.Snapshot.Serial > best.Snapshot.Serial):
			best = c
		}
	}
	return best
}
