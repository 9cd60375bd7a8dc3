// Package state holds the objects that earlier runs created, in the model of state files of format 4.
//
// A Snapshot never changes. An Edit makes a new snapshot that shares the unchanged parts. So a run can cheaply keep the
// states before and after a refresh and during an apply. Objects keep the form in which they were read: attributes stay
// JSON until the schema of their provider is available, and an object that a run does not use is never decoded. Which
// values are sensitive is stored as paths beside the attributes (invariant I4). A state cannot contain ephemeral
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

// Entry is the stored form of one object. Entries are immutable: to change an entry, copy it.
type Entry struct {
	Attrs          []byte            // a JSON object, as read or as encoded by schema.Block.EncodeJSON
	Flatmap        map[string]string // the attributes in the flat form of very old files; nil if Attrs is set
	Schema         int64             // the version of the resource type's schema to which the attributes conform
	Provider       addr.ProviderInstance
	Private        []byte // the provider's private data; nil if the object has no private data
	Identity       []byte // a JSON object; nil if the object has no identity
	IdentitySchema int64
	Sensitive      []cty.Path      // the paths of sensitive values, sorted as in files
	Recorded       []addr.Resource // the resources on which the object depends: direct dependencies in memory, transitive ones in files
	CreateFirst    bool            // create a replacement before the object is destroyed (lifecycle.create_before_destroy = true)
	SkipDestroy    bool            // forget the object instead of destroying it (lifecycle.destroy = false)
	Protected      bool            // do not destroy the object unless the user decides so (lifecycle.prevent_destroy = true)
	Tainted        bool            // the next plan replaces the object, because its creation failed in part or a user tainted it
	Complete       bool            // Tainted only because a command ended before the round that replaces the object: its destroy-time provisioners run
	Extra          []byte          // a JSON object with unknown fields, which are kept
}

// ID returns the attribute "id", or "" if it is missing or not a string.
func (e *Entry) ID() string {
	var attrs struct {
		ID string `json:"id"`
	}
	_ = json.Unmarshal(e.Attrs, &attrs) // an error is ignored: an id that is not a string counts as missing
	return attrs.ID
}

// ShownID returns the result of ID for messages: a mask if the id is sensitive.
func (e *Entry) ShownID() string {
	id := e.ID()
	for _, p := range e.Sensitive {
		if id != "" && (len(p) == 0 || len(p) == 1 && p[0] == (cty.GetAttrStep{Name: "id"})) {
			return mark.Sensitive.Mask()
		}
	}
	return id
}

// Output is a stored root output.
type Output struct {
	Value      mark.Value // may be marked sensitive as a whole, and has no other marks
	Type       cty.Type
	Sensitive  bool
	Deprecated string
}

// Status is the result of the conditions of an object or a declaration.
type Status uint8

// The statuses. The zero value is Unknown.
const (
	Unknown Status = iota
	Pass
	Fail
	Errored
)

var statusNames = [...]string{"unknown", "pass", "fail", "error"}

func (s Status) String() string { return statusNames[s] }

// MarshalText returns the name of the status in state files.
func (s Status) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText decodes the name of a status. It returns an error for an unknown name.
func (s *Status) UnmarshalText(name []byte) error {
	i := slices.Index(statusNames[:], string(name))
	if i < 0 {
		return fmt.Errorf("unknown status %q", name)
	}
	*s = Status(i)
	return nil
}

// Check is the result of the conditions of one declaration. In a state file it is an element of check_results.
type Check struct {
	Kind    string          `json:"kind"` // "resource", "output", "check" or "var"
	Addr    string          `json:"addr"` // the address without instance keys, such as "module.a.aws_x.y", "output.z" or "var.v"
	Status  Status          `json:"status"`
	Objects []CheckedObject `json:"objects"` // the results for the instances, sorted by address; nil means that the instances are not known
}

// CheckedObject is the result of the conditions for one instance of a declaration.
type CheckedObject struct {
	Addr     string   `json:"addr"`
	Status   Status   `json:"status"`
	Failures []string `json:"failures"` // the messages of the failed conditions
}
