package state

import (
	"bytes"
	"encoding/json"
)

// overriddenKey is a top-level key of a state. Terraform and OpenTofu ignore it.
const overriddenKey = "lethe_allow_destroy"

// Overridden returns the addresses of the protected objects that the run destroyed that wrote the state, because
// -allow-destroy named them.
func (s *Snapshot) Overridden() []string {
	if s == nil || !bytes.Contains(s.Extra, []byte(overriddenKey)) {
		return nil
	}
	var fields struct {
		List []string `json:"lethe_allow_destroy"`
	}
	_ = json.Unmarshal(s.Extra, &fields) // another value is no list of ours
	return fields.List
}

// WithOverridden returns the snapshot with such a list; nil removes it.
func (s *Snapshot) WithOverridden(list []string) *Snapshot {
	if len(list) == 0 && !bytes.Contains(s.Extra, []byte(overriddenKey)) {
		return s
	}
	fields := map[string]json.RawMessage{}
	_ = json.Unmarshal(s.Extra, &fields) // an object, or nothing
	delete(fields, overriddenKey)
	if len(list) > 0 {
		fields[overriddenKey], _ = json.Marshal(list) // texts
	}
	e := s.Edit()
	e.Head().Extra = nil
	if len(fields) > 0 {
		e.Head().Extra, _ = json.Marshal(fields) // as they were read
	}
	return e.Done()
}
