package audit

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lethe-iac/lethe/internal/secret"
)

// Removal removes values from the copies of a state that no longer stores them.
type Removal struct {
	Secrets []Removed // sorted by label
	Kept    []Kept    // sorted by address; their values are not removed

	rewriter rewriter
	blanks   blanks
}

// Removed is a value that the removal removes.
type Removed struct {
	Label  int
	Stored []string  // addresses with attributes, sorted
	Copies []*Place  // the places with the value, sorted as they were added
	Since  time.Time // when the earliest of them was written; zero if unknown
	Last   bool      // no other copy is known
	Alone  bool      // removed only from the attributes in Stored: it is too short or too common to be removed from other texts
}

// Kept is a secret in a copy that the removal does not remove.
type Kept struct {
	Stored string // the address with the attribute
	Labels []int
	Why    WhyKept
}

// WhyKept is the reason why a value is not removed.
type WhyKept string

// The reasons.
const (
	StillStored WhyKept = "the state still stores the attribute" // the state still stores the attribute, with this or another value
	StillInUse  WhyKept = "the state still contains the value"
	StillShared WhyKept = "it is a former value of another attribute that the state still stores"
	InName      WhyKept = "a name that a copy needs contains the value: of a resource type, a resource, a module, a provider, an output or an attribute"
	TooCommon   WhyKept = "the value is too short or too common: a boolean, or a value in a journal or in flat attributes"
)

// Removal returns the removal of values that only copies store: values of attributes that the current state no longer
// stores. current is the place of the current state. elsewhere reports whether a value has another copy that Lethe
// keeps outside these places, such as the value of a variable. It may be nil.
func (r *Report) Removal(current *Place, elsewhere func(value string) bool) *Removal {
	m := &Removal{rewriter: rewriter{values: map[string]bool{}, set: &secret.Set{}}, blanks: blanks{}}
	inUse, stored := map[string]bool{}, map[[2]string]bool{}
	unaddressed := map[string]bool{} // the values in a text without the addresses of a state, or in flat attributes
	for _, f := range r.Findings {
		for text := range f.in[current] {
			inUse[text] = true
		}
		for p, texts := range f.in {
			for text := range texts {
				unaddressed[text] = unaddressed[text] || p.Kind == Journal || f.flat
			}
		}
		if f.in[current] != nil && f.isSource() {
			stored[f.at] = true
		}
	}
	shared := map[string]bool{}
	for _, f := range r.Findings {
		if f.isSource() && stored[f.at] {
			for _, text := range f.values {
				shared[text] = true
			}
		}
	}
	search := r.search()
	within(search, inUse)
	within(search, shared)
	named := r.inNames(search)
	found := map[string]*Removed{}
	for _, f := range r.Findings {
		if !f.isSource() {
			continue
		}
		kept := map[WhyKept][]int{}
		for _, text := range f.values {
			label := r.labels[text]
			switch {
			case f.in[current][text]:
				continue // the value is not a former value
			case stored[f.at]:
				kept[StillStored] = append(kept[StillStored], label)
			case inUse[text]:
				kept[StillInUse] = append(kept[StillInUse], label)
			case shared[text]:
				kept[StillShared] = append(kept[StillShared], label)
			case named[text]:
				kept[InName] = append(kept[InName], label)
			case common(text) && (unaddressed[text] || text == "true" || text == "false"):
				kept[TooCommon] = append(kept[TooCommon], label)
			default:
				m.add(found, f, text, label, elsewhere)
			}
		}
		for _, why := range []WhyKept{StillStored, StillInUse, StillShared, InName, TooCommon} {
			if labels := kept[why]; labels != nil {
				m.Kept = append(m.Kept, Kept{f.stored(), labels, why})
			}
		}
	}
	in := map[*Removed]map[*Place]bool{}
	for _, f := range r.Findings {
		for p, texts := range f.in {
			for text := range texts {
				if s := found[text]; s != nil {
					if in[s] == nil {
						in[s] = map[*Place]bool{}
					}
					in[s][p] = true
				}
			}
		}
	}
	for _, s := range found {
		s.copies(r.Places, in[s])
		m.Secrets = append(m.Secrets, *s)
	}
	slices.SortFunc(m.Secrets, func(a, b Removed) int { return cmp.Compare(a.Label, b.Label) })
	m.rewriter.number = map[string]int{}
	before := 0
	if len(found) > 0 && r.masked != nil {
		before = r.masked()
	}
	for text, s := range found {
		n, _ := slices.BinarySearchFunc(m.Secrets, s.Label, func(a Removed, label int) int { return cmp.Compare(a.Label, label) })
		m.rewriter.number[text] = before + n + 1
	}
	return m
}

// within adds the values that other values contain, in any encoded form: their masks would replace parts of these.
// search has all values that can be removed.
func within(search *secret.Set, values map[string]bool) {
	for _, text := range slices.Collect(maps.Keys(values)) {
		search.Within(text, func(inner string) { values[inner] = true })
	}
}

// isSource reports whether the finding is the attribute, output or variable because of which its values are secret.
func (f *Finding) isSource() bool { return f.Reason != Contained && f.Reason != Private }

// stored returns the address with the attribute.
func (f *Finding) stored() string { return strings.TrimSuffix(f.Address+"."+f.Path, ".") }

// add adds a former value to the removal. label is its number in the report. elsewhere reports whether a value has
// another copy outside the places of the report; nil means that no value has.
func (m *Removal) add(found map[string]*Removed, f *Finding, text string, label int, elsewhere func(string) bool) {
	s := found[text]
	if s == nil {
		s = &Removed{Label: label, Last: elsewhere == nil || !elsewhere(text), Alone: common(text)}
		found[text] = s
		if !s.Alone {
			m.rewriter.values[text] = true
			m.rewriter.set.Add(text, secret.Origin{Kind: secret.WriteOnly, Sensitive: true})
		}
	}
	if s.Alone {
		m.blanks[f.at[0]] = append(m.blanks[f.at[0]], blank{path: withoutIndexes(f.at[1]), text: text})
	}
	s.Stored = append(s.Stored, f.stored())
}

// copies records in s.Copies the places that contain the value, and in s.Since the earliest time of such a place.
func (s *Removed) copies(all []*Place, in map[*Place]bool) {
	for _, p := range all {
		if !in[p] {
			continue
		}
		s.Copies = append(s.Copies, p)
		if !p.Time.IsZero() && (s.Since.IsZero() || p.Time.Before(s.Since)) {
			s.Since = p.Time
		}
	}
}

// Rewrite returns the JSON text of a state or an object without the values, and whether the text contained any of them.
// It returns an error if the text contains a value, but is not valid JSON or has the value in a form that cannot be
// removed.
func (m *Removal) Rewrite(text []byte) (out []byte, changed bool, err error) {
	out, _, err = m.rewriter.rewrite(m.blanks.rewrite(text))
	return out, err == nil && !bytes.Equal(out, text), err
}

// Has reports whether a text contains one of the values, or is too large to be searched completely.
func (m *Removal) Has(text []byte) bool { return m.rewriter.holds(text) }
