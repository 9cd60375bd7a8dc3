package journal

import (
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/state"
)

// Creates reports whether the call with the unknown outcome would have created an object.
func (u Unknown) Creates() bool { return strings.Contains(u.Action, "create") }

// MayExist reports whether the call may have created an object that no state contains. An object of terraform_data
// exists only in the state, so such a call does not count.
func (u Unknown) MayExist() bool { return u.Creates() && u.Object.Type != "terraform_data" }

// Settled reports whether the outcome of the call no longer matters. For an update or a destruction, a refresh of the
// object or a change of its entry in the state shows the outcome. refreshed is true if the command has refreshed or
// will refresh the state. A creation stays unknown until a user or an import settles it: another object at its address
// does not show that the first object does not exist.
func (u Unknown) Settled(s *state.Snapshot, refreshed bool) bool {
	return !u.MayExist() && (refreshed && !u.Creates() || entryDigest(u.Object, s.Get(u.Object)) != u.was)
}

// Empty reports whether n contains nothing.
func (n Notes) Empty() bool { return len(n.Unknown)+len(n.Leases)+len(n.Earlier) == 0 }

// Join returns the notes of n, and after them the notes of more that n lacks.
func (n Notes) Join(more Notes) Notes {
	return Notes{
		join(n.Unknown, more.Unknown, func(a, b Unknown) bool {
			return a.Object == b.Object && a.Action == b.Action && a.Run == b.Run && a.Time.Equal(b.Time)
		}),
		join(n.Leases, more.Leases, func(a, b Lease) bool { return a.Object == b.Object && a.Run == b.Run && a.Time.Equal(b.Time) }),
		join(n.Earlier, more.Earlier, func(a, b EarlierValue) bool { return a.Lease == b.Lease && slices.Equal(a.Objects, b.Objects) }),
	}
}

func join[T any](have, more []T, same func(a, b T) bool) []T {
	out := slices.Clone(have)
	for _, m := range more {
		if !slices.ContainsFunc(have, func(h T) bool { return same(h, m) }) {
			out = append(out, m)
		}
	}
	return out
}

// Unsettled returns the notes that must be kept beside the state s. refreshed is true if the state was refreshed. It
// marks the leases as known to the user.
func (n Notes) Unsettled(s *state.Snapshot, refreshed bool) Notes {
	out := Notes{
		Unknown: slices.DeleteFunc(slices.Clone(n.Unknown), func(u Unknown) bool { return u.Settled(s, refreshed) }),
		Leases:  slices.Clone(n.Leases),
		Earlier: n.Earlier,
	}
	for i := range out.Leases {
		out.Leases[i].Named = true
	}
	return out
}
