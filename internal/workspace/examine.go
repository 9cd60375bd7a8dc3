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

// Examination lists all copies and parts of a state: in its store, in its journal, and in files.
type Examination struct {
	State   Copy
	Journal *JournalReport   // nil without a journal
	Stored  []*JournalReport // journals in the store of runs in other directories, or whose directory no longer exists
	Copies  []Copy           // backups and former states, the most recent first
	Older   int              // number of further former states, which were not read
	Files   []string         // journals that were put aside, a state that could not be stored, a transfer record
	Twice   [][]addr.Object  // objects of one type and provider with the same ID: each list may be one real object
}

// Copy is one text of a state.
type Copy struct {
	Where    string // the file, or the name of the former state
	Missing  bool   // it does not exist
	Problem  string // the reason why it cannot be read, as sentences; "" if it can
	Locked   bool   // it cannot be decrypted, because its key is missing
	Time     time.Time
	Snapshot *state.Snapshot // nil if it cannot be read

	data    []byte        // the stored text, which may be encrypted
	version store.Version // only of the state itself
}

// JournalReport is the readable part of a journal.
type JournalReport struct {
	Path     string            // the file or the place in the store
	Run      string            // the run that wrote it; "" if unknown
	Running  bool              // a process uses it: the run is in progress
	Recovery *journal.Recovery // nil if the journal does not belong to the state, see Problem
	Problem  string            // the reason why it does not belong to the state, or cannot be read; "" otherwise
	Leases   []journal.Lease

	other *journal.Header // the header, if the journal continues another state
	err   error           // the error of reading the journal
}

// Examine reads all copies and parts of a state, and changes nothing. It reports damage in the result. If the store
// cannot be read, it adds an error and returns false.
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

// place returns the place of a state for messages.
func place(env *Env, st store.Store, name string) string {
	if f := st.Capabilities().Files; f != nil {
		return relative(env, f.File(name))
	}
	return "workspace " + name
}

// read decodes the text of a state, and records its snapshot or its damage in c.
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

// opened returns the decrypted text of a state, or data itself if the store does not encrypt. It returns an error if
// the text cannot be decrypted.
func opened(ctx context.Context, st store.Store, data []byte) ([]byte, error) {
	if s := sealing(st); s != nil && len(data) > 0 {
		return s.Open(ctx, data)
	}
	return data, nil
}

// A database may have a former state for each write of the last month. Once an undamaged state was found, Examine reads
// at most this number of former states, and stops after this number of bytes.
const (
	mostCopies     = 20
	mostCopiedSize = 256 << 20
)

// copies returns the backup and the former states, without duplicates. older is the number of former states that were
// not read. now is the present state, or nil if it cannot be read.
func copies(ctx context.Context, env *Env, st store.Store, name string, now *state.Snapshot) (out []Copy, older int) {
	size := 0 // the bytes of the undamaged states
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
		past, _ := h.History(ctx, name) // without the list, former states are not examined
		for n, p := range past {
			if n == 0 && now != nil && p.Serial == now.Serial {
				continue // the present state is not a copy
			}
			if size > 0 && (n > mostCopies || size > mostCopiedSize) {
				older = len(past) - n
				break
			}
			data, err := h.Former(ctx, name, p)
			if data == nil && err == nil {
				continue // it was deleted meanwhile
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

// examineJournal reads the journal of a state. It returns nil if the journal does not exist or has no record.
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

// fill records the result of reading a journal in f. r is nil if err is not nil.
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

// continues reports whether the journal continues the state s. It returns false for a journal that continues the
// present state.
func (f *JournalReport) continues(s *state.Snapshot) bool {
	return f != nil && f.other != nil && s.Digest() != (state.Digest{}) && f.other.Continues(s.Digest())
}

func (f *JournalReport) run() string {
	if f == nil {
		return ""
	}
	return f.Run
}

// storedJournals returns the journals in the store of runs that have probably ended; without a lock, this is not
// certain. It omits the run here, whose journal is a local file.
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

// RunNotes are the notes about interrupted runs beside a state.
type RunNotes struct {
	journal.Notes
	Running string // a run in progress whose notes are included; "" without such a run
}

// ReadNotes reads the notes about interrupted runs without a lock: from the journal here, and from journals in the
// store. It reports an error and returns false if a journal cannot be read.
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

// others returns files that may have changes that the state lacks: journals that were renamed because they do not fit,
// and states that could not be stored.
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

// twice returns the objects that have the same ID, type and provider. They may be one real object with two addresses.
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

// Whole reports whether everything can be read. If not, a repair or a decision of the user is needed.
func (x *Examination) Whole() bool {
	whole := func(f *JournalReport) bool { return f.Problem == "" && f.Recovery.Damaged+f.Recovery.Missing == 0 }
	return x.State.Problem == "" && (x.Journal == nil || whole(x.Journal)) && !slices.ContainsFunc(x.Stored, func(f *JournalReport) bool { return !whole(f) })
}

// Fitting returns the copy that should replace an unreadable state: the copy that the journal continues or, if no copy
// does, the copy with the highest serial. A missing state is replaced only by a copy that the journal continues. It
// returns nil if the state can be read, if only its key is missing, or if no copy fits.
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
