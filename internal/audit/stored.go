package audit

import (
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/state"
)

// Stored returns the number of attributes and root outputs of a state that are secrets themselves: the findings of a
// Report without the reasons Contained and Private. Stored decodes only objects that have attributes recorded as
// sensitive, or whose type has sensitive attributes. schemas returns the schemas of a provider. Stored returns 0 if s
// is nil.
func Stored(s *state.Snapshot, schemas func(addr.Provider) (*provider.Schemas, error)) int {
	if s == nil {
		return 0
	}
	x := &examination{Auditor: New(Inputs{Schemas: schemas}), types: map[typeKey]*typeFacts{}, found: map[findingKey]*Finding{}, own: map[int32][]string{}, gaps: map[gapKey]map[string]bool{}}
	p := x.Place(Place{Kind: State})
	for o, e := range s.Objects() {
		if len(e.Sensitive) > 0 || x.facts(e.Provider.Provider, o).sensitive {
			x.units = append(x.units, &unit{name: o.String(), object: o, entry: e, in: []int32{0}})
		}
	}
	x.outputs(x.number(p), s.Outputs)
	x.collect()
	return len(x.found)
}
