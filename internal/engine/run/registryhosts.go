package run

import (
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/state"
)

// Hosts determines the registry host with which a run shows and stores the address of a provider. The host is ambiguous
// because the engine treats the registries of Terraform and OpenTofu as one registry.
type Hosts struct {
	state *state.Snapshot                           // may be nil
	given map[addr.Provider]bool                    // providers for which required_providers names a host
	named func(addr.Provider) (addr.Provider, bool) // HostNames.Attached
	other string                                    // HostNames.Default
}

// HostsFor returns the Hosts for the configuration tree and the state to which it is applied. tree and s may be nil.
func HostsFor(set *Settings, tree *config.Tree, s *state.Snapshot) Hosts {
	h := Hosts{s, map[addr.Provider]bool{}, set.HostNames.Attached, set.HostNames.Default}
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

// Of returns a provider with the registry host to show and to store. If the host is not one of the registries of
// Terraform and OpenTofu, or the configuration names the host, Of returns p unchanged. Otherwise the host comes from
// the first of these that has one: the state, the provider that the user attached (HostNames.Attached), the default
// (HostNames.Default).
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

// Hosted returns e, the state entry of the object o, with the registry host to store. It changes a copy, and returns
// nil if e is nil. If the configuration does not name a host, a stored object keeps the host of its entry, and a new
// object gets the result of Of.
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
	copied := *e
	copied.Provider.Provider = p
	return &copied
}
