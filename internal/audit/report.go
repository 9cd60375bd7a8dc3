package audit

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/state"
)

// Report examines the contents and returns the findings. If the context ends first, it returns the error of the
// context.
func (a *Auditor) Report(ctx context.Context) (*Report, error) {
	x := &examination{
		Auditor: a, types: map[typeKey]*typeFacts{}, found: map[findingKey]*Finding{}, own: map[int32][]string{},
		gaps: map[gapKey]map[string]bool{}, advice: map[adviceKey]string{}, asked: map[adviceKey]bool{},
	}
	x.collect()
	x.register()
	if err := x.search(ctx); err != nil {
		return nil, err
	}
	return x.report(), nil
}

// report makes the Report of an examination: the sorted findings with the numbers of their values, their places and
// their remedies, and the gaps. It masks secrets in addresses and paths.
func (x *examination) report() *Report {
	r := &Report{Places: x.places, Short: x.short}
	for _, address := range x.packed {
		r.Packed = append(r.Packed, x.withoutKeys(address))
	}
	for _, f := range x.found {
		r.Findings = append(r.Findings, f)
	}
	slices.SortFunc(r.Findings, compare)
	labels := map[string]int{}
	for _, f := range r.Findings {
		for _, text := range f.values {
			if labels[text] == 0 {
				labels[text] = len(labels) + 1
			}
			f.Labels = append(f.Labels, labels[text])
		}
		slices.Sort(f.Labels)
		for _, p := range x.places {
			switch {
			case f.in[p] == nil:
			case p.Kind == Version:
				f.Versions = append(f.Versions, p)
			default:
				f.Places = append(f.Places, p)
			}
		}
		f.Remedy = x.remedy(f)
		f.Address, f.Path = x.withoutKeys(f.Address), x.set.Scrub(f.Path)
	}
	r.Values, r.labels, r.names, r.masked = len(labels), labels, x.names, x.masked
	for key, types := range x.gaps {
		g := Gap{Kind: key.kind, Provider: key.provider, Problem: key.problem}
		for name := range types {
			g.Types = append(g.Types, name)
		}
		slices.Sort(g.Types)
		r.Gaps = append(r.Gaps, g)
	}
	slices.SortFunc(r.Gaps, func(a, b Gap) int {
		return cmp.Or(strings.Compare(a.Provider.String(), b.Provider.String()), strings.Compare(a.Problem, b.Problem))
	})
	return r
}

// keys matches the keys of instances and modules in an address.
var keys = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`"(?:[^"\\]|\\.)*"`) })

// withoutKeys returns an address in which the secrets in instance keys are masked.
func (x *examination) withoutKeys(address string) string {
	return keys().ReplaceAllStringFunc(address, x.set.Scrub)
}

// compare is the order of findings: objects in the order of "state list", then everything else by address. Findings of
// one address are in the order of path and reason.
func compare(a, b *Finding) int {
	if x, y := a.object != (addr.Object{}), b.object != (addr.Object{}); x != y {
		if x {
			return -1
		}
		return 1
	}
	return cmp.Or(state.Listed(a.object, b.object), strings.Compare(a.Address, b.Address), strings.Compare(a.Path, b.Path), strings.Compare(string(a.Reason), string(b.Reason)))
}
