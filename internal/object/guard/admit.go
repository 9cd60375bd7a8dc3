package guard

import (
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/zclconf/go-cty/cty"
)

// Record writes the value, the identity and the private data of a checked answer into the state entry e. If encoding
// fails, it reports an error and returns false. Guard.Review later searches the entry for secrets that are registered
// after this call.
func (a *Admitted) Record(e *state.Entry) bool {
	e.Private = a.Private
	a.look.lookAgainAt(e)
	return a.look.of.Fill(e, a.Value, a.Identity)
}

// Admit checks the answer about an object against the protocol and against the secrets of the run. It returns the parts
// that may be used, never nil. Admit reports the provider's diagnostics, each breach of the protocol, and each secret
// that the answer must not contain. It returns false if it reported an error, if the provider deferred its answer and
// the request allowed this, or if an import found no object.
func (g *Guard) Admit(of Subject, answer *Answer, terms Terms) (*Admitted, bool) {
	a := &admission{
		look:   look{guard: g, since: g.Secrets.Rules(), of: of, rights: rights{config: terms.Config.Raw, was: terms.Was}, title: answer.of.title},
		answer: answer, terms: terms,
	}
	ok := answer.of.admit(a)
	if a.out.Outcome.Kind != plan.Deferred {
		a.out.Outcome = plan.Done(ok)
	}
	if a.out.Object != Present {
		a.out.Value, a.out.Wire, a.out.Identity, a.out.Replace = cty.NilVal, nil, cty.NilVal, nil
	}
	a.out.Legacy, a.out.Removed, a.out.look = answer.legacy, a.removed, &a.look
	return &a.out, ok
}
