package project

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/backend"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/config/testfile"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/disk"
	"github.com/lethe-iac/lethe/internal/state/store"
	"github.com/lethe-iac/lethe/internal/state/store/crypt"
	"github.com/lethe-iac/lethe/internal/suite"
	"github.com/lethe-iac/lethe/internal/workspace"
)

// What tests leave behind: states that could not be destroyed are in files beside the configuration, states that are to
// stay in the data directory, with a list of all of them. Others are in backends that runs have.

// writeState writes a state, encrypted where the configuration encrypts states.
func (t Tests) writeState(path string, s *state.Snapshot) error {
	data, err := s.Bytes()
	if e, ok := t.p.States().Encryption(); err == nil && !ok {
		err = errors.New("the configuration does not say how it is to be encrypted")
	} else if err == nil {
		data, err = e.State.Seal(context.Background(), data)
	}
	if err == nil {
		err = disk.Replace(t.p.Call.FS(), path, data)
	}
	return err
}

// keptTests is the list of states that tests left on purpose.
type keptTests struct {
	Version string     `json:"format_version"`
	States  []keptTest `json:"states"`
}

type keptTest struct {
	File  string `json:"test_file"`
	Run   string `json:"test_run"`
	State string `json:"state_file"` // in the same directory; what could not be destroyed, in that of the configuration

	Failed bool `json:"failed,omitempty"` // it could not be destroyed
}

// path is the file with the state.
func (t Tests) path(k keptTest) string {
	if k.Failed {
		return t.p.Call.Path(filepath.Base(k.State))
	}
	return filepath.Join(t.states(), filepath.Base(k.State))
}

// states is the directory of the states that tests leave on purpose, and of the journals of backends in runs.
func (t Tests) states() string { return filepath.Join(t.p.Data, "test") }

func (t Tests) listFile() string { return filepath.Join(t.states(), "manifest.json") }

func (t Tests) readList() (keptTests, error) {
	list := keptTests{Version: "1.0"}
	data, err := t.p.Call.FS().ReadFile(t.listFile())
	if errors.Is(err, fs.ErrNotExist) {
		return list, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &list)
	}
	return list, err
}

func (t Tests) writeList(list keptTests) error {
	data, err := json.MarshalIndent(list, "", "  ")
	if err == nil {
		err = disk.Replace(t.p.Call.FS(), t.listFile(), append(data, '\n'))
	}
	return err
}

// readState reads what writeState wrote.
func (t Tests) readState(path string) (*state.Snapshot, bool) {
	e, ok := t.p.States().Encryption()
	if !ok {
		return nil, false
	}
	data, err := t.p.Call.FS().ReadFile(path)
	if err == nil {
		data, _, err = e.State.Open(context.Background(), data)
	}
	if d, is := crypt.Diagnostic(err); is {
		t.p.Bag.Add(d)
		return nil, false
	}
	if err != nil {
		t.p.Bag.Add(diag.Errorf("Failed to read the states of tests", "The file %s cannot be read: %s.", t.p.Display(path), disk.Reason(err)))
		return nil, false
	}
	var bag diag.Bag
	s, ok := state.Read(data, &bag)
	for _, d := range bag.List() {
		d.Detail += fmt.Sprintf(" The file is %s.", t.p.Display(path))
		t.p.Bag.Add(d)
	}
	return s, ok
}

// Keep keeps a state that is to stay, or that a test could not destroy, in the file where it is, or in one that is not there
// yet.
func (t Tests) Keep(k suite.Kept) (string, error) {
	list, unread := t.readList()
	made := t.p.Call.FS().MkdirAll(t.states(), 0o755)
	entry := keptTest{File: k.File, Run: k.Run, State: filepath.Base(k.Written), Failed: k.Failed}
	for n := 1; k.Written == ""; n++ {
		if entry.State = fmt.Sprintf("%d.tfstate", n); k.Failed {
			entry.State = strings.Replace("errored_test."+entry.State, ".1.", ".", 1)
		}
		if _, err := t.p.Call.FS().Lstat(t.path(entry)); err != nil {
			break
		}
	}
	path := t.path(entry)
	if err := t.writeState(path, k.State); err != nil {
		return "", err
	}
	same := func(e keptTest) bool { return t.path(e) == path }
	if i := slices.IndexFunc(list.States, same); i >= 0 && k.Written != "" {
		list.States[i] = entry
	} else {
		list.States = append(slices.DeleteFunc(list.States, same), entry)
	}
	err := cmp.Or(unread, made)
	if err == nil {
		err = t.writeList(list)
	}
	if k.Failed {
		err = nil // the state is what counts: what is not in the list is destroyed by its file
	}
	return t.p.Display(path), err
}

// Forget removes a state that nothing is left of.
func (t Tests) Forget(k suite.Kept) error {
	list, err := t.readList()
	if err != nil {
		return err
	}
	entry := keptTest{State: filepath.Base(k.Written), Failed: k.Failed}
	path := t.path(entry)
	list.States = slices.DeleteFunc(list.States, func(e keptTest) bool { return t.path(e) == path })
	if err = t.writeList(list); err == nil {
		err = t.p.Call.FS().Remove(path)
	}
	return err
}

// CheckBackends reports whether the backend blocks of runs can be understood.
func (t Tests) CheckBackends(files []*testfile.File) bool {
	ok := true
	for _, f := range files {
		for _, r := range f.Runs {
			if r.Backend != nil {
				ok = t.statesOf(f, r, t.p.Bag).CheckDeclared() && ok
			}
		}
	}
	return ok
}

// statesOf is where the states of a run are that has a backend block.
func (t Tests) statesOf(f *testfile.File, r *testfile.Run, bag *diag.Bag) *backend.Directory {
	root := *t.p.Tree.Root.Module
	root.Backend, root.Cloud = r.Backend, nil
	d := t.p.newStates()
	d.Env, d.Root = Workspaces(t.p.Call), func() *config.Module { return &root }
	d.Env.Bag, d.Env.Data = bag, filepath.Join(t.states(), testfile.Key(f, r))
	return d
}

// Open opens and locks the state that the backend block of a run says: that of the default workspace, whichever is
// selected.
func (t Tests) Open(ctx context.Context, r *suite.Run, bag *diag.Bag) (suite.Place, bool) {
	d := t.statesOf(r.File.File, r.Run, bag)
	env := d.Env
	st, ok := d.OpenDeclared(ctx)
	if !ok {
		return nil, false
	}
	if err := env.MakeData(); err != nil {
		bag.Add(diag.Errorf("Failed to open the state of a test", "The directory %s cannot be made: %s.", t.p.Display(env.Data), disk.Reason(err)))
		return nil, false
	}
	req := t.p.LockRequest("test")
	req.Lock, req.Store, req.Name = true, st, store.Default
	ws, ok := workspace.Lock(ctx, env, req)
	if !ok {
		return nil, false
	}
	t.p.Call.AtEnd(ws.Unlock)
	return ws, true
}
