// Package state holds the objects of the last run, in the model of format v4.
//
// A Snapshot never changes. Editing makes a new one that shares the unchanged parts, so that
// the states before and after a refresh and during an apply are cheap. Objects keep the form in which they
// were read: attributes stay JSON until a provider's schema is available, and an object that a run
// does not use is never decoded. Marks are paths beside the value (invariant I4). No ephemeral value can be
// in a state.
//
// Files are in layers, each above the files that it uses: equal.go, overridden.go; commands.go, mv.go, near.go,
// transferred.go, move.go, object.go, edit.go; read.go, read4.go and write.go; paths.go, outputs.go, checks.go, writer.go, reader.go; closure.go,
// snapshot.go, state.go.
//
// Packages that build on it: internal/store keeps bytes under a lock, and state/journal makes each change durable
// during an apply.
package state

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// Entry is one object as stored. Entries are immutable: change a copy.
type Entry struct {
	Attrs          []byte            // JSON object, as read or as encoded by schema.Block.EncodeJSON
	Flatmap        map[string]string // instead of Attrs, from very old files
	Schema         int64             // version of the resource type's schema
	Provider       addr.ProviderInstance
	Private        []byte
	Identity       []byte // JSON object; nil if it has none
	IdentitySchema int64
	Sensitive      []cty.Path      // sensitive paths at rest, sorted as written
	Recorded       []addr.Resource // dependencies: direct in memory, transitive in files
	CreateFirst    bool
	SkipDestroy    bool // to be forgotten instead of destroyed (lifecycle.destroy = false)
	Protected      bool // not to be destroyed without a decision (lifecycle.prevent_destroy = true)
	Tainted        bool
	Extra          []byte // JSON object with fields we do not know, kept
}

// ID returns the attribute "id", "" if it is missing or no string.
func (e *Entry) ID() string {
	var attrs struct {
		ID string `json:"id"`
	}
	_ = json.Unmarshal(e.Attrs, &attrs) // an id of another type is none
	return attrs.ID
}

// Output is a stored root output.
type Output struct {
	Value      mark.Value // its only mark can be sensitive, on the whole
	Type       cty.Type
	Sensitive  bool
	Deprecated string
}

// Status is the outcome of conditions.
type Status uint8

// The outcomes. The zero value is unknown.
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

// UnmarshalText reads a name.
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
	Objects []CheckedObject `json:"objects"` // sorted by address; nil: not known which there are
}

// CheckedObject is the result for one instance.
type CheckedObject struct {
	Addr     string   `json:"addr"`
	Status   Status   `json:"status"`
	Failures []string `json:"failures"` // messages of failed conditions
}
