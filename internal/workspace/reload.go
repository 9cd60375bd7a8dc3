package workspace

import (
	"context"
	"errors"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/store"
)

// Claim claims the parts of the state that a plan uses. It waits for other runs up to the lock timeout, and reads the
// state. If the parts have changed since the plan, it returns the reason in stale and false: the caller may call Reload
// and plan again. It also does so, after it has released the lock, in two other cases: another run holds parts while
// this command keeps the claims for an earlier plan, or other runs ended before they wrote changes of the parts. It
// reports all other errors. If the command uses the state alone, or if the parts of the plan are claimed already, Claim
// does nothing.
func (s *State) Claim(ctx context.Context, c Claim) (stale *diag.Diagnostic, ok bool) {
	if !s.lock.shared() || c.Base != nil && c.Base == s.basis.base {
		return nil, true
	}
	if c.Base == nil {
		c.Base = &state.Snapshot{}
	}
	timeout := s.req.Timeout
	if s.basis.keptClaims {
		timeout = 0 // waiting while holding parts could be a deadlock with another run
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
		s.Unlock() // releases the lock, so that the next Lock replays the journals
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

// Reload reads the state for another plan, after Claim found that the first plan is out of date. The claimed parts stay
// claimed, unless Claim has released the lock. So, if many runs wait, each has to plan again only once. After an error,
// Reload reports the error and returns false.
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
