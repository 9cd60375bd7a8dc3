package backend

import (
	"errors"
	"slices"

	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/config/storeblock"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/store"
	"github.com/zclconf/go-cty/cty"
)

// storeProblem returns the diagnostic for an error of stateStores.find: the provider cannot be started or has no such
// state store.
func storeProblem(err error) diag.Diagnostic {
	var d diag.Diagnostic
	if errors.As(err, &d) {
		return d
	}
	return diag.Errorf("Failed to open the state store", "%s.", store.Sentence(err))
}

// evaluate returns the settings in the state_store block of a module. If they are invalid, or if the provider is not in
// required_providers, it reports an error and returns false.
func (s *stateStores) evaluate(m *config.Module, static *frame.StaticFrame, bag *diag.Bag) (settings, bool) {
	b := m.Stored()
	parts, ok := storeblock.Divide(b, bag)
	if !ok {
		return settings{}, false
	}
	required, ok := parts.Required(m)
	if !ok {
		bag.Add(diag.Errorf(badBackend, "The provider %q of the state store is not in required_providers. Add it there with its source, because init installs it before it reads the state.", parts.Local).At(b.Range))
		return settings{}, false
	}
	k, err := s.find(required.Source, b.Type)
	if err != nil {
		bag.Add(storeProblem(err).At(b.Range))
		return settings{}, false
	}
	what := "state store " + k.Name
	out := settings{driver: k.Driver, provider: k.provider, version: k.version}
	attrs := map[string]cty.Value{}
	for _, part := range []struct {
		*config.Backend
		schema *schema.Block
		path   cty.Path
	}{
		{parts.Own, &schema.Block{Attrs: k.Schema.Attrs, Blocks: k.own.Blocks}, nil},
		{parts.Provider, k.Schema.Nested(providerBlock).Block, cty.GetAttrPath(providerBlock)},
	} {
		except := func(path cty.Path) bool { return secret(part.schema, path) }
		if !static.Lasting(part.Body, what, except, bag) {
			return settings{}, false
		}
		v, ok := static.Body(part.Body, part.schema, what, bag)
		if !ok {
			return settings{}, false
		}
		for _, path := range append(v.PathsOf(mark.Ephemeral), v.PathsOf(mark.Sensitive)...) {
			out.ephemeral = append(out.ephemeral, append(slices.Clip(part.path), path...))
		}
		if part.path != nil {
			attrs[providerBlock] = v.Raw
			continue
		}
		for name, v := range v.Raw.AsValueMap() {
			attrs[name] = v
		}
	}
	out.config = cty.ObjectVal(attrs)
	return out, true
}

// whereIn returns the position of a setting in a state_store block.
func whereIn(b *config.Backend, static *frame.StaticFrame, sch *schema.Block, path cty.Path) diag.Range {
	parts, ok := storeblock.Divide(b, &diag.Bag{})
	if !ok {
		return b.Range
	}
	in := parts.Own
	if step, ok := path[0].(cty.GetAttrStep); ok && step.Name == providerBlock {
		in, sch, path = parts.Provider, sch.Nested(providerBlock).Block, path[1:]
	}
	return static.Where(in.Body, sch, b.Range, path)
}

// secretsOf returns the values in a state_store block that are secret and written literally. If the schema of the store
// is not known yet, all literal values count as secret.
func (s *stateStores) secretsOf(b *config.Backend) []config.Constant {
	parts, ok := storeblock.Divide(b, &diag.Bag{})
	if !ok {
		return nil
	}
	is := func(path cty.Path) bool { return true }
	if i := slices.IndexFunc(s.known, func(k *stateStore) bool { return k.Name == b.Type }); i >= 0 {
		is = func(path cty.Path) bool { return secret(s.known[i].Schema, path) }
	}
	return append(parts.Own.Constants(is), parts.Provider.Constants(func(path cty.Path) bool { return is(append(cty.GetAttrPath(providerBlock), path...)) })...)
}
