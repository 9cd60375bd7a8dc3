// Package state holds the objects that earlier runs created, in the model of state files of format 4.
//
// A Snapshot never changes. An edit makes a new snapshot that shares the unchanged parts, so that a run can cheaply
// keep the states before and after a refresh and during an apply. Objects keep the form in which they were read:
// attributes stay JSON until the schema of their provider is available, and an object that a run does not use is never
// decoded. Marks of sensitive values are paths beside the value (invariant I4). A state cannot contain ephemeral
// values.
//
// Files are in layers, each above the files that it uses: equal.go, overridden.go; commands.go, mv.go, near.go,
// transferred.go, move.go, object.go, edit.go; read.go, read4.go and write.go; paths.go, outputs.go, checks.go,
// writer.go, reader.go; closure.go, snapshot.go, state.go.
//
// These packages build on package state: internal/store keeps the bytes of states under a lock, and state/journal makes
// each change durable during an apply.
package state

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// Entry is one object as stored. Entries are immutable: to change an entry, copy it.
type Entry struct {
	Attrs          []byte            // JSON object, as read or as encoded by schema.Block.EncodeJSON
	Flatmap        map[string]string // attributes in the form of very old files; nil if Attrs is set
	Schema         int64             // version of the resource type's schema
	Provider       addr.ProviderInstance
	Private        []byte // the provider's private data; nil without any
	Identity       []byte // JSON object; nil without an identity
	IdentitySchema int64
	Sensitive      []cty.Path      // paths of sensitive values, sorted as in files
	Recorded       []addr.Resource // dependencies: direct in memory, transitive in files
	CreateFirst    bool            // create a replacement before the object is destroyed (lifecycle.create_before_destroy = true)
	SkipDestroy    bool            // forget the object instead of destroying it (lifecycle.destroy = false)
	Protected      bool            // do not destroy the object unless the user decides so (lifecycle.prevent_destroy = true)
	Tainted        bool            // the next plan replaces the object
	Extra          []byte          // JSON object with unknown fields, which are kept
}

// ID returns the attribute "id", or "" if it is missing or not a string.
func (e *Entry) ID() string {
	var attrs struct {
		ID string `json:"id"`
	}
	_ = json.Unmarshal(e.Attrs, &attrs) // an id of another type counts as missing
	return attrs.ID
}

// Output is a stored root output.
type Output struct {
	Value      mark.Value // the whole value may be marked sensitive; it has no other marks
	Type       cty.Type
	Sensitive  bool
	Deprecated string
}

// Status is the outcome of the conditions of an object or a declaration.
type Status uint8

// The outcomes. The zero value is Unknown.
const (
	Unknown Status = iota
	Pass
	Fail
	Errored
)

var statusNames = [...]string{"unknown", "pass", "fail", "error"}

func (s Status) String() string { return statusNames[s] }

// MarshalText returns the status's name in files.
func (s Status) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads the result of MarshalText. It returns an error for an unknown name.
func (s *Status) UnmarshalText(name []byte) error {
	i := slices.Index(statusNames[:], string(name))
	if i < 0 {
		return fmt.Errorf("unknown status %q", name)
	}
	*s = Status(i)
	return nil
}

// Check is the result of the conditions of one declaration (check_results in the file).
type Check struct {
	Kind    string          `json:"kind"` // "resource", "output", "check", "var"
	Addr    string          `json:"addr"` // without instance keys, such as "module.a.aws_x.y", "output.z", "var.v"
	Status  Status          `json:"status"`
	Objects []CheckedObject `json:"objects"` // sorted by address; nil: the objects are not known
}

// CheckedObject is the result for one instance.
type CheckedObject struct {
	Addr     string   `json:"addr"`
	Status   Status   `json:"status"`
	Failures []string `json:"failures"` // messages of failed conditions
}
