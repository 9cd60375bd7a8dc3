// Package cloud is the simulated cloud of the playground providers. It is a directory in which each object is a small
// JSON file.
//
// The environment variable PLAYGROUND_CLOUD names the directory. An object is the file TYPE.ID.json, an open lease is
// leases/ID.json. A test counts real objects with a glob, and makes drift by editing or removing a file. It finds lost
// objects by comparing the directory with the state.
//
// No file contains a secret in clear. A secret that an ephemeral resource returns later is sealed, see [Seal]. So a
// test can search all its directories for a canary.
//
// Without PLAYGROUND_CLOUD, [Here] returns nil, and objects exist only in the state. Every method of a nil *Cloud does
// nothing and succeeds, except that Get returns [ErrGone].
package cloud

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Env is the name of the variable with the directory.
const Env = "PLAYGROUND_CLOUD"

// ErrGone is the error for an object or a lease that does not exist.
var ErrGone = errors.New("no such object")

// ErrTaken is the error for a new object with the identity of another object.
var ErrTaken = errors.New("an object with this identity exists already")

// A Cloud is the directory with the objects and leases.
type Cloud struct{ dir string }

// Here returns the cloud of this process, or nil if PLAYGROUND_CLOUD is not set.
func Here() *Cloud {
	if dir := os.Getenv(Env); dir != "" {
		return &Cloud{dir: dir}
	}
	return nil
}

// An Object is the content of one file.
type Object struct {
	Type       string                     `json:"type"`
	ID         string                     `json:"id"`
	By         string                     `json:"by,omitempty"` // label of the provider that wrote the object last
	Writes     int                        `json:"writes"`       // 1 after the creation; each update adds 1
	Created    time.Time                  `json:"created"`
	Updated    time.Time                  `json:"updated"`
	Attributes map[string]json.RawMessage `json:"attributes"` // the attributes in the form of the state; a test edits them to make drift
	Sealed     map[string]string          `json:"sealed,omitempty"`
}

// A Lease is the content of a file in leases/ while the lease is open.
type Lease struct {
	Type       string    `json:"type"`
	ID         string    `json:"id"`
	Name       string    `json:"name,omitempty"`
	By         string    `json:"by,omitempty"`
	Pid        int       `json:"pid"`
	Opened     time.Time `json:"opened"`
	Renewed    time.Time `json:"renewed,omitzero"`
	Expires    time.Time `json:"expires,omitzero"`
	Generation int       `json:"generation"` // 0 after the opening; each renewal adds 1
}

// Create writes a new object, and sets its number of writes and its times. It fails with [ErrTaken] if an object with
// that type and ID exists.
func (c *Cloud) Create(o *Object) error {
	if c == nil {
		return nil
	}
	o.Writes, o.Created = 1, time.Now()
	o.Updated = o.Created
	return put(c.object(o.Type, o.ID), o, true)
}

// Get reads an object. It fails with [ErrGone] if the object does not exist.
func (c *Cloud) Get(typ, id string) (*Object, error) {
	if c == nil {
		return nil, ErrGone
	}
	o := new(Object)
	return o, get(c.object(typ, id), o)
}

// Update replaces an object. It sets the number of writes and the times from the old object. It fails with [ErrGone] if
// the object does not exist.
func (c *Cloud) Update(o *Object) error {
	if c == nil {
		return nil
	}
	old, err := c.Get(o.Type, o.ID)
	if err != nil {
		return err
	}
	o.Writes, o.Created, o.Updated = old.Writes+1, old.Created, time.Now()
	return put(c.object(o.Type, o.ID), o, false)
}

// Delete removes an object. It succeeds if the object does not exist.
func (c *Cloud) Delete(typ, id string) error {
	if c == nil {
		return nil
	}
	return remove(c.object(typ, id))
}

// Find returns the objects of a type for which keep returns true, in the order of their file names.
func (c *Cloud) Find(typ string, keep func(*Object) bool) ([]*Object, error) {
	if c == nil {
		return nil, nil
	}
	paths, err := filepath.Glob(filepath.Join(c.dir, escape(typ)+".*.json"))
	if err != nil {
		return nil, err
	}
	var list []*Object
	for _, p := range paths {
		o := new(Object)
		if err := get(p, o); errors.Is(err, ErrGone) {
			continue
		} else if err != nil {
			return nil, err
		}
		if o.Type == typ && keep(o) {
			list = append(list, o)
		}
	}
	return list, nil
}

// OpenLease writes a new lease, and sets its process and its start time. It fails with [ErrTaken] if a lease with that
// ID is open.
func (c *Cloud) OpenLease(l *Lease) error {
	if c == nil {
		return nil
	}
	l.Pid, l.Opened = os.Getpid(), time.Now()
	return put(c.lease(l.ID), l, true)
}

// RenewLease records a renewal: the generation, and the new time of expiry, which is zero for none. It fails with
// [ErrGone] if the lease is not open.
func (c *Cloud) RenewLease(id string, generation int, expires time.Time) error {
	if c == nil {
		return nil
	}
	l := new(Lease)
	if err := get(c.lease(id), l); err != nil {
		return err
	}
	l.Renewed, l.Generation, l.Expires = time.Now(), generation, expires
	return put(c.lease(id), l, false)
}

// CloseLease removes a lease. It fails with [ErrGone] if the lease is not open, for example because it was closed
// before.
func (c *Cloud) CloseLease(id string) error {
	if c == nil {
		return nil
	}
	if _, err := os.Stat(c.lease(id)); err != nil {
		return ErrGone
	}
	return remove(c.lease(id))
}

func (c *Cloud) object(typ, id string) string {
	return filepath.Join(c.dir, escape(typ)+"."+escape(id)+".json")
}

func (c *Cloud) lease(id string) string {
	return filepath.Join(c.dir, "leases", escape(id)+".json")
}

// escape makes a valid path element from any name.
func escape(name string) string {
	return strings.ReplaceAll(url.PathEscape(name), "..", "%2E%2E")
}

// get decodes a file. It returns ErrGone if the file is missing.
func get(path string, into any) error {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return ErrGone
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// put writes a file atomically, and creates its directory. If fresh is true and the file exists, it returns ErrTaken.
func put(path string, from any, fresh bool) error {
	data, err := json.MarshalIndent(from, "", "  ")
	if err != nil {
		return err
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(dir, ".new-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	if _, err := tmp.Write(append(data, '\n')); err != nil {
		tmp.Close()
		return err
	}
	if err := tmp.Close(); err != nil {
		return err
	}
	if !fresh {
		return os.Rename(tmp.Name(), path)
	}
	if err := os.Link(tmp.Name(), path); errors.Is(err, fs.ErrExist) {
		return ErrTaken
	} else if err != nil {
		return err
	}
	return nil
}

// remove removes a file. A missing file is no error.
func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
