package diag

import "slices"

// Shared is what was reported about something that several parts of a run use, such as the session of a provider. Each
// part that uses the thing gets all of it in its own bag, where repeats are dropped. So a failure is an error for all that
// need the thing, even if a check block, whose errors are warnings, was the first to use it.
type Shared []Diagnostic

// Replay adds the diagnostics to the bag of a part that uses the thing.
func (s *Shared) Replay(bag *Bag) {
	if len(*s) > 0 {
		bag.Add(*s...)
	}
}

// Has reports whether a message is among them.
func (s Shared) Has(d Diagnostic) bool {
	return slices.ContainsFunc(s, func(x Diagnostic) bool { return x.text() == d.text() })
}

// Reported reports whether a message is in the bag, as an error or as a warning.
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

// HasAsides reports whether something inside a check block was reported.
func (b *Bag) HasAsides() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.ContainsFunc(b.list, func(d Diagnostic) bool { return d.Aside })
}
