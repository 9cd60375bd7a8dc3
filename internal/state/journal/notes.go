package journal

import (
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/state"
)

// Settled reports whether nothing is to be found out about the call any more: a state has another object there than
// when it was made. What became of an update or a destruction, refreshing finds out.
func (u Unknown) Settled(s *state.Snapshot, refreshed bool) bool {
	return refreshed && !strings.Contains(u.Action, "create") || entryDigest(u.Object, s.Get(u.Object)) != u.was
}

// Empty reports whether nothing is noted.
func (n Notes) Empty() bool { return len(n.Unknown)+len(n.Leases) == 0 }

// Unsettled is what still has to be known beside a state, which was refreshed or not. Users know of it.
func (n Notes) Unsettled(s *state.Snapshot, refreshed bool) Notes {
	out := Notes{
		Unknown: slices.DeleteFunc(slices.Clone(n.Unknown), func(u Unknown) bool { return u.Settled(s, refreshed) }),
		Leases:  slices.Clone(n.Leases),
	}
	for i := range out.Leases {
		out.Leases[i].Named = true
	}
	return out
}
