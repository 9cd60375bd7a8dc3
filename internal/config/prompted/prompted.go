// Package prompted adds arguments to provider blocks in memory, without changing the files: values that the user
// entered, and values for providers that a test mocks.
package prompted

import (
	"maps"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/zclconf/go-cty/cty"
)

// Unset returns the given names that a provider block does not set. If the module has no such block, Unset returns all
// names. For a block in JSON syntax or with for_each, Unset returns nil, because Supply cannot add arguments to such
// blocks.
func Unset(m *config.Module, name config.ProviderName, names []string) []string {
	b := m.Providers[name]
	if b == nil {
		return names
	}
	native, ok := b.Body.(*hclsyntax.Body)
	if !ok || b.ForEach != nil {
		return nil
	}
	var unset []string
	for _, n := range names {
		if native.Attributes[n] == nil {
			unset = append(unset, n)
		}
	}
	return unset
}

// Supply sets arguments of a provider block, such as values that the user entered. It creates the block if it does not
// exist. An existing block must be in native syntax (see Unset). Supply does not change the text of the files, because
// plans contain this text, and the values may be secret.
func Supply(m *config.Module, name config.ProviderName, values map[string]cty.Value) {
	b := m.Providers[name]
	body := &hclsyntax.Body{Attributes: hclsyntax.Attributes{}}
	if b == nil {
		b = &config.Provider{ProviderName: name}
	} else {
		copied := *b
		b = &copied
		*body = *b.Body.(*hclsyntax.Body)
		body.Attributes = maps.Clone(body.Attributes)
	}
	for n, v := range values {
		at := hcl.Range{Filename: "input", Start: hcl.InitialPos, End: hcl.InitialPos}
		body.Attributes[n] = &hclsyntax.Attribute{Name: n, Expr: &hclsyntax.LiteralValueExpr{Val: v, SrcRange: at}, SrcRange: at, NameRange: at, EqualsRange: at}
	}
	b.Body = body
	m.Providers[name] = b
}
