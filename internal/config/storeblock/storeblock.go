// Package storeblock divides a state_store block into the settings of the store and the settings of the store's
// provider.
package storeblock

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
)

// Provider is the type of the block with the settings of the provider.
const Provider = "provider"

// Parts has the arguments of a state_store block, divided into the settings of its provider and its own settings.
type Parts struct {
	Local    string          // the local name of the provider
	Provider *config.Backend // the settings of the provider
	Own      *config.Backend // the settings of the store
}

// Divide divides a state_store block into the settings of the provider and the settings of the store. The block must
// contain exactly one block of the type provider. Otherwise, Divide reports an error and returns false.
func Divide(b *config.Backend, bag *diag.Bag) (Parts, bool) {
	content, rest, ds := b.Body.PartialContent(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: Provider, LabelNames: []string{"name"}}}})
	if bag.HCL(ds); ds.HasErrors() {
		return Parts{}, false
	}
	if len(content.Blocks) != 1 {
		bag.Add(diag.Errorf("Invalid backend configuration", "A state_store block must have one block \"provider\" with the local name of the provider that has the state store. The block has the settings of the provider, and may be empty.").At(b.Range))
		return Parts{}, false
	}
	if n, ok := rest.(*hclsyntax.Body); ok {
		own := *n
		own.Blocks = slices.DeleteFunc(slices.Clone(n.Blocks), func(b *hclsyntax.Block) bool { return b.Type == Provider })
		rest = &own
	}
	in := content.Blocks[0]
	return Parts{in.Labels[0], &config.Backend{Type: b.Type, Body: in.Body, Range: b.Range}, &config.Backend{Type: b.Type, Body: rest, Range: b.Range}}, true
}

// Required returns the requirement for the provider in required_providers of the module, and false if the module has
// none.
func (p Parts) Required(m *config.Module) (*config.Requirement, bool) {
	r := m.Required[p.Local]
	return r, r != nil && r.Range != (diag.Range{})
}
