package state

import (
	"bytes"
	"encoding/json"
)

// overriddenKey is a top-level key of a state. Terraform and OpenTofu ignore it.
const overriddenKey = "lethe_allow_destroy"

// Overridden returns the addresses of the protected objects that the last run destroyed because -allow-destroy named
// them.
func (s *Snapshot) Overridden() []string {
	if s == nil || !bytes.Contains(s.Extra, []byte(overriddenKey)) {
		return nil
	}
	var fields struct {
		List []string `json:"lethe_allow_destroy"`
	}
	_ = json.Unmarshal(s.Extra, &fields) // a value of another type does not come from Lethe
	return fields.List
}

// WithOverridden returns the snapshot with the list that Overridden returns. A nil list removes the key.
func (s *Snapshot) WithOverridden(list []string) *Snapshot {
	if len(list) == 0 && !bytes.Contains(s.Extra, []byte(overriddenKey)) {
		return s
	}
	fields := map[string]json.RawMessage{}
	_ = json.Unmarshal(s.Extra, &fields) // Extra is an object or empty
	delete(fields, overriddenKey)
	if len(list) > 0 {
		fields[overriddenKey], _ = json.Marshal(list) // texts
	}
	e := s.Edit()
	e.Head().Extra = nil
	if len(fields) > 0 {
		e.Head().Extra, _ = json.Marshal(fields) // the values are as they were read
	}
	return e.Done()
}
