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

// Session is one configured provider process: an instance of a provider configuration on one face. It starts when the
// first job needs it, and ends after the last job.
type Session struct {
	mu       sync.Mutex
	settled  bool // the settings were evaluated
	well     bool // the settings have no errors
	Unknown  bool // the settings have unknown values: the session may plan, but not read
	settings mark.Value
	opened   bool // the process was started and configured, or this has failed
	ok       bool // the process is configured
	Provider provider.Provider
	shared   bool        // another session uses the same process
	warned   bool        // the user was warned that objects of this session are not refreshed
	end      func()      // ends a process that was configured with leases; nil: it may end at any time
	settling diag.Shared // diagnostics of the evaluation of the settings, for every caller
	opening  diag.Shared // diagnostics of starting and configuring the process, for callers that need it

	Astray atomic.Bool // an object to destroy was not found with these settings, so the other session destroys it

	asking    sync.Once // asks for the functions once
	functions map[string]*provider.Function
	failed    error // the error of that request
}

// sessionKey identifies a session. If the settings of a provider do not depend on managed resources, they are equal on
// both faces (the prior and the planned values), and the provider has only a session on the after face.
type sessionKey struct {
	instance addr.ProviderInstance
	face     frame.Face
}

// FirstWarning returns true on its first call, and false on later calls.
func (s *Session) FirstWarning() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := !s.warned
	s.warned = true
	return first
}

// stop ends the process of the session.
func (s *Session) stop(pool *provider.Pool) {
	if s.end != nil {
		s.end()
		return
	}
	pool.Release(s.Provider)
}

// keepable reports whether a later walk may use the process: it is configured, has not crashed, and its settings are
// known and have no ephemeral values.
func (s *Session) keepable() bool {
	if c, ok := s.Provider.(provider.Crasher); ok && c.Crashed() {
		return false
	}
	return s.ok && s.end == nil && !s.Unknown && !s.settings.Has(mark.Ephemeral)
}

// idle returns the process of a session for the next walk.
func (s *Session) idle(k sessionKey, now time.Time) idleSession {
	return idleSession{k.instance, s.settings.Raw, s.Provider, now}
}

// Same reports whether two sessions have the same known settings.
func (s *Session) Same(t *Session) bool {
	return s.settled && t.settled && s.well && t.well && !s.Unknown && !t.Unknown && s.settings.Raw.RawEquals(t.settings.Raw)
}
