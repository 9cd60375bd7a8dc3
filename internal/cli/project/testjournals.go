package project

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
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/disk"
	"github.com/lethe-iac/lethe/internal/state/journal"
	"github.com/lethe-iac/lethe/internal/state/store/crypt"
	"github.com/lethe-iac/lethe/internal/suite"
)

// Each state that a test has in memory has a journal in the data directory while the test runs (suite.Noted), and beside it
// the state that it begins with, if there is something in that. One that is there and in use by no process is of a test
// that was killed.

// testJournal is one of them.
type testJournal struct {
	*journal.Writer
	t    Tests
	path string
}

// begins is held while a journal is begun, so that each gets a name of its own.
var begins sync.Mutex

// Begin begins one; nil if it cannot, which is told.
func (t Tests) Begin(k suite.Kept) suite.Noted {
	begins.Lock()
	defer begins.Unlock()
	e, ok := t.p.States().Encryption()
	if !ok {
		return nil
	}
	o := journal.Options{FS: t.p.Call.FS(), Now: t.p.Call.Now, Seal: crypt.Around(nil, e.State)}
	err := o.FS.MkdirAll(t.states(), 0o755)
	path := ""
	for n := 1; path == ""; n++ {
		name := filepath.Join(t.states(), fmt.Sprintf("%d-%d.journal", os.Getpid(), n))
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
	t.p.Bag.Add(diag.Warningf("Failed to begin the journal", "What tests make could not be recorded: %s. If they are killed, nothing will say what they left.", disk.Reason(err)))
	return nil
}

// firstState is the file with what a state begins with.
func firstState(journal string) string { return strings.TrimSuffix(journal, ".journal") + ".begin" }

// first writes what a state begins with, and gives it as it will be read.
func (t Tests) first(journal string, s *state.Snapshot) (*state.Snapshot, error) {
	data, err := s.Bytes()
	if err == nil {
		err = t.writeState(firstState(journal), s)
	}
	if err != nil {
		return nil, err
	}
	from, _ := state.Read(data, &diag.Bag{}) // we have made it
	return from, nil
}

// removeJournal removes a journal, and what its state began with.
func (t Tests) removeJournal(path string) error {
	err := journal.Remove(t.p.Call.FS(), path)
	if err == nil {
		_ = t.p.Call.FS().Remove(firstState(path)) // there may be none
	}
	return err
}

// End implements suite.Noted.
func (j *testJournal) End(remove bool) {
	err := j.Close()
	if remove {
		err = errors.Join(err, j.t.removeJournal(j.path))
		_ = os.Remove(j.t.states()) // unless there is something in it
	}
	if err != nil {
		j.t.p.Bag.Add(diag.Warningf("Journal not removed", "%s.", err))
	}
}

// Kept reads the states that tests left, those that were killed too.
func (t Tests) Kept() ([]suite.Kept, bool) {
	if !t.lost() {
		return nil, false
	}
	list, err := t.readList()
	if err != nil {
		t.p.Bag.Add(diag.Errorf("Failed to read the states of tests", "The file %s cannot be read: %s.", t.p.Display(t.listFile()), disk.Reason(err)))
		return nil, false
	}
	var out []suite.Kept
	for _, k := range list.States {
		path := t.path(k)
		if _, err := t.p.Call.FS().Lstat(path); k.Failed && errors.Is(err, fs.ErrNotExist) {
			continue // the user has seen to it
		}
		s, ok := t.readState(path)
		if !ok {
			return nil, false
		}
		out = append(out, suite.Kept{File: k.File, Run: k.Run, State: s, Written: t.p.Display(path), Failed: k.Failed})
	}
	return out, true
}

// lost keeps what tests have made that were killed, and names what else they left, in one warning: of several alike one is
// shown. It reports false if that cannot be done.
func (t Tests) lost() bool {
	var texts []string
	defer func() {
		if len(texts) > 0 {
			t.p.Bag.Add(diag.Warningf("Earlier tests left something", "%s", strings.Join(texts, "\n\n")))
		}
	}()
	fsys := t.p.Call.FS()
	left, _ := filepath.Glob(filepath.Join(t.states(), "*.journal"))
	for _, path := range left {
		if journal.Held(fsys, path) {
			continue // of a test that goes on
		}
		e, ok := t.p.States().Encryption()
		if !ok {
			return false
		}
		var from *state.Snapshot
		if _, err := fsys.Lstat(firstState(path)); err == nil {
			if from, ok = t.readState(firstState(path)); !ok {
				return false
			}
		}
		r, err := journal.Recover(fsys, path, from, crypt.Around(nil, e.State))
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
			t.p.Bag.Add(diag.Errorf("Failed to read the journal", "%s.", err))
			return false
		}
	}
	return true
}

// report keeps what a killed test has made, and names it and what else that left, if there is something.
func (t Tests) report(r *journal.Recovery) (string, error) {
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
	list("Nobody knows whether these calls were carried out:", len(r.Unknown), func(i int) string { return r.Unknown[i].String() })
	list("As far as is known, these leases were not closed:", len(r.Leases), func(i int) string { return r.Leases[i].String() })
	if written != "" {
		text += fmt.Sprintf("\nThe state of what exists is in %s. To destroy that, run: lethe test cleanup -repair\n", written)
	}
	if text != "" {
		text = fmt.Sprintf("The test %s was killed or crashed.\n%s", r.Header.Run, text[:len(text)-1])
	}
	return text, nil
}
