// Package audit finds secrets that are stored in clear in states, saved plans and other copies of objects.
//
// An Auditor receives the contents of places: states, former states, backups, journals, plans. Report works in two
// passes. The first pass collects the values of all attributes, outputs and variables that count as secret. The second
// pass searches all other values for the collected values, in the encoded forms that package secret decodes, such as
// base64. If several places store the same object without a difference, it is examined once.
//
// A report contains addresses, paths, names and labels. It contains no values, and nothing that is derived from them.
//
// A Removal removes values from copies of a state (removal.go, rewrite.go, blank.go).
//
// Files, from the top down: removal.go, names.go, rewrite.go, blank.go, report.go, remedy.go, stored.go, examine.go (the two
// passes), baseline.go, finding.go, contents.go (the contents of places), values.go (the parts of one value), audit.go.
package audit

import (
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/object"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
)

// Reason explains why a value counts as a secret.
type Reason string

// The reasons.
const (
	Schema        Reason = "schema"        // the schema of the resource type declares the attribute sensitive
	Configuration Reason = "configuration" // the configuration assigned a sensitive value
	Recorded      Reason = "recorded"      // the state records the attribute as sensitive; the schema that could explain this is not available
	Data          Reason = "data source"   // a sensitive result of a data source
	Output        Reason = "output"        // a sensitive root output
	Variable      Reason = "variable"      // the value of a sensitive root variable, in a plan
	Private       Reason = "private data"  // the private data of a provider contain a secret
	Contained     Reason = "contained"     // a value that is not sensitive itself contains a secret
)

// Kind tells which kind of file or version a Place is.
type Kind string

// The kinds of places.
const (
	State   Kind = "state"
	Backup  Kind = "backup"
	Version Kind = "version" // an earlier version of the state, in its store
	Errored Kind = "errored state"
	Journal Kind = "journal"
	Plan    Kind = "plan"
)

// Place is a copy of objects: a file, or a version in a store.
type Place struct {
	Kind      Kind
	Name      string    // a path, or another name for the user
	Serial    uint64    // the serial of a state; 0 for other places
	Time      time.Time // when it was written; zero if unknown
	Encrypted bool      // the stored form of the place is encrypted
	Problem   string    // the reason why the place or a part of it could not be read, as sentences; "": all was read
}

// Inputs has the functions that an audit calls, besides the contents of places.
type Inputs struct {
	// Schemas returns the schemas of a provider, or the reason why they are not available.
	Schemas func(addr.Provider) (*provider.Schemas, error)
	// Alternatives asks a provider which write-only arguments can replace arguments of a configuration. It may be nil.
	// It returns an error if the provider could not be asked.
	Alternatives func(p addr.Provider, typ string, s *schema.Schema, config cty.Value) ([]object.Alternative, error)
	// Progress is called after each part of the second pass, with the numbers of searched and of all parts. It may be
	// nil.
	Progress func(done, all int)
}

// Remedy is a way to stop storing a secret.
type Remedy struct {
	Kind     RemedyKind
	Argument string // WriteOnly: the path of the argument in the same resource
	Type     string // Ephemeral: the type of the ephemeral resource
}

// RemedyKind tells how a Remedy keeps the secret of a finding out of the state.
type RemedyKind string

// The kinds of remedies.
const (
	WriteOnly  RemedyKind = "write-only"
	Ephemeral  RemedyKind = "ephemeral"
	Encryption RemedyKind = "encryption" // no other remedy is known
)
