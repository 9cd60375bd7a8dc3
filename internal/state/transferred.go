package state

import (
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
)

// transfersKey is a top-level key of a state file with the IDs of the transfers (runs of state transfer) that moved
// objects into the state, the latest last. Terraform and OpenTofu ignore it.
const transfersKey = "lethe_transfers"

// mostTransfers is the maximum number of transfers that a state lists. An unfinished transfer is always among them.
const mostTransfers = 8

// Transfers returns the IDs of the latest transfers that moved objects into the state.
func (s *Snapshot) Transfers() []string { return s.list(transfersKey) }

// WithTransfer returns a copy of the snapshot with id added at the end of its list of transfers. If the list becomes
// longer than mostTransfers, it drops the earliest IDs.
func (s *Snapshot) WithTransfer(id string) *Snapshot {
	list := append(slices.Clone(s.Transfers()), id)
	return s.withList(transfersKey, list[max(0, len(list)-mostTransfers):])
}

// MoveInto moves objects, which must exist, into another state, and returns both changed states. moves has the new
// address of each object by its present address. recorded returns the recorded dependencies of a moved object in its
// new state. If recorded is nil, the objects keep their dependencies.
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
