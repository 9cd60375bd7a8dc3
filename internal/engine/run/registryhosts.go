package run

import (
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/state"
)

// Hosts says which registry host states and documents of one run name for a provider: that of Terraform or that of
// OpenTofu, since a provider of either is one and the same here.
type Hosts struct {
	state *state.Snapshot
	given map[addr.Provider]bool // providers whose host the configuration names itself
	named func(addr.Provider) (addr.Provider, bool)
	other string
}

// HostsFor is for a configuration and the state that it is applied to; either may be nil.
func HostsFor(set *Settings, tree *config.Tree, s *state.Snapshot) Hosts {
	h := Hosts{s, map[addr.Provider]bool{}, set.Named, set.Host}
	if tree == nil {
		return h
	}
	tree.Root.Walk(func(n *config.Node) {
		for _, q := range n.Module.Required {
			if q.HostGiven {
				h.given[q.Source] = true
			}
		}
	})
	return h
}

// Of is a provider with the host that the configuration names for it or else the state uses or, if
// it uses none, with that under which it was attached or, if it was not, with that of the name by
// which the program was called.
func (h Hosts) Of(p addr.Provider) addr.Provider {
	if _, ok := p.Counterpart(); !ok || h.given[p] {
		return p
	}
	if p, ok := h.state.HostFor(p); ok {
		return p
	}
	if h.named != nil {
		if n, ok := h.named(p); ok {
			return n
		}
	}
	if h.other != "" {
		p.Host = h.other
	}
	return p
}

// Hosted is an entry with its provider under the host that the state has for it: that of the object
// as it was stored or, for a new one, that of the state's other objects.
func (h Hosts) Hosted(o addr.Object, e *state.Entry) *state.Entry {
	if e == nil || h.given[e.Provider.Provider] {
		return e
	}
	p := h.Of(e.Provider.Provider)
	if was := h.state.Get(o); was != nil && was.Provider.Provider.Canon() == p.Canon() {
		p = was.Provider.Provider
	}
	if p == e.Provider.Provider {
		return e
	}
	twin := *e
	twin.Provider.Provider = p
	return &twin
}
