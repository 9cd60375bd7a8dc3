package teststates

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/journal"
	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/store/crypt"
	"github.com/lethe-iac/lethe/internal/suite"
)

// Each state that a test has in memory has a journal in the data directory while the test runs. If the run uses outputs
// of earlier runs, the initial state has these outputs, and is in a file beside the journal. A journal that no process
// uses belongs to a test that was killed.

// testJournal is the journal of one state of a running test. It implements suite.Noted.
type testJournal struct {
	*journal.Writer
	t    *Leftovers
	path string
}

// begins is locked during Begin, which chooses a name that no file has, and creates the journal. Without the lock, two
// calls could choose the same name.
var begins sync.Mutex

// Begin starts the journal of a state that a test has in memory. If the files cannot be written, it adds a warning and
// returns nil. It also returns nil if the encryption settings are invalid, which Encryption reports.
func (t *Leftovers) Begin(k suite.Kept) suite.Noted {
	begins.Lock()
	defer begins.Unlock()
	e, ok := t.states.Backend.Encryption()
	if !ok {
		return nil
	}
	o := journal.Options{FS: t.dir.Call.FS(), Now: t.dir.Call.Now, Seal: crypt.Around(&store.Memory{}, e.State)}
	err := o.FS.MkdirAll(t.Dir(), 0o755)
	path := ""
	for n := 1; path == ""; n++ {
		name := filepath.Join(t.Dir(), fmt.Sprintf("%d-%d.journal", os.Getpid(), n))
		if _, there := o.FS.Lstat(name); there != nil {
			path = name
		}
	}
	var from *state.Snapshot
	if err == nil && len(k.State.Outputs) > 0 {
		from, err = t.first(path, k.State)
	}
	var w *journal.Writer
	if err == nil {
		w, err = journal.Create(path, journal.About(from, state.NewLineage(), k.File+"/"+k.Run, base.Version), o)
	}
	if err == nil {
		return &testJournal{w, t, path}
	}
	t.dir.Call.Bag.Add(diag.Warningf("Failed to begin the journal", "The journal of the tests cannot be written: %s. If a test is killed, its remaining objects will not be known.", disk.Reason(err)))
	return nil
}

// firstState returns the file with the initial state of a journal.
func firstState(journal string) string { return strings.TrimSuffix(journal, ".journal") + ".begin" }

// first writes the initial state of a journal to a file, and returns the state that a reader of the file will get.
func (t *Leftovers) first(journal string, s *state.Snapshot) (*state.Snapshot, error) {
	data, err := s.Bytes()
	if err == nil {
		err = t.writeState(firstState(journal), s)
	}
	if err != nil {
		return nil, err
	}
	from, _ := state.Read(data, &diag.Bag{}) // data comes from Bytes, so it is valid
	return from, nil
}

// removeJournal removes a journal and its initial state.
func (t *Leftovers) removeJournal(path string) error {
	err := journal.Remove(t.dir.Call.FS(), path)
	if err == nil {
		_ = t.dir.Call.FS().Remove(firstState(path)) // the file may not exist
	}
	return err
}

// End closes the journal. If remove is true, it deletes the files of the journal. If a step fails, it adds a warning.
// It implements suite.Noted.
func (j *testJournal) End(remove bool) {
	err := j.Close()
	if remove {
		err = errors.Join(err, j.t.removeJournal(j.path))
		_ = os.Remove(j.t.Dir()) // fails if the directory has files
	}
	if err != nil {
		j.t.dir.Call.Bag.Add(diag.Warningf("Journal not removed", "%s.", err))
	}
}

// Kept returns the states that tests left. It first recovers the states of killed tests from their journals. It omits a
// state of objects that could not be destroyed (Failed) if the user has removed the file of this state. It returns
// false after an error.
func (t *Leftovers) Kept() ([]suite.Kept, bool) {
	if !t.recover() {
		return nil, false
	}
	list, err := t.readList()
	if err != nil {
		t.dir.Call.Bag.Add(diag.Errorf("Failed to read the states of tests", "The file %s cannot be read: %s.", t.dir.Display(t.listFile()), disk.Reason(err)))
		return nil, false
	}
	var out []suite.Kept
	for _, k := range list.States {
		path := t.path(k)
		if _, err := t.dir.Call.FS().Lstat(path); k.Failed && errors.Is(err, fs.ErrNotExist) {
			continue // the user has removed the file
		}
		s, ok := t.readState(path)
		if !ok {
			return nil, false
		}
		out = append(out, suite.Kept{File: k.File, Run: k.Run, State: s, Written: t.dir.Display(path), Failed: k.Failed})
	}
	return out, true
}

// recover recovers the states of killed tests from their journals. It lists everything that killed tests left in a
// single warning, because commands show several similar warnings as one unless -consolidate-warnings is false. It
// returns false if it could not recover a state.
func (t *Leftovers) recover() bool {
	var texts []string
	defer func() {
		if len(texts) > 0 {
			t.dir.Call.Bag.Add(diag.Warningf("Earlier tests left something", "%s", strings.Join(texts, "\n\n")))
		}
	}()
	fsys := t.dir.Call.FS()
	left, _ := filepath.Glob(filepath.Join(t.Dir(), "*.journal"))
	for _, path := range left {
		if journal.Held(fsys, path) {
			continue // a test that still runs uses the journal
		}
		e, ok := t.states.Backend.Encryption()
		if !ok {
			return false
		}
		var from *state.Snapshot
		if _, err := fsys.Lstat(firstState(path)); err == nil {
			if from, ok = t.readState(firstState(path)); !ok {
				return false
			}
		}
		r, err := journal.Recover(fsys, path, from, crypt.Around(&store.Memory{}, e.State))
		if err == nil && r != nil {
			var text string
			if text, err = t.report(r); text != "" {
				texts = append(texts, text)
			}
		}
		if err == nil {
			err = t.removeJournal(path)
		}
		if err != nil {
			t.dir.Call.Bag.Add(diag.Errorf("Failed to read the journal", "%s.", err))
			return false
		}
	}
	return true
}

// report stores the objects in r, the recovered journal of a killed test, and returns a text about everything that the
// test left, or "" if it left nothing.
func (t *Leftovers) report(r *journal.Recovery) (string, error) {
	text := ""
	list := func(head string, n int, line func(i int) string) {
		for i := range n {
			if i == 0 {
				text += "\n" + head + "\n"
			}
			text += "  " + line(i) + "\n"
		}
	}
	var made []addr.Object
	for o := range r.Snapshot.Objects() {
		if o.Mode == addr.Managed {
			made = append(made, o)
		}
	}
	written := ""
	if len(made) > 0 {
		var err error
		dir, name := path.Split(r.Header.Run)
		if written, err = t.Keep(suite.Kept{File: path.Clean(dir), Run: name, State: r.Snapshot, Failed: true}); err != nil {
			return "", err
		}
	}
	list("These objects exist:", len(made), func(i int) string { return made[i].String() })
	list("The outcome of these provider calls is unknown:", len(r.Unknown), func(i int) string { return r.Unknown[i].String() })
	list("As far as Lethe knows, these leases were not closed:", len(r.Leases), func(i int) string { return r.Leases[i].String() })
	if written != "" {
		text += fmt.Sprintf("\nThe state of the remaining objects is in %s. To destroy them, run: lethe test cleanup -repair\n", written)
	}
	if text != "" {
		text = fmt.Sprintf("The test %s was killed or crashed.\n%s", r.Header.Run, text[:len(text)-1])
	}
	return text, nil
}
