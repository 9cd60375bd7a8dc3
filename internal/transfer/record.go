package transfer

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/state"
)

// Record is the transfer journal. It describes a transfer, so that a later command can finish it. Both directories have
// a record from before the first state is written until both states are written. A record contains no values of
// objects.
type Record struct {
	Format  int       `json:"format"`
	ID      string    `json:"id"`
	Time    time.Time `json:"time"`
	Program string    `json:"program"`
	Role    Role      `json:"role"` // the role of the directory that has this copy
	Source  Side      `json:"source"`
	Target  Side      `json:"target"`

	Objects []Object      `json:"objects"`
	Dropped []addr.Object `json:"dropped,omitempty"` // data sources that the source loses
}

// format is the version of the record format.
const format = 1

// Role distinguishes the two directories of a transfer.
type Role string

// The roles.
const (
	Source Role = "source"
	Target Role = "target"
)

// Side describes one of the two states of a transfer, before and after it.
type Side struct {
	Dir       Path    `json:"dir"` // the real path of the working directory with the state
	Workspace string  `json:"workspace"`
	File      Path    `json:"file"` // the path of the copy of the record in that directory
	Before    Version `json:"before"`
	After     Version `json:"after"`
}

// Path is a path in a record. A path that is not valid UTF-8 is quoted like a Go string, because JSON would replace its
// bytes.
type Path string

// MarshalText returns the path, or a quoted form if the path is not valid UTF-8.
func (p Path) MarshalText() ([]byte, error) {
	if utf8.ValidString(string(p)) {
		return []byte(p), nil
	}
	return []byte(strconv.QuoteToASCII(string(p))), nil
}

// UnmarshalText sets the path from the result of MarshalText. It returns an error if the text begins with a quote and
// is not a quoted string.
func (p *Path) UnmarshalText(text []byte) error {
	if len(text) == 0 || text[0] != '"' { // an absolute path does not begin with a quote
		*p = Path(text)
		return nil
	}
	s, err := strconv.Unquote(string(text))
	*p = Path(s)
	return err
}

// Version identifies the content of a state.
type Version struct {
	Lineage string       `json:"lineage,omitempty"`
	Serial  uint64       `json:"serial"`
	Digest  state.Digest `json:"digest"`
}

// VersionOf returns the version of a snapshot. digest is the digest of its bytes.
func VersionOf(s *state.Snapshot, digest state.Digest) Version {
	return Version{s.Lineage, s.Serial, digest}
}

// Object has the addresses of a moved object in the two states.
type Object struct {
	From addr.Object `json:"from"`
	To   addr.Object `json:"to"`
}

// NewRecord returns the record of a planned transfer. The caller must set Role, Source and Target.
func NewRecord(p *Plan, now time.Time, program string) *Record {
	r := &Record{Format: format, ID: uuid.NewString(), Time: now.UTC(), Program: program, Dropped: p.Dropped}
	for _, m := range p.Moves {
		r.Objects = append(r.Objects, Object(m))
	}
	return r
}

// For returns the text of a directory's copy of the record.
func (r *Record) For(role Role) []byte {
	c := *r
	c.Role = role
	data, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		panic(err) // only an address with a secret instance key cannot be encoded, and states have no such keys
	}
	return append(data, '\n')
}

// Parse parses the text of a record. It returns an error if the text is not JSON, or if the format, the ID or the role
// is not valid.
func Parse(data []byte) (*Record, error) {
	var r Record
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, err
	}
	if r.Format != format || r.ID == "" || r.Role != Source && r.Role != Target {
		return nil, fmt.Errorf("it has the format %d, which this version does not read", r.Format)
	}
	return &r, nil
}

// This returns the side of the directory that has this copy of the record, and the other side.
func (r *Record) This() (this, other Side) {
	if r.Role == Source {
		return r.Source, r.Target
	}
	return r.Target, r.Source
}

// Concerns reports whether the record belongs to the state s of the directory that has this copy of the record. If
// another state has replaced the state, the lineage differs, and Concerns returns false. It returns true if s is nil or
// has no lineage.
func (r *Record) Concerns(s *state.Snapshot) bool {
	this, _ := r.This()
	return s == nil || s.Lineage == "" || s.Lineage == this.After.Lineage || s.Lineage == this.Before.Lineage
}

// Arrived reports whether the target state was written. source is the state of the source, which may still have the
// objects.
//
// Lethe writes the ID of the transfer into the target's state, and keeps it in later writes. Terraform and OpenTofu do
// not keep the ID. If the state lacks the ID, but has the lineage of the transfer and a higher serial than before,
// Arrived therefore compares objects. It returns true if the target has, with the same IDs, all moved objects that
// source still has, and at least one of them.
func (r *Record) Arrived(target, source *state.Snapshot) bool {
	switch {
	case target == nil:
		return false
	case slices.Contains(target.Transfers(), r.ID):
		return true
	case target.Lineage != r.Target.After.Lineage || target.Serial <= r.Target.Before.Serial:
		return false
	}
	found := 0
	for _, o := range r.Objects {
		was, is := source.Get(o.From), target.Get(o.To)
		if was == nil {
			continue
		}
		if is == nil || !same(was, is) {
			return false
		}
		found++
	}
	return found > 0
}

// same reports whether two entries describe the same real object.
func same(a, b *state.Entry) bool {
	return a.Provider.Provider.Canon() == b.Provider.Provider.Canon() && a.ID() != "" && a.ID() == b.ID()
}

// Left returns the source state after the transfer, and the objects that it loses. If the source state contains the ID
// of the transfer, it was already written: then an object at one of the addresses is a new object.
func (r *Record) Left(source *state.Snapshot) (*state.Snapshot, []addr.Object) {
	if slices.Contains(source.Transfers(), r.ID) {
		return source, nil
	}
	var gone []addr.Object
	e := source.Edit()
	remove := func(o addr.Object) {
		if source.Get(o) != nil {
			gone = append(gone, o)
			e.Put(o, nil)
		}
	}
	for _, o := range r.Objects {
		remove(o.From)
	}
	for _, o := range r.Dropped {
		remove(o)
	}
	if len(gone) == 0 {
		return source, nil
	}
	return e.Done().WithTransfer(r.ID), gone
}
