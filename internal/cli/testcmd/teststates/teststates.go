// Package teststates keeps the states of tests. It stores the states that tests leave in files. Each running test has a
// journal, a file that records its changes, from which the next command recovers the state if the test is killed.
//
//	journals.go    journals of running tests, and their recovery
//	teststates.go  Leftovers: files with states, and the list of them
package teststates

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

	"github.com/lethe-iac/lethe/internal/cli/states"
	"github.com/lethe-iac/lethe/internal/cli/workdir"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/store/crypt"
	"github.com/lethe-iac/lethe/internal/suite"
)

// Leftovers are the states that the tests of a working directory leave. If a test could not destroy its objects, their
// state is in a file beside the configuration. If a test keeps objects on purpose, their state is in the data
// directory. A list in the data directory names all these states.
type Leftovers struct {
	dir    *workdir.Directory
	states *states.States // has the encryption settings of the configuration
}

// New returns the states that tests leave in a working directory.
func New(d *workdir.Directory, s *states.States) *Leftovers { return &Leftovers{dir: d, states: s} }

// writeState writes a state, encrypted if the configuration encrypts states.
func (t *Leftovers) writeState(path string, s *state.Snapshot) error {
	data, err := s.Bytes()
	if e, ok := t.states.Backend.Encryption(); err == nil && !ok {
		err = errors.New("the configuration does not configure its encryption")
	} else if err == nil {
		data, err = e.State.Seal(context.Background(), data)
	}
	if err == nil {
		err = disk.Replace(t.dir.Call.FS(), path, data)
	}
	return err
}

// manifest lists the states that tests left.
type manifest struct {
	Version string          `json:"format_version"`
	States  []manifestEntry `json:"states"`
}

type manifestEntry struct {
	File   string `json:"test_file"`
	Run    string `json:"test_run"`
	State  string `json:"state_file"`       // a file in the directory of the manifest or, if Failed, of the configuration
	Failed bool   `json:"failed,omitempty"` // the objects of the state could not be destroyed
}

// path returns the path of the file with the state of an entry.
func (t *Leftovers) path(k manifestEntry) string {
	if k.Failed {
		return t.dir.Call.Path(filepath.Base(k.State))
	}
	return filepath.Join(t.Dir(), filepath.Base(k.State))
}

// Dir returns the directory of the states that tests keep on purpose, of the list of states, and of the journals of
// tests.
func (t *Leftovers) Dir() string { return filepath.Join(t.dir.Data, "test") }

func (t *Leftovers) listFile() string { return filepath.Join(t.Dir(), "manifest.json") }

func (t *Leftovers) readList() (manifest, error) {
	list := manifest{Version: "1.0"}
	data, err := t.dir.Call.FS().ReadFile(t.listFile())
	if errors.Is(err, fs.ErrNotExist) {
		return list, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &list)
	}
	return list, err
}

func (t *Leftovers) writeList(list manifest) error {
	data, err := json.MarshalIndent(list, "", "  ")
	if err == nil {
		err = disk.Replace(t.dir.Call.FS(), t.listFile(), append(data, '\n'))
	}
	return err
}

// readState reads a state that writeState wrote. It reports an error and returns false if the file cannot be read,
// decrypted or decoded.
func (t *Leftovers) readState(path string) (*state.Snapshot, bool) {
	e, ok := t.states.Backend.Encryption()
	if !ok {
		return nil, false
	}
	data, err := t.dir.Call.FS().ReadFile(path)
	if err == nil {
		data, _, err = e.State.Open(context.Background(), data)
	}
	if d, is := crypt.Diagnostic(err); is {
		t.dir.Call.Bag.Add(d)
		return nil, false
	}
	if err != nil {
		t.dir.Call.Bag.Add(diag.Errorf("Failed to read the states of tests", "The file %s cannot be read: %s.", t.dir.Display(path), disk.Reason(err)))
		return nil, false
	}
	var bag diag.Bag
	s, ok := state.Read(data, &bag)
	for _, d := range bag.List() {
		d.Detail += fmt.Sprintf(" The file is %s.", t.dir.Display(path))
		t.dir.Call.Bag.Add(d)
	}
	return s, ok
}

// Keep writes the state of objects that a test keeps or could not destroy, and adds the state to the list. It writes to
// the file k.Written, from which the state was read, or to a new file if k.Written is "". It returns the path of the
// file for messages. The error says why the state or the list cannot be written. If k.Failed is true, an error of the
// list is ignored.
func (t *Leftovers) Keep(k suite.Kept) (string, error) {
	list, unread := t.readList()
	made := t.dir.Call.FS().MkdirAll(t.Dir(), 0o755)
	entry := manifestEntry{File: k.File, Run: k.Run, State: filepath.Base(k.Written), Failed: k.Failed}
	for n := 1; k.Written == ""; n++ {
		if entry.State = fmt.Sprintf("%d.tfstate", n); k.Failed {
			entry.State = strings.Replace("errored_test."+entry.State, ".1.", ".", 1)
		}
		if _, err := t.dir.Call.FS().Lstat(t.path(entry)); err != nil {
			break
		}
	}
	path := t.path(entry)
	if err := t.writeState(path, k.State); err != nil {
		return "", err
	}
	same := func(e manifestEntry) bool { return t.path(e) == path }
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
		err = nil // the state is stored; users can destroy the objects with the file, even if the list does not name it
	}
	return t.dir.Display(path), err
}

// Forget removes the file of a state that has no objects any more, and its entry in the list. If the list cannot be
// read or written, Forget returns an error and the file remains.
func (t *Leftovers) Forget(k suite.Kept) error {
	list, err := t.readList()
	if err != nil {
		return err
	}
	entry := manifestEntry{State: filepath.Base(k.Written), Failed: k.Failed}
	path := t.path(entry)
	list.States = slices.DeleteFunc(list.States, func(e manifestEntry) bool { return t.path(e) == path })
	if err = t.writeList(list); err == nil {
		err = t.dir.Call.FS().Remove(path)
	}
	return err
}
