package engine

import (
	"testing"

	"github.com/lethe-iac/lethe/internal/addr"
)

// If another program runs a provider for its tests, an ephemeral resource without references is opened and closed at
// once, because the author of the provider wants to test the opening and the closing. An ephemeral resource with
// references is opened only for these.
func TestTestedProviderIsOpened(t *testing.T) {
	const lone = "ephemeral \"plant_key\" \"k\" {\n}\n"
	for _, c := range []struct {
		config string
		tested bool
		opened int64
	}{
		{lone, true, 1},
		{lone, false, 0},
		{lone + "locals {\n  k = ephemeral.plant_key.k.token\n}\n", true, 0},
	} {
		w, p := newPlantWorld(t)
		w.engine.Providers.Echoes = func(addr.Provider) bool { return c.tested }
		w.plan(w.compile(map[string]string{"main.tf": c.config}), nil)
		if opened, closed := p.opened.Load(), p.closed.Load(); opened != c.opened || closed != c.opened {
			t.Errorf("%s tested %v: opened %d times, closed %d times", c.config, c.tested, opened, closed)
		}
	}
}
