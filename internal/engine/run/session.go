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

// Session is a provider process that is configured for one instance of a provider configuration, with its prior
// settings (before face) or its planned settings (after face). The process starts when the first job needs it, and ends
// after the last job.
type Session struct {
	mu       sync.Mutex
	settled  bool // the settings were evaluated
	well     bool // the settings have no errors
	Unknown  bool // the settings have unknown values: the provider may plan objects, but not read them
	settings mark.Value
	opened   bool // open has ended: the process was started and configured, or starting or configuring it failed
	ok       bool // the process is configured
	Provider provider.Provider
	shared   bool        // the process belongs to the session on the other face, which ends it, unless that session ends first
	warned   bool        // the user was warned that objects of this session are not refreshed
	end      func()      // ends the process through the ledger (the list of open ephemeral resources), if the settings have values of ephemeral resources; nil: the pool of providers ends the process
	settling diag.Shared // diagnostics of the evaluation of the settings, for every caller
	opening  diag.Shared // diagnostics of starting and configuring the process, for callers that need it

	Astray atomic.Bool // with these prior settings, an object to destroy was not found, so the session with the planned settings destroys it

	asking    sync.Once                     // guards the request for functions, which is made once
	functions map[string]*provider.Function // the functions that only the configured process has
	failed    error                         // the error of the request for functions
}

// sessionKey identifies a session. If the settings of a provider do not depend on managed resources, they are equal on
// both faces (the prior and the planned values), and the provider has only a session on the after face.
type sessionKey struct {
	instance addr.ProviderInstance
	face     frame.Face
}

// FirstWarning returns true on its first call, and false on later calls. The caller then warns that objects of this
// session are not refreshed.
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

// keepable reports whether a later walk (plan or apply) of the command may use the process: it is configured, has not
// crashed, and its settings are known and have no ephemeral values.
func (s *Session) keepable() bool {
	if c, ok := s.Provider.(provider.Crasher); ok && c.Crashed() {
		return false
	}
	return s.ok && s.end == nil && !s.Unknown && !s.settings.Has(mark.Ephemeral)
}

// idle returns the process of the session, with its settings, in the form in which Handover keeps it for the next walk.
func (s *Session) idle(k sessionKey, now time.Time) idleSession {
	return idleSession{k.instance, s.settings.Raw, s.Provider, now}
}

// Same reports whether the settings of both sessions were evaluated without errors, are known, and are equal.
func (s *Session) Same(t *Session) bool {
	return s.settled && t.settled && s.well && t.well && !s.Unknown && !t.Unknown && s.settings.Raw.RawEquals(t.settings.Raw)
}
