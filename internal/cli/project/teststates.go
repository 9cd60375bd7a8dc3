package project

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/config/testfile"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/disk"
	"github.com/lethe-iac/lethe/internal/state/store"
	"github.com/lethe-iac/lethe/internal/suite"
	"github.com/lethe-iac/lethe/internal/workspace"
)

// What tests leave behind: states that could not be destroyed are in files beside the configuration, states that are to
// stay in the data directory, with a list of them. Others are in backends that runs have.

// WriteErrored writes a state that a test could not destroy, to a file that is not there yet.
func WriteErrored(p *Project, s *state.Snapshot) (string, error) {
	name := "errored_test.tfstate"
	for n := 2; ; n++ {
		if _, err := p.Call.FS().Lstat(p.Call.Path(name)); errors.Is(err, fs.ErrNotExist) {
			break
		}
		name = fmt.Sprintf("errored_test.%d.tfstate", n)
	}
	return name, p.writeState(p.Call.Path(name), s)
}

func (p *Project) writeState(path string, s *state.Snapshot) error {
	data, err := s.Bytes()
	if err == nil {
		err = disk.Replace(p.Call.FS(), path, data)
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
	State string `json:"state_file"` // in the same directory
}

// testStates is the directory of the states that tests leave on purpose, and of the journals of backends in runs.
func (p *Project) testStates() string { return filepath.Join(p.Data, "test") }

func (p *Project) testList() string { return filepath.Join(p.testStates(), "manifest.json") }

func (p *Project) readTestList() (keptTests, error) {
	list := keptTests{Version: "1.0"}
	data, err := p.Call.FS().ReadFile(p.testList())
	if errors.Is(err, fs.ErrNotExist) {
		return list, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &list)
	}
	return list, err
}

func (p *Project) writeTestList(list keptTests) error {
	data, err := json.MarshalIndent(list, "", "  ")
	if err == nil {
		err = disk.Replace(p.Call.FS(), p.testList(), append(data, '\n'))
	}
	return err
}

// KeptTests reads the states that tests left on purpose.
func (p *Project) KeptTests() ([]suite.Kept, bool) {
	list, err := p.readTestList()
	if err != nil {
		p.Bag.Add(diag.Errorf("Failed to read the states of tests", "The file %s cannot be read: %s.", p.Display(p.testList()), disk.Reason(err)))
		return nil, false
	}
	var out []suite.Kept
	for _, k := range list.States {
		path := filepath.Join(p.testStates(), filepath.Base(k.State))
		data, err := p.Call.FS().ReadFile(path)
		if err != nil {
			p.Bag.Add(diag.Errorf("Failed to read the states of tests", "The file %s cannot be read: %s.", p.Display(path), disk.Reason(err)))
			return nil, false
		}
		s, ok := state.Read(data, p.Bag)
		if !ok {
			return nil, false
		}
		out = append(out, suite.Kept{File: k.File, Run: k.Run, State: s, Written: p.Display(path)})
	}
	return out, true
}

// KeepTest keeps a state that is to stay.
func (p *Project) KeepTest(k suite.Kept) (string, error) {
	list, err := p.readTestList()
	if err == nil {
		err = p.Call.FS().MkdirAll(p.testStates(), 0o755)
	}
	if err != nil {
		return "", err
	}
	name := ""
	for n := 1; name == "" || slices.ContainsFunc(list.States, func(k keptTest) bool { return k.State == name }); n++ {
		name = fmt.Sprintf("%d.tfstate", n)
	}
	path := filepath.Join(p.testStates(), name)
	if err = p.writeState(path, k.State); err == nil {
		list.States = append(list.States, keptTest{k.File, k.Run, name})
		err = p.writeTestList(list)
	}
	return p.Display(path), err
}

// ForgetTest removes a state that nothing is left of.
func (p *Project) ForgetTest(k suite.Kept) error {
	list, err := p.readTestList()
	if err != nil {
		return err
	}
	name := filepath.Base(k.Written)
	list.States = slices.DeleteFunc(list.States, func(k keptTest) bool { return k.State == name })
	if err = p.writeTestList(list); err == nil {
		err = p.Call.FS().Remove(filepath.Join(p.testStates(), name))
	}
	return err
}

// OpenForTest opens and locks the state that the backend block of a run says: that of the default workspace, whichever is
// selected.
func (p *Project) OpenForTest(ctx context.Context, r *suite.Run, bag *diag.Bag) (suite.Place, bool) {
	env := Workspaces(p.Call)
	env.Bag, env.Data = bag, filepath.Join(p.testStates(), testfile.Key(r.File.File, r.Run))
	root := *p.Tree.Root.Module
	root.Backend, root.Cloud = r.Backend, nil
	d := p.newStates()
	d.Env, d.Root = env, func() *config.Module { return &root }
	st, ok := d.OpenDeclared(ctx)
	if !ok {
		return nil, false
	}
	if err := env.MakeData(); err != nil {
		bag.Add(diag.Errorf("Failed to open the state of a test", "The directory %s cannot be made: %s.", p.Display(env.Data), disk.Reason(err)))
		return nil, false
	}
	req := p.LockRequest("test")
	req.Lock, req.Store, req.Name = true, st, store.Default
	ws, ok := workspace.Lock(ctx, env, req)
	if !ok {
		return nil, false
	}
	p.Call.AtEnd(ws.Unlock)
	return ws, true
}
