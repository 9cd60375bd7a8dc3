package plugins

import (
	"maps"
	"slices"
	"strconv"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
)

// neededBy returns the message d with the place that requires a provider, in the first module that has one: the entry
// in required_providers, or the first block that implies the provider. In the second case, the name may be misspelt, so
// neededBy suggests a similar local name. If no module requires the provider, it returns d unchanged.
func neededBy(tree *config.Tree, a addr.Provider, d diag.Diagnostic) diag.Diagnostic {
	found := false
	tree.Root.Walk(func(n *config.Node) {
		for _, local := range slices.Sorted(maps.Keys(n.Module.Required)) {
			r := n.Module.Required[local]
			if found || r.Source != a {
				continue
			}
			if r.Range != (diag.Range{}) {
				found, d = true, d.See("required here", r.Range)
				continue
			}
			at, ok := implies(n.Module, local)
			if !ok {
				continue
			}
			found, d = true, d.See("required here", at)
			others := slices.DeleteFunc(append(slices.Sorted(maps.Keys(n.Module.Required)), "terraform", "lethe"), func(s string) bool { return s == local })
			if hint := diag.Meant(diag.Suggest(local, others)); hint != "" {
				d.Detail += "\n\nNothing declares a provider " + strconv.Quote(local) + "; it is only implied here." + hint
			}
		}
	})
	return d
}

// implies returns the position of the first block in a module that uses the provider with the given local name: a
// resource, a data source, an ephemeral resource, an action or a provider block. Blocks are ordered by file name and
// position. implies returns false if no block uses the provider.
func implies(m *config.Module, local string) (diag.Range, bool) {
	var places []diag.Range
	for r := range m.Blocks() {
		if r.LocalProvider().Local == local {
			places = append(places, r.TypeRange)
		}
	}
	for name, p := range m.Providers {
		if name.Local == local {
			places = append(places, p.Range)
		}
	}
	if len(places) == 0 {
		return diag.Range{}, false
	}
	return slices.MinFunc(places, diag.CompareRanges), true
}
