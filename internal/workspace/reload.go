package workspace

import (
	"context"
	"errors"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/store"
)

// Claim claims the parts of the state that a plan uses. It waits for other runs up to the lock timeout, and reads the
// state. If the parts are not as the plan found them, stale is a diagnostic about that, and a plan that is made after
// Reload may succeed. Other errors are reported. It does nothing if only this command works on the state, or if the
// plan has its parts already.
func (s *State) Claim(ctx context.Context, c Claim) (stale *diag.Diagnostic, ok bool) {
	if !s.lock.shared() || c.Base != nil && c.Base == s.basis.base {
		return nil, true
	}
	if c.Base == nil {
		c.Base = &state.Snapshot{}
	}
	timeout := s.req.Timeout
	if s.basis.keptClaims {
		timeout = 0 // a run that waited for parts while it has others could wait for a run that waits for these
	}
	err := s.lock.claim(ctx, c.Parts, timeout)
	if held := (*store.LockError)(nil); s.basis.keptClaims && errors.As(err, &held) {
		problem := s.lock.problem(err)
		s.Unlock()
		return &problem, false
	}
	if err != nil {
		s.env.Bag.Add(s.lock.problem(err))
		return nil, false
	}
	orphaned, err := s.recovery.unwritten(ctx, c.Parts)
	if err != nil {
		s.env.Bag.Add(diag.Errorf("Failed to read the journal", "%s.", err))
		return nil, false
	}
	if len(orphaned) > 0 {
		s.Unlock() // the next Lock takes them in
		d := outOfDate("After the state was read for this plan, other runs changed objects that the plan changes or depends on, and ended before they wrote the state", orphaned, "The next command recovers the journals of these runs. ")
		return &d, false
	}
	now, version, ok := s.doc.present(ctx)
	if !ok {
		return nil, false
	}
	if stale = c.outdated(ctx, s.req.Store, s.req.Name, now); stale != nil {
		s.basis.keptClaims = true
		return stale, false
	}
	s.basis.base, s.basis.atClaim = c.Base, now
	s.doc.snapshot, s.doc.version = now, version
	return nil, true
}

// Reload reads the state for another plan, after Claim found the first plan out of date. The claimed parts stay
// claimed, so that each of many waiting runs plans again once, unless Claim released them.
func (s *State) Reload(ctx context.Context) bool {
	s.End()
	if !s.lock.held() {
		s.lock.share, s.basis = nil, basis{}
		if !s.lock.acquire(ctx) {
			return false
		}
	} else if s.lock.shared() {
		s.basis.base, s.basis.atClaim = nil, nil
	}
	s.doc.part = nil
	return s.load(ctx)
}
