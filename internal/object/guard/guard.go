package guard

import (
	"bytes"
	"sync"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/secret"
	"github.com/lethe-iac/lethe/internal/shortcut"
	"github.com/zclconf/go-cty/cty"
)

// Guard checks all answers of one walk (the run of a plan or an apply) with Admit. Secrets has the secrets of the run.
// Callers register secrets in configurations before they send them to providers (WriteOnly, Given). Admit registers the
// results of ephemeral resources. The methods may be called concurrently.
type Guard struct {
	Secrets *secret.Set // nil if the walk has no secrets
	// Echoes reports whether the provider p is a test program that returns its configuration in its answers, and text
	// is a part of that configuration. Such a text is exempt from the search for secrets. nil means that there is no
	// such provider.
	Echoes func(p addr.Provider, text string) bool
	Closed shortcut.Set // disabled shortcuts

	mu    sync.Mutex
	later []func() // the searches that Review repeats
}

// SameWire reports whether two encoded objects are equal byte for byte, so that their values are equal, too. It always
// returns false if the shortcut "wire" is disabled (Closed).
func (g *Guard) SameWire(a, b []byte) bool {
	return !g.Closed.Has(shortcut.Wire) && bytes.Equal(a, b)
}

// configured reports whether config has a value at path that is known and not null. It returns false if config is
// NilVal.
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

// Review repeats the search for secrets in the answers that were checked before the last secret was registered, and
// reports an error for each secret in them. The caller must call it before it stores the answers. Each answer is
// searched again once: a second call of Review searches only the answers since the first call.
func (g *Guard) Review() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, look := range g.later {
		look()
	}
	g.later = nil
}

// LookAgain makes the next call of Review call the function look, unless no secret has been registered since an earlier
// call of Secrets.Rules. The argument since is the result of this earlier call.
func (g *Guard) LookAgain(since int64, look func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.later = append(g.later, func() {
		if g.Secrets.Rules() != since {
			look()
		}
	})
}
