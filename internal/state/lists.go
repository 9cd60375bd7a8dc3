package state

import (
	"bytes"
	"encoding/json"
)

// list returns the list of strings at the top-level key of a state file that Lethe adds. It returns nil if the key is
// missing or has another type.
func (s *Snapshot) list(key string) []string {
	if s == nil || !bytes.Contains(s.Extra, []byte(key)) {
		return nil
	}
	var fields map[string]json.RawMessage
	var list []string
	_ = json.Unmarshal(s.Extra, &fields)   // cannot fail, because Extra is an object
	_ = json.Unmarshal(fields[key], &list) // ignore an error: a value of another type does not come from Lethe
	return list
}

// withList returns a copy of the snapshot with list at the top-level key, or without the key if list is empty. If there
// is nothing to remove, it returns the snapshot itself.
func (s *Snapshot) withList(key string, list []string) *Snapshot {
	if len(list) == 0 && !bytes.Contains(s.Extra, []byte(key)) {
		return s
	}
	fields := map[string]json.RawMessage{}
	_ = json.Unmarshal(s.Extra, &fields) // cannot fail, because Extra is an object or empty
	delete(fields, key)
	if len(list) > 0 {
		fields[key], _ = json.Marshal(list) // a list of strings can always be encoded
	}
	e := s.Edit()
	e.Head().Extra = nil
	if len(fields) > 0 {
		e.Head().Extra, _ = json.Marshal(fields) // cannot fail, because the values were decoded before
	}
	return e.Done()
}
