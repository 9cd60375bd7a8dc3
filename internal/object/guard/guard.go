package guard

import (
	"bytes"
	"sync"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/secret"
	"github.com/lethe-iac/lethe/internal/shortcut"
	"github.com/zclconf/go-cty/cty"
)

// Guard checks all answers of one walk (Admit). It knows the secrets of the run. Values in configurations are
// registered when they are sent to providers (WriteOnly, Given). The results of ephemeral resources are registered when
// they are admitted. The methods may be called concurrently.
type Guard struct {
	Secrets *secret.Set // nil if the walk has no secrets
	// Echoes reports whether provider p exists to return its configuration in its answers, and text is a part of that
	// configuration. Only such text is exempt from the search for secrets. Test programs use such providers. A nil
	// Echoes means that no provider does this.
	Echoes func(p addr.Provider, text string) bool
	Closed shortcut.Set // disabled shortcuts

	mu    sync.Mutex
	later []func() // see Review
}

// SameWire reports whether two encoded objects are equal byte for byte, so that their values are equal, too. It returns
// false if this shortcut is disabled.
func (g *Guard) SameWire(a, b []byte) bool {
	return !g.Closed.Has(shortcut.Wire) && bytes.Equal(a, b)
}

// configured reports whether the configuration has a known value at a path that is not null. It returns false if config
// is NilVal.
func configured(config cty.Value, path cty.Path) bool {
	if config == cty.NilVal {
		return false
	}
	v, err := path.Apply(config)
	return err == nil && v.IsKnown() && !v.IsNull()
}

// Apart returns a guard with the same secrets. It is for answers that are never stored, so Review does not check them.
func (g *Guard) Apart() *Guard {
	return &Guard{Secrets: g.Secrets, Echoes: g.Echoes, Closed: g.Closed}
}

// Review repeats the search for secrets in the answers that were admitted before all secrets of the walk were known,
// and reports each secret in them. It must be called before the answers are stored. It may be called more than once.
func (g *Guard) Review() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, look := range g.later {
		look()
	}
	g.later = nil
}

// LookAgain makes Review call look, unless the secrets are still the same as at the time since (a result of
// secret.Set.Rules).
func (g *Guard) LookAgain(since int64, look func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.later = append(g.later, func() {
		if g.Secrets.Rules() != since {
			look()
		}
	})
}
