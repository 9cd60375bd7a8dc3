package state

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
)

// transfersKey is a top-level key of a state: the transfers that moved objects into it, the latest last. Terraform and
// OpenTofu ignore it.
const transfersKey = "lethe_transfers"

// mostTransfers is the number of transfers that a state names. A transfer that is not finished is among the latest.
const mostTransfers = 8

// Transfers returns the IDs of the latest transfers that moved objects into the state.
func (s *Snapshot) Transfers() []string {
	if s == nil || !bytes.Contains(s.Extra, []byte(transfersKey)) {
		return nil
	}
	var fields struct {
		List []string `json:"lethe_transfers"`
	}
	_ = json.Unmarshal(s.Extra, &fields) // another value is no list of ours
	return fields.List
}

// WithTransfer returns the snapshot with one more transfer.
func (s *Snapshot) WithTransfer(id string) *Snapshot {
	list := append(slices.Clone(s.Transfers()), id)
	list = list[max(0, len(list)-mostTransfers):]
	fields := map[string]json.RawMessage{}
	e := s.Edit()
	_ = json.Unmarshal(e.Head().Extra, &fields) // an object, or nothing
	fields[transfersKey], _ = json.Marshal(list)
	e.Head().Extra, _ = json.Marshal(fields)
	return e.Done()
}

// MoveInto moves objects into another state. recorded returns the recorded dependencies of a moved object; nil keeps
// them.
func (s *Snapshot) MoveInto(into *Snapshot, moves map[addr.Object]addr.Object, recorded func(*Entry) []addr.Resource) (source, target *Snapshot) {
	src, dst := s.Edit(), into.Edit()
	for from, to := range moves {
		entry := *s.Get(from)
		if recorded != nil {
			entry.Recorded = recorded(&entry)
		}
		dst.Put(to, &entry)
		if now := dst.next.resources[to.Abs()]; now.Extra == nil {
			now.Extra = s.Resource(from.Abs()).Extra
		}
	}
	for from := range moves {
		src.Put(from, nil)
	}
	return src.Done(), dst.Done()
}
