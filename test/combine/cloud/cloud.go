// Package cloud is what the provider of the scenarios manages: a directory in which every object is
// a JSON file, every open lease another, and every call a line of a log.
//
// The runner and the provider share it. Drift is a file that is edited or removed; what an engine
// lost is the difference between the files and its state; a fault on demand is a line in the file
// of faults. No file holds a secret that must not be kept: of those there is a [Hash].
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

// Env names the variable that holds the directory, for a provider that is started as a process.
const Env = "COMBINE_CLOUD"

// A Cloud is a directory of objects. What uses the same directory in one process shares one Cloud.
type Cloud struct {
	Dir string

	// Interrupt and Kill are called by faults that ask for them, Kill for both or for the engine alone.
	Interrupt func()
	Kill      func(both bool)

	mu sync.Mutex
}

// An Object is one file.
type Object struct {
	ID         string                     `json:"id"`
	Region     string                     `json:"region,omitempty"`
	Password   string                     `json:"password,omitempty"` // the Hash of the last one that was sent
	Attributes map[string]json.RawMessage `json:"attributes"`
}

// A Call is a line of the log. Begin and End are times of the cloud: each call has its own two.
type Call struct {
	Begin  int    `json:"begin"`
	End    int    `json:"end"`
	Call   string `json:"call"` // configure, read, plan, create, update, delete, import, move, data, open, renew, close
	Type   string `json:"type,omitempty"`
	Key    string `json:"key,omitempty"` // the name of the object, the question of a data source
	ID     string `json:"id,omitempty"`
	Region string `json:"region,omitempty"`
	Note   string `json:"note,omitempty"` // what else tells two calls apart
	Error  string `json:"error,omitempty"`
}

// Hash is what may be written down of a secret.
func Hash(secret string) string {
	if secret == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:4])
}

// ErrGone is the error for what is not there.
var ErrGone = errors.New("no such object")

// Begin is the time at which a call begins: how often this was asked, by all processes that use the
// directory.
func (c *Cloud) Begin() int {
	f, err := os.OpenFile(filepath.Join(c.Dir, ".clock"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return 0
	}
	defer f.Close()
	_, _ = f.Write([]byte("."))
	now, _ := f.Seek(0, io.SeekCurrent) // behind what was written just now, others write where they will
	return int(now)
}

// Over ends a call and writes its line.
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
		return // the test misses its line
	}
	defer f.Close()
	_, _ = f.Write(append(line, '\n'))
}

// Calls reads the log and empties it.
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

// Fresh makes the id of a new object: its name, and how many there were of that name before.
func (c *Cloud) Fresh(name string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	path := filepath.Join(c.Dir, ".made."+name)
	text, _ := os.ReadFile(path)
	n, _ := strconv.Atoi(string(text))
	_ = os.WriteFile(path, []byte(strconv.Itoa(n+1)), 0o600)
	return fmt.Sprintf("%s-%d", name, n+1)
}

func (c *Cloud) file(id string) string {
	return filepath.Join(c.Dir, strings.ReplaceAll(id, "/", "_")+".json")
}

// Get reads an object, as it is seen from a region.
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

// Put writes an object.
func (c *Cloud) Put(o *Object) error {
	text, err := json.MarshalIndent(o, "", "  ")
	if err != nil {
		return err
	}
	part := c.file(o.ID) + ".part" // others may look at any moment
	if err := os.WriteFile(part, append(text, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(part, c.file(o.ID))
}

// Delete removes an object, and tells who uses it still.
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

// Objects lists what is there, by id.
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

// Open makes a lease, Close ends it: a lease that is not open cannot be closed.
func (c *Cloud) Open(id string) error {
	if err := os.MkdirAll(filepath.Join(c.Dir, "leases"), 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(c.Dir, "leases", id), nil, 0o600)
}

// Close ends a lease.
func (c *Cloud) Close(id string) error {
	return os.Remove(filepath.Join(c.Dir, "leases", id))
}

// Leases lists those that are open.
func (c *Cloud) Leases() []string {
	files, _ := filepath.Glob(filepath.Join(c.Dir, "leases", "*"))
	for i, f := range files {
		files[i] = filepath.Base(f)
	}
	return files
}
