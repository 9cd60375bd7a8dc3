package run

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/provider"
)

// A Session is one configured provider process: an instance of a provider configuration, on one
// face. It starts when the first job needs it and ends after the last.
type Session struct {
	mu       sync.Mutex
	settled  bool // its settings were evaluated
	well     bool // and nothing is wrong with them
	Unknown  bool // they hold unknown values: it may plan, but not read
	settings mark.Value
	opened   bool
	ok       bool
	Provider provider.Provider
	shared   bool        // another session's process
	warned   bool        // it was said that nothing is refreshed through it
	end      func()      // ends the process, which was configured with leases; nil: any time will do
	said     diag.Shared // what opening it reported, for every caller

	Astray atomic.Bool // what is to be ended through it is not there

	asking    sync.Once // for its functions
	functions map[string]*provider.Function
	failed    error // of asking
}

// sessionKey names a session. Sessions of steady configurations, whose settings no managed
// resource has a part in, have only an after face.
type sessionKey struct {
	instance addr.ProviderInstance
	face     frame.Face
}

// FirstWarning reports, once, that it was not warned yet of what cannot be done through it.
func (s *Session) FirstWarning() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := !s.warned
	s.warned = true
	return first
}

// stop ends the process.
func (s *Session) stop(pool *provider.Pool) {
	if s.end != nil {
		s.end()
		return
	}
	pool.Release(s.Provider)
}

// keepable reports whether a later walk may go on using the process.
func (s *Session) keepable() bool {
	if c, ok := s.Provider.(provider.Crasher); ok && c.Lost() {
		return false
	}
	return s.ok && s.end == nil && !s.Unknown && !s.settings.Has(mark.Ephemeral)
}

// idle is what is left of a session when the walk is done with it.
func (s *Session) idle(k sessionKey, now time.Time) idleSession {
	return idleSession{k.instance, s.settings.Raw, s.Provider, now}
}

// Same reports whether two sessions have the same known settings.
func (s *Session) Same(t *Session) bool {
	return s.settled && t.settled && s.well && t.well && !s.Unknown && !t.Unknown && s.settings.Raw.RawEquals(t.settings.Raw)
}
