package provider

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Names of the environment variables that the providers read.
const (
	EnvCloud  = "SDK_CLOUD"  // the directory of the objects and of the files with faults
	EnvLog    = "SDK_LOG"    // the file that gets one JSON line for each call
	EnvSchema = "SDK_SCHEMA" // the schema of the types with several schemas (up and changed in both providers): 0, 1 or 2
)

// An Object is the content of one file of the cloud, named ID.json. A test edits the file to make drift.
type Object struct {
	Type  string         `json:"type"`
	Rev   int            `json:"rev"` // the number of times that the object was written
	Attrs map[string]any `json:"attrs"`
}

var errGone = errors.New("no such object")

func cloudFile(name string) string { return filepath.Join(os.Getenv(EnvCloud), name) }

// nextID returns NAME-1 for the first object that is created with a name, then NAME-2, and so on. Equal histories have
// equal IDs, so that two engines can be compared without renaming.
func nextID(name string) (string, error) {
	path := cloudFile(name + ".ids")
	n := 0
	data, err := os.ReadFile(path)
	if err == nil {
		n, err = strconv.Atoi(strings.TrimSpace(string(data)))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	n++
	return fmt.Sprintf("%s-%d", name, n), os.WriteFile(path, []byte(strconv.Itoa(n)), 0o600)
}

func save(id string, o *Object) error {
	data, err := json.MarshalIndent(o, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(cloudFile(id+".json"), data, 0o600)
}

// load returns the object with an ID, or errGone if it does not exist.
func load(id string) (*Object, error) {
	data, err := os.ReadFile(cloudFile(id + ".json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errGone
	}
	if err != nil {
		return nil, err
	}
	o := new(Object)
	return o, json.Unmarshal(data, o)
}

// remove removes the object with an ID. A missing object is no error.
func remove(id string) error {
	err := os.Remove(cloudFile(id + ".json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// fault reports whether the file NAME.fault of the cloud contains the word. The word is a call and a kind of
// misbehaviour: create, create-after, update-gone and so on. It applies to NAME_x, too.
func fault(name, word string) bool {
	name, _, _ = strings.Cut(name, "_")
	data, err := os.ReadFile(cloudFile(name + ".fault"))
	if err != nil {
		return false
	}
	for _, w := range strings.Fields(string(data)) {
		if w == word {
			return true
		}
	}
	return false
}

// failed returns an error if the fault is requested.
func failed(name, word string) error {
	if fault(name, word) {
		return fmt.Errorf("%s of %q fails, as asked", word, name)
	}
	return nil
}

// schemaVersion returns the number in SDK_SCHEMA, or 2 if it is not set or no number.
func schemaVersion() int {
	if n, err := strconv.Atoi(os.Getenv(EnvSchema)); err == nil {
		return n
	}
	return 2
}
