package audit

import (
	"maps"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/mark"
)

// Finding is a secret at one place of the configuration: an attribute of an object, an output, or a variable.
type Finding struct {
	Address string
	Path    string // the path of the attribute; "" for an output, a variable, and a whole object
	Reason  Reason
	Labels  []int    // labels (numbers) of the values, in all places, sorted
	Places  []*Place // places with the secret, in the order of Auditor.Place, without versions
	// Versions are the earlier versions that contain it, sorted as they were added.
	Versions []*Place
	Remedy   Remedy

	object addr.Object // the zero value unless the finding is about an object
	at     [2]string   // Address and Path before the secrets in their instance keys were masked
	unit   *unit       // the first unit with the finding
	flat   bool        // one of the units has flat attributes
	values []string    // different values, in the order in which they were found
	known  map[string]bool
	in     map[*Place]map[string]bool // the values in each place
}

// Clear reports whether a place without encryption has the secret.
func (f *Finding) Clear() bool {
	for p := range f.in {
		if !p.Encrypted {
			return true
		}
	}
	return false
}

// GapKind tells how a Gap limits the examination.
type GapKind string

// The kinds of gaps.
const (
	NoSchema    GapKind = "no-schema"    // only attributes that the state records as sensitive were found
	OtherSchema GapKind = "other-schema" // some objects have the types of another version: of these, only attributes that the state records as sensitive were found
	NoAdvice    GapKind = "no-advice"    // write-only arguments were found only by their names
)

// Gap is a problem with a provider, such as a missing schema. It limits the examination of objects of the listed types,
// as the kind of the gap describes.
type Gap struct {
	Kind     GapKind
	Provider addr.Provider
	Types    []string // resource types, sorted
	Problem  string   // the description of the gap, as whole sentences
}

// Report is the result of an audit: the secrets that the examined places store, with the limits of the search.
type Report struct {
	Findings []*Finding // sorted by address
	Places   []*Place   // all places, in the order of Auditor.Place
	Values   int        // number of different values, which is the highest label
	Short    int        // number of values that are too short or too common, so that Report does not search for them inside others
	Gaps     []Gap
	Packed   []string // addresses of values with so much packed into them that they were not searched completely

	labels map[string]int    // the labels (numbers) of values
	names  func() []string   // returns the names that a copy of the state needs; nil: no names
	masked func() int        // returns the highest number of the masks that an earlier removal left; nil: no masks
	hider  *strings.Replacer // the replacer that Hide uses; nil before the first call of Hide
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

// Hide replaces the report's values in a text with "(sensitive value)". It does not replace values that are too short
// or too common to be searched for.
func (r *Report) Hide(text string) string {
	if r.hider == nil {
		var pairs []string
		for _, v := range slices.SortedFunc(maps.Keys(r.labels), func(a, b string) int { return len(b) - len(a) }) {
			if common(v) {
				continue
			}
			pairs = append(pairs, v, mark.Sensitive.Mask())
			if quoted := config.Quoted(v); quoted != `"`+v+`"` {
				pairs = append(pairs, quoted[1:len(quoted)-1], mark.Sensitive.Mask())
			}
		}
		r.hider = strings.NewReplacer(pairs...)
	}
	return r.hider.Replace(text)
}
