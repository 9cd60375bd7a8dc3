package engine

import (
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/lang"
	"github.com/lethe-iac/lethe/internal/state"
)

// hosts says under which registry host the objects of providers are stored.
type hosts struct {
	state *state.Snapshot
	given map[addr.Provider]bool // providers whose host the configuration names itself
	named func(addr.Provider) (addr.Provider, bool)
}

func (e *Engine) newHosts(prog *lang.Program, s *state.Snapshot) hosts {
	h := hosts{s, map[addr.Provider]bool{}, e.Named}
	prog.Tree().Root.Walk(func(n *config.Node) {
		for _, q := range n.Module.Required {
			if q.HostGiven {
				h.given[q.Source] = true
			}
		}
	})
	return h
}

// host is a provider with the host that the state uses or, if it uses none, with that under which
// it was attached.
func (h *hosts) host(p addr.Provider) addr.Provider {
	if h.named != nil {
		if n, ok := h.named(p); ok {
			p = n
		}
	}
	return h.state.HostFor(p)
}

// hosted is an entry with its provider under the host that the state has for it: that of the object
// as it was stored or, for a new one, that of the state's other objects. A host that the
// configuration names stays.
func (h *hosts) hosted(o addr.Object, e *state.Entry) *state.Entry {
	if e == nil || h.given[e.Provider.Provider] {
		return e
	}
	p := h.host(e.Provider.Provider)
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
