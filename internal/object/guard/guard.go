package guard

import (
	"bytes"
	"sync"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/secret"
	"github.com/lethe-iac/lethe/internal/shortcut"
	"github.com/zclconf/go-cty/cty"
)

// Guard checks all answers of one walk (Admit). It knows the secrets of the run: values register when they are sent to
// providers (WriteOnly, Given), and the results of ephemeral resources when they are admitted. Its methods may be called
// concurrently.
type Guard struct {
	Secrets *secret.Set // nil if the walk has no secrets
	// Echoes reports whether provider p exists to echo its configuration and text is part of that configuration. Test
	// programs use such providers. The guard lets the echoed text pass and nothing else. A nil Echoes means that no
	// provider echoes.
	Echoes func(p addr.Provider, text string) bool
	Closed shortcut.Set // disabled shortcuts

	mu    sync.Mutex
	later []func() // see Review
}

// SameWire reports whether two encoded objects are equal byte for byte, so that their values are equal. It returns
// false if that shortcut is closed.
func (g *Guard) SameWire(a, b []byte) bool {
	return !g.Closed.Has(shortcut.Wire) && bytes.Equal(a, b)
}

// configured reports whether the configuration has a value at a path. It returns false for NilVal.
func configured(config cty.Value, path cty.Path) bool {
	if config == cty.NilVal {
		return false
	}
	v, err := path.Apply(config)
	return err == nil && v.IsKnown() && !v.IsNull()
}

// Apart returns a guard with the same secrets for answers that are used at once and never stored: Review does not check
// them.
func (g *Guard) Apart() *Guard {
	return &Guard{Secrets: g.Secrets, Echoes: g.Echoes, Closed: g.Closed}
}

// Review checks the admitted answers again that came before all secrets of the walk were known, and reports each secret
// in them. It must be called before the answers are stored. It may be called more than once.
func (g *Guard) Review() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, look := range g.later {
		look()
	}
	g.later = nil
}

// LookAgain makes Review call look if the rules of the secrets have become stricter since then (secret.Set.Rules).
func (g *Guard) LookAgain(since int64, look func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.later = append(g.later, func() {
		if g.Secrets.Rules() != since {
			look()
		}
	})
}
