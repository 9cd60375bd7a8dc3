package diag

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/lethe-iac/lethe/internal/diag/code"
)

// Silence holds the codes of warnings that the user does not want to see, and counts these warnings. The zero value and
// a nil *Silence hide nothing. A Silence is safe for concurrent use.
type Silence struct {
	mu     sync.Mutex
	codes  map[string]bool
	hidden map[string]string // the codes of hidden warnings by Diagnostic.key
}

// Add adds codes, such as "LE0604", in large or small letters. An element may be a list with commas. At a code that
// does not exist, Add stops and returns an error that names the code.
func (s *Silence) Add(codes ...string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, list := range codes {
		for c := range strings.SplitSeq(list, ",") {
			c = strings.ToUpper(strings.TrimSpace(c))
			if code.Find(c) == nil {
				return fmt.Errorf("there is no diagnostic with the code %q; \"lethe explain\" lists the codes", c)
			}
			if s.codes == nil {
				s.codes = map[string]bool{}
			}
			s.codes[c] = true
		}
	}
	return nil
}

// Hides reports whether d is a warning with one of the codes. It counts each hidden warning once, even if it is called
// several times for the same warning.
func (s *Silence) Hides(d Diagnostic) bool {
	if s == nil || d.Severity != Warning {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.codes) == 0 {
		return false
	}
	c := d.Coded().Code
	if !s.codes[c] {
		return false
	}
	if s.hidden == nil {
		s.hidden = map[string]string{}
	}
	s.hidden[d.key()] = c
	return true
}

// Filter returns the diagnostics of ds that are not hidden. It returns ds itself if none of them is hidden, and
// otherwise a new slice.
func (s *Silence) Filter(ds []Diagnostic) []Diagnostic {
	if !slices.ContainsFunc(ds, s.Hides) {
		return ds
	}
	return slices.DeleteFunc(slices.Clone(ds), s.Hides)
}

// Take returns the number of hidden warnings by code, and forgets them. It returns nil if s is nil.
func (s *Silence) Take() map[string]int {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]int{}
	for _, c := range s.hidden {
		out[c]++
	}
	s.hidden = nil
	return out
}

// Silenced returns a sentence about hidden warnings by code, such as "2 warnings were silenced: LE0604 (2).", or "" if
// no warning was hidden.
func Silenced(counts map[string]int) string {
	n := 0
	var each []string
	for _, c := range slices.Sorted(maps.Keys(counts)) {
		n += counts[c]
		each = append(each, fmt.Sprintf("%s (%d)", c, counts[c]))
	}
	if n == 0 {
		return ""
	}
	return Counted(n, "warning was", "warnings were") + " silenced: " + strings.Join(each, ", ") + "."
}
