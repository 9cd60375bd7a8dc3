package object

import (
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state"
)

// Stored is a stored object in its wire form, without a provider's help: the entry must be of the
// current schema, as everything is that a plan has refreshed.
func (t *Tools) Stored(e *state.Entry) (Known, bool) {
	v, err := t.Type.DecodeJSON(e.Attrs)
	if err != nil {
		malformed(t, "Invalid stored object", err)
		return Known{}, false
	}
	wire, ok := encode(t, v)
	return Known{Wire: wire, Upgraded: wire}, ok
}

// Approved is the proposal that the plan recorded. It stands where nothing that the provider
// decided by can have changed since: the configuration was wholly known and nothing in it is
// write-only.
func (t *Tools) Approved(c *plan.Change, cur Current, config mark.Value, f Forced) (*Proposal, bool) {
	prior := t.Type.Null()
	p := &Proposal{Prior: nullWire, Value: c.After.Raw, Private: c.Private, Identity: c.Identity, Legacy: c.Legacy}
	var ok bool
	if cur.Entry != nil {
		p.Prior = cur.Wire
		if prior, ok = decode(t, cur.Wire, "Invalid stored object"); !ok {
			return nil, false
		}
	}
	p.Was = prior
	p.Asked = ignore(config, prior, cur.Entry, f)
	if p.Config, ok = encode(t, p.Asked.Raw); !ok {
		return nil, false
	}
	p.Planned, ok = encode(t, c.After.Raw)
	return p, ok
}
