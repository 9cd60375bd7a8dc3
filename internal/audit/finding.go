package audit

import (
	"github.com/lethe-iac/lethe/internal/addr"
)

// Finding is a secret at one place in the configuration: an attribute of an object, an output, a variable.
type Finding struct {
	Address string
	Path    string // the attribute; "" for an output, a variable, and a whole object
	Reason  Reason
	Labels  []int    // labels of the values, in all places, sorted; none if all values are booleans
	Places  []*Place // sorted as they were added, without versions
	// Versions are the earlier versions that contain it, sorted as they were added.
	Versions []*Place
	Remedy   Remedy

	object addr.Object // zero unless an object has it
	unit   *unit       // the first unit with the finding
	values []string    // different values, in the order in which they were found
	known  map[string]bool
	in     map[*Place]map[string]bool // the values in each place
}

// Clear reports whether a place that is not encrypted has the secret.
func (f *Finding) Clear() bool {
	for p := range f.in {
		if !p.Encrypted {
			return true
		}
	}
	return false
}

// Gap is a problem with a provider, such as a missing schema. The objects of the listed types were examined only as far
// as the problem permits, or may lack a remedy.
type Gap struct {
	Provider addr.Provider
	Types    []string // resource types, sorted
	Problem  string   // as sentences
}

// Report is the result of an audit.
type Report struct {
	Findings []*Finding // sorted by address
	Places   []*Place   // sorted as they were added
	Values   int        // different values, which is the highest label
	Short    int        // values that are too short or too common to be searched for inside others
	Gaps     []Gap
	Packed   []string // addresses of values with so much packed into them that they were not searched completely

	labels map[string]int // by value
}

// Clear returns the number of findings in clear.
func (r *Report) Clear() int {
	n := 0
	for _, f := range r.Findings {
		if f.Clear() {
			n++
		}
	}
	return n
}
