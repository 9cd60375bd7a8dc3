package run

import (
	"sync"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/object"
	"github.com/zclconf/go-cty/cty"
)

// testProviderValues is what providers that a test program runs are configured with, which some are there to
// show.
type testProviderValues struct {
	mu    sync.Mutex
	texts map[addr.Provider]map[string]bool
}

// add remembers a configuration: its strings and numbers, and the keys in it.
func (s *testProviderValues) add(p addr.Provider, settings cty.Value) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p = p.Canon()
	if s.texts == nil {
		s.texts = map[addr.Provider]map[string]bool{}
	}
	if s.texts[p] == nil {
		s.texts[p] = map[string]bool{}
	}
	object.Texts(settings, func(_ cty.Path, text string) { s.texts[p][text] = true })
}

func (s *testProviderValues) holds(p addr.Provider, text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.texts[p.Canon()][text]
}
