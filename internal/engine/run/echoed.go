package run

import (
	"sync"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/object/guard"
	"github.com/zclconf/go-cty/cty"
)

// echoedSettings are the settings of the providers that return their settings in their answers, such as test programs.
type echoedSettings struct {
	mu    sync.Mutex
	texts map[addr.Provider]map[string]bool
}

// add records the strings, numbers and keys of a provider's settings.
func (e *echoedSettings) add(p addr.Provider, settings cty.Value) {
	e.mu.Lock()
	defer e.mu.Unlock()
	p = p.Canon()
	if e.texts == nil {
		e.texts = map[addr.Provider]map[string]bool{}
	}
	if e.texts[p] == nil {
		e.texts[p] = map[string]bool{}
	}
	guard.Texts(settings, func(_ cty.Path, text string) { e.texts[p][text] = true })
}

// contain reports whether a text equals a string, number or key in the settings of a provider.
func (e *echoedSettings) contain(p addr.Provider, text string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.texts[p.Canon()][text]
}
