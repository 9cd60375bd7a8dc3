package diag

import "slices"

// Shared are the diagnostics about a thing that several parts of a run use, such as the session of a provider. Each part that
// uses the thing adds all of them to its bag, which drops repeats. So a failure is an error for each part that needs the
// thing, even if a check block, whose errors are warnings, used it first.
type Shared []Diagnostic

// Replay adds the diagnostics to the bag of a part that uses the thing.
func (s *Shared) Replay(bag *Bag) {
	if len(*s) > 0 {
		bag.Add(*s...)
	}
}

// Has reports whether s contains a message.
func (s Shared) Has(d Diagnostic) bool {
	return slices.ContainsFunc(s, func(x Diagnostic) bool { return x.text() == d.text() })
}

// Reported reports whether the bag contains a message, as an error or as a warning.
func (b *Bag) Reported(d Diagnostic) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, d.Severity = range []Severity{Error, Warning} {
		if b.seen[d.key()] != nil || b.follows(d) {
			return true
		}
	}
	return false
}

// HasAsides reports whether the bag contains a message of a check block.
func (b *Bag) HasAsides() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.ContainsFunc(b.list, func(d Diagnostic) bool { return d.Aside })
}
