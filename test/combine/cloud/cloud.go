// Package cloud is the cloud that the provider of the scenarios manages. It is a directory with a JSON file for each
// object and each open lease, and a log with a line for each call.
//
// The runner and the provider share the directory. To make drift, the runner edits or removes a file. Lost objects are
// the difference between the files and an engine's state. To make a fault, the runner adds a line to the file of
// faults. No file contains a secret that must not be stored: it contains the [Hash] of the secret.
package cloud

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Env is the name of the variable with the directory, for a provider in a separate process.
const Env = "COMBINE_CLOUD"

// A Cloud is a directory of objects. Users of the same directory in one process share one Cloud.
type Cloud struct {
	Dir string

	// Faults call Interrupt and Kill. The argument of Kill selects both processes or the engine alone.
	Interrupt func()
	Kill      func(both bool)

	mu sync.Mutex
}

// An Object is the content of one file: an object that the provider manages.
type Object struct {
	ID         string                     `json:"id"`
	Region     string                     `json:"region,omitempty"`
	Password   string                     `json:"password,omitempty"` // the Hash of the last password that was set
	Attributes map[string]json.RawMessage `json:"attributes"`
}

// A Call is a line of the log. Begin and End are times of the cloud's clock. No two times are equal.
type Call struct {
	Begin  int    `json:"begin"`
	End    int    `json:"end"`
	Call   string `json:"call"` // configure, read, plan, create, update, delete, import, move, data, open, renew, close
	Type   string `json:"type,omitempty"`
	Key    string `json:"key,omitempty"` // the name of the object, or the argument of a data source
	ID     string `json:"id,omitempty"`
	Region string `json:"region,omitempty"`
	Note   string `json:"note,omitempty"` // further data about the call, such as "gone" for a read of a missing object
	Error  string `json:"error,omitempty"`
}

// Hash returns the form of a secret that may be stored: eight hexadecimal digits, or "" for "".
func Hash(secret string) string {
	if secret == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:4])
}

// ErrGone is the error for an object that does not exist or is in another region.
var ErrGone = errors.New("no such object")

// Begin returns the current time of the cloud's clock and advances it. The clock is a file of the directory, so the
// times of all processes are different. If the file cannot be written, the time is 0.
func (c *Cloud) Begin() int {
	f, err := os.OpenFile(filepath.Join(c.Dir, ".clock"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return 0
	}
	defer f.Close()
	_, _ = f.Write([]byte("."))
	now, _ := f.Seek(0, io.SeekCurrent) // each write of any process ends at a different position
	return int(now)
}

// Over sets the end of a call to the present time and writes the call's line to the log. It returns no error: a test
// notices the missing line.
func (c *Cloud) Over(call Call) {
	call.End = c.Begin()
	line, err := json.Marshal(call)
	if err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	f, err := os.OpenFile(filepath.Join(c.Dir, ".calls"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return // no error is returned: a test notices the missing line
	}
	defer f.Close()
	_, _ = f.Write(append(line, '\n'))
}

// Calls returns the calls in the log, in the order in which Over wrote them, and removes the log. Without a log it
// returns nil. If the log cannot be read, it remains.
func (c *Cloud) Calls() ([]Call, error) {
	path := filepath.Join(c.Dir, ".calls")
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var calls []Call
	for d := json.NewDecoder(f); d.More(); {
		var call Call
		if err := d.Decode(&call); err != nil {
			return nil, err
		}
		calls = append(calls, call)
	}
	return calls, os.Remove(path)
}

// Fresh returns the ID of a new object: its name and a number, which is 1 for the first object with that name.
func (c *Cloud) Fresh(name string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	path := filepath.Join(c.Dir, ".made."+name)
	text, _ := os.ReadFile(path)
	n, _ := strconv.Atoi(string(text))
	_ = os.WriteFile(path, []byte(strconv.Itoa(n+1)), 0o600)
	return fmt.Sprintf("%s-%d", name, n+1)
}

// file returns the path of the file of an object.
func (c *Cloud) file(id string) string {
	return filepath.Join(c.Dir, strings.ReplaceAll(id, "/", "_")+".json")
}

// Get returns an object of a region. It returns ErrGone if the object does not exist or is in another region.
func (c *Cloud) Get(id, region string) (*Object, error) {
	o := new(Object)
	text, err := os.ReadFile(c.file(id))
	if errors.Is(err, os.ErrNotExist) {
		return nil, ErrGone
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, o); err != nil {
		return nil, err
	}
	if o.Region != region {
		return nil, ErrGone
	}
	return o, nil
}

// Put writes an object. It replaces the file in one step, because other processes may read it at any time.
func (c *Cloud) Put(o *Object) error {
	text, err := json.MarshalIndent(o, "", "  ")
	if err != nil {
		return err
	}
	part := c.file(o.ID) + ".part" // other processes never read a part of a file, because the file is renamed when it is complete
	if err := os.WriteFile(part, append(text, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(part, c.file(o.ID))
}

// Delete removes an object, and returns the IDs of the objects that still use it. A missing object is not an error.
func (c *Cloud) Delete(id string) (users []string, err error) {
	if err := os.Remove(c.file(id)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	all, err := c.Objects()
	for _, o := range all {
		var uses []string
		_ = json.Unmarshal(o.Attributes["uses"], &uses)
		if slices.Contains(uses, id) {
			users = append(users, o.ID)
		}
	}
	return users, err
}

// Objects returns all objects, sorted by the names of their files.
func (c *Cloud) Objects() ([]*Object, error) {
	files, err := filepath.Glob(filepath.Join(c.Dir, "*.json"))
	if err != nil {
		return nil, err
	}
	var all []*Object
	for _, f := range files {
		text, err := os.ReadFile(f)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		o := new(Object)
		if err := json.Unmarshal(text, o); err != nil {
			return nil, fmt.Errorf("%s: %w", f, err)
		}
		all = append(all, o)
	}
	return all, nil
}

// Open opens a lease.
func (c *Cloud) Open(id string) error {
	if err := os.MkdirAll(filepath.Join(c.Dir, "leases"), 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(c.Dir, "leases", id), nil, 0o600)
}

// Close closes a lease. It returns an error if the lease is not open.
func (c *Cloud) Close(id string) error {
	return os.Remove(filepath.Join(c.Dir, "leases", id))
}

// Leases returns the IDs of the open leases.
func (c *Cloud) Leases() []string {
	files, _ := filepath.Glob(filepath.Join(c.Dir, "leases", "*"))
	for i, f := range files {
		files[i] = filepath.Base(f)
	}
	return files
}
