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
	Journal *JournalReport   // the journal of the state; nil if it does not exist
	Stored  []*JournalReport // the journals in the store, of runs in other directories or in directories that no longer exist
	Copies  []Copy           // backups and former states, the most recent first
	Older   int              // the number of further former states, which were not read
	Files   []string         // the paths of journals that were renamed because they do not fit, of a state that could not be stored, and of a transfer record
	Twice   [][]addr.Object  // objects of one type and provider with the same ID: each list may be one real object
}

// Copy is one stored text of a state: the state itself, a backup or a former state.
type Copy struct {
	Where    string // the file, or the name of the former state
	Missing  bool   // the text does not exist
	Problem  string // the reason why the text cannot be read, as sentences; "" if it can be read
	Locked   bool   // the text cannot be decrypted, because its key is missing
	Time     time.Time
	Snapshot *state.Snapshot // the decoded state; nil if the text cannot be read

	data    []byte        // the stored text, which may be encrypted
	version store.Version // the version in the store; set only for the state itself, not for its copies
}

// JournalReport has the parts of a journal that could be read.
type JournalReport struct {
	Path     string            // the path of the file, or a description of the place in the store
	Run      string            // the ID of the run that wrote the journal; "" if unknown
	Running  bool              // a process uses the journal, so the run is in progress
	Recovery *journal.Recovery // the result of a replay; nil if Problem is set
	Problem  string            // the reason why the journal does not belong to the state or cannot be read; otherwise ""
	Leases   []journal.Lease

	other *journal.Header // the header, if the journal continues another state
	err   error           // the error of reading the journal
}

// Examine reads all copies and journals of a state, and changes nothing. It reports damage in its result. If the store
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

// read decodes the text of a state. It sets c.Snapshot, or c.Problem if the text is damaged.
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

// A database may have a former state for each write of the last month. After the first undamaged state, Examine reads
// at most mostCopies former states, and stops after mostCopiedSize bytes.
const (
	mostCopies     = 20
	mostCopiedSize = 256 << 20
)

// copies returns the backup and the former states, without states that equal another one. older is the number of former
// states that were not read. The parameter now is the present state, or nil if it cannot be read.
func copies(ctx context.Context, env *Env, st store.Store, name string, now *state.Snapshot) (out []Copy, older int) {
	size := 0 // the total size of the undamaged states, in bytes
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
		past, _ := h.History(ctx, name) // if the list cannot be read, former states are not examined
		for n, p := range past {
			if n == 0 && now != nil && p.Serial == now.Serial {
				continue // the list also has the present state, which is not a copy
			}
			if size > 0 && (n > mostCopies || size > mostCopiedSize) {
				older = len(past) - n
				break
			}
			data, err := h.Former(ctx, name, p)
			if data == nil && err == nil {
				continue // the former state was deleted meanwhile
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

// fill records in f the result of reading a journal: the recovery r, or the error err if r is nil.
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

// continues reports whether the journal, which does not belong to the present state, continues the state s. It returns
// false for a journal that continues the present state.
func (f *JournalReport) continues(s *state.Snapshot) bool {
	return f != nil && f.other != nil && s.Digest() != (state.Digest{}) && f.other.Continues(s.Digest())
}

func (f *JournalReport) run() string {
	if f == nil {
		return ""
	}
	return f.Run
}

// storedJournals returns the journals in the store whose runs have probably ended; without a lock, that is not certain.
// It omits the journal of the run whose journal is also a local file. The parameter here is the ID of this run.
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

// RunNotes has the notes about interrupted runs: unsettled facts that no state contains, such as open leases.
type RunNotes struct {
	journal.Notes
	Running string // the ID of a run in progress whose notes are included; "" without such a run
}

// ReadNotes reads the notes about interrupted runs without a lock, from the journal in the directory and from journals
// in the store. If a journal cannot be read, it reports an error and returns false.
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

// others returns the paths of files that may have changes that the state lacks: journals that were renamed because they
// do not fit, and states that could not be stored.
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

// twice returns the lists of objects that have the same ID, type and provider. The objects of a list may be one real
// object with several addresses.
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

// Whole reports whether the state and its journals are undamaged. If not, a repair or a decision of the user is needed.
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
