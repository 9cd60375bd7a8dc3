package run

import (
	"context"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/declared"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/shortcut"
	"github.com/lethe-iac/lethe/internal/walk"
)

// Close ends the processes that this walk configured, unless all are to be kept.
func (ss *Sessions) Close(ctx context.Context, bag *diag.Bag) {
	if ss.settings.KeepSessions {
		ss.Keep(ctx, bag)
		return
	}
	ss.end(func(*Session) bool { return false })
}

// Keep ends the processes that this walk configured, but for those that the next one may
// go on using. After an error none is kept: it may be the process that is broken.
func (ss *Sessions) Keep(ctx context.Context, bag *diag.Bag) {
	well := !ss.settings.Closed.Has(shortcut.Sessions) && !bag.HasErrors() && ctx.Err() == nil
	ss.end(func(s *Session) bool {
		return well && s.keepable()
	})
}

// end ends all sessions. Their processes are kept or ended, all at once.
func (ss *Sessions) end(stays func(*Session) bool) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	var left []idleSession
	var end []func() // each takes its time
	for k, s := range ss.open {
		switch {
		case s.Provider == nil || s.shared:
		case stays(s):
			left = append(left, s.idle(k, ss.settings.Now()))
		default:
			end = append(end, func() { s.stop(ss.settings.Pool) })
		}
	}
	clear(ss.open)
	for _, p := range ss.handover.idle.leave(left, ss.settings.KeepSessions) {
		end = append(end, func() { ss.settings.Pool.Release(p) })
	}
	walk.Each(len(end), func(i int) { end[i]() })
}

// Release ends a session, unless another one shares its process.
func (ss *Sessions) Release(u declared.Use, face frame.Face) {
	k := ss.key(u, face)
	switch s := ss.leave(k); {
	case s == nil:
	case ss.settings.KeepSessions && s.keepable():
		ss.handover.idle.leave([]idleSession{s.idle(k, ss.settings.Now())}, true)
	default:
		s.stop(ss.settings.Pool)
	}
}

// leave takes a session out, and gives it if no other one works through its process.
func (ss *Sessions) leave(k sessionKey) *Session {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	s := ss.open[k]
	if s == nil || s.Provider == nil {
		return nil
	}
	delete(ss.open, k)
	for _, other := range ss.open {
		if other.Provider == s.Provider {
			if other.shared = false; other.end == nil {
				other.end = s.end
			}
			return nil
		}
	}
	return s
}

// ReleaseAll ends all sessions of a provider configuration.
func (ss *Sessions) ReleaseAll(c addr.ProviderConfig) {
	ss.mu.Lock()
	var mine []sessionKey
	for k := range ss.open {
		if k.instance.ProviderConfig == c {
			mine = append(mine, k)
		}
	}
	ss.mu.Unlock()
	for _, k := range mine {
		d, is := ss.prog.ProviderConfig(c)
		u := declared.Use{Instance: k.instance, Declared: is}
		if is {
			u.Decl = d.ID
		}
		ss.Release(u, k.face)
	}
}
