package schema

import (
	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/zclconf/go-cty/cty"
)

// The proposed new state is the object that would result if the provider chose no values: the configuration, with the
// prior values of computed attributes that are not configured. Providers compute their plan from this object, and SDKs
// rely on its details. So the rules follow Terraform 1.11, whose behavior was observed with ten thousand random objects
// (testdata has some of them).

// Propose returns the proposed new state for the prior object and the configuration, which have the block's type. If
// prior is null, the object will be created: computed attributes are then null, and the provider makes them unknown. If
// config is null, the object will be destroyed, and the result is null.
func (b *Block) Propose(prior, config cty.Value) cty.Value {
	return b.shape().propose(prior, config)
}

func (s *shape) propose(prior, config cty.Value) cty.Value {
	if !s.computed || !known(config) {
		return config
	}
	return s.rebuild(config, func(n *node, cv cty.Value) cty.Value { return n.propose(n.in(prior), cv) })
}

// propose returns the proposed value of one attribute, or of all blocks of a type: the configured value, or the prior
// value of a computed attribute that is not configured. The exception is an optional attribute with nested attributes
// that was configured before and no longer is: it becomes null. A configured value with computed parts is merged part
// by part (see proposeEach).
func (n *node) propose(prior, config cty.Value) cty.Value {
	switch {
	case !n.computed:
		return config
	case n.attr != nil && n.attr.Computed && config.IsNull():
		if n.attr.Optional && n.inner != nil && n.configured(prior) {
			return config // the prior value came from the configuration, which no longer has the attribute
		}
		return prior
	case n.inner == nil || !known(config):
		return config
	}
	return n.proposeEach(prior, config)
}

// proposeEach merges the elements of a prior and a configured collection. Elements of lists correspond if they have the
// same index, elements of maps if they have the same key, and elements of sets if their content matches (see
// counterparts).
func (n *node) proposeEach(prior, config cty.Value) cty.Value {
	switch n.nesting {
	case Map:
		byKey := lookup(prior)
		return n.replace(config, func(k string, _ int, cv cty.Value) cty.Value { return n.inner.propose(orNull(byKey, k), cv) })
	case List, Set:
		was := n.counterparts(prior, elements(config))
		return n.replace(config, func(_ string, i int, cv cty.Value) cty.Value { return n.inner.propose(was[i], cv) })
	}
	return n.inner.propose(prior, config)
}

// counterparts returns, for each configured element of a list or set, the corresponding prior element. It returns null
// for an element without a corresponding prior element.
func (n *node) counterparts(prior cty.Value, config []cty.Value) []cty.Value {
	was := elements(prior)
	if n.nesting == Set {
		return n.inner.origins(was, config)
	}
	for len(was) < len(config) {
		was = append(was, cty.NullVal(cty.DynamicPseudoType))
	}
	return was
}

// origins returns, for each configured element of a set, the first prior element that a provider can have made from it
// (see from). It returns null if no prior element fits. It uses each prior element only once.
func (s *shape) origins(prior, config []cty.Value) []cty.Value {
	free := map[string][]cty.Value{}
	for _, pv := range prior {
		key := s.fixed(pv)
		free[key] = append(free[key], pv)
	}
	found := make([]cty.Value, len(config))
	for i, cv := range config {
		found[i] = cty.NullVal(cv.Type())
		key := s.fixed(cv)
		for j, pv := range free[key] {
			if s.from(pv, cv) {
				found[i] = pv
				free[key] = append(free[key][:j:j], free[key][j+1:]...)
				break
			}
		}
	}
	return found
}

// fixed returns a key for look-ups, which consists of attributes that must be equal in a configured element and in the
// object that a provider makes from it: the attributes that are not computed, and all sets. It leaves out nested
// attributes and blocks. It returns "" for an unknown or null value.
func (s *shape) fixed(v cty.Value) string {
	if !known(v) {
		return ""
	}
	var key []byte
	for _, n := range s.nodes {
		if n.inner == nil && (!n.attr.Computed || n.ty.IsSetType()) {
			key = appendKey(key, n.in(v))
		}
	}
	return string(key)
}

// from reports whether a provider can have made the prior object from the configured object. It must be possible to
// explain each difference: the attribute is computed and not configured, or it is a nested attribute that is null or
// unknown in the prior object. Sets must be equal.
func (s *shape) from(prior, config cty.Value) bool {
	switch {
	case !known(prior) || equal(prior, config):
		return true
	case config.IsNull():
		return false
	}
	for _, n := range s.nodes {
		if !n.from(n.in(prior), n.in(config)) {
			return false
		}
	}
	return true
}

func (n *node) from(prior, config cty.Value) bool {
	switch {
	case equal(prior, config):
		return true
	case n.ty.IsSetType():
		return false
	case n.inner == nil:
		return n.attr.Computed && config.IsNull()
	case !known(prior):
		return true
	case n.nesting == Single || n.nesting == Group:
		return n.inner.from(prior, config)
	case config.IsNull():
		return prior.LengthInt() == 0
	case !config.IsKnown():
		return n.fromUnknown(prior)
	case n.nesting == Map:
		want := lookup(config)
		for k, pv := range ctyvalue.Members(prior) {
			if cv, ok := want(k); !ok || !n.inner.from(pv, cv) {
				return false
			}
		}
		return true
	}
	want := elements(config)
	for i, pv := range ctyvalue.Items(prior) {
		if i >= len(want) || !n.inner.from(pv, want[i]) {
			return false
		}
	}
	return true
}

// fromUnknown reports whether a provider can have made the prior collection from an unknown list or map. That is
// possible if each element can have been made from an unknown element.
func (n *node) fromUnknown(prior cty.Value) bool {
	for it := prior.ElementIterator(); it.Next(); {
		if _, pv := it.Element(); !n.inner.from(pv, n.inner.unknown) {
			return false
		}
	}
	return true
}

// configured reports whether a nested attribute contains a value that the provider cannot compute, so that the value
// must come from a configuration.
func (n *node) configured(v cty.Value) bool {
	switch {
	case !known(v):
		return false
	case n.nesting == Single || n.nesting == Group:
		return n.inner.configured(v)
	}
	for it := v.ElementIterator(); it.Next(); {
		if _, ev := it.Element(); known(ev) && n.inner.configured(ev) {
			return true
		}
	}
	return false
}

func (s *shape) configured(v cty.Value) bool {
	for _, n := range s.nodes {
		switch av := n.in(v); {
		case av.IsNull():
		case !n.attr.Computed, n.inner != nil && n.configured(av):
			return true
		}
	}
	return false
}
