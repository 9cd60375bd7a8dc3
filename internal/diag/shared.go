package diag

import "slices"

// Shared holds the diagnostics about something that several parts of a run use, such as the process of a provider. Each
// part adds all of the diagnostics to its bag, which drops repeats. So a failure is an error in each of these parts,
// even if the first part is a check block, whose errors become warnings.
type Shared []Diagnostic

// Replay adds the diagnostics to the bag of a part of the run.
func (s *Shared) Replay(bag *Bag) {
	if len(*s) > 0 {
		bag.Add(*s...)
	}
}

// Has reports whether s contains the message d, with any severity.
func (s Shared) Has(d Diagnostic) bool {
	return slices.ContainsFunc(s, func(x Diagnostic) bool { return x.text() == d.text() })
}

// Reported reports whether the bag contains the message d, as an error or as a warning, or would drop it (see Enough).
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
