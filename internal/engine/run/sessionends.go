package run

import (
	"cmp"
	"context"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/declared"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/shortcut"
	"github.com/lethe-iac/lethe/internal/walk"
)

// Close ends the processes that this walk configured. If Providers.KeepSessions is set, it calls Keep instead.
func (ss *Sessions) Close(ctx context.Context, bag *diag.Bag) {
	if ss.settings.Providers.KeepSessions {
		ss.Keep(ctx, bag)
		return
	}
	ss.end(func(*Session) bool { return false })
}

// Keep ends the processes that this walk configured, except processes that the next walk may use. After an error it
// keeps no process, because the process may be the cause.
func (ss *Sessions) Keep(ctx context.Context, bag *diag.Bag) {
	well := !ss.settings.Closed.Has(shortcut.Sessions) && !bag.HasErrors() && ctx.Err() == nil
	ss.end(func(s *Session) bool {
		return well && s.keepable()
	})
}

// end ends all sessions. It keeps the processes for which stays returns true, or which have kept leases. It ends the
// others concurrently.
func (ss *Sessions) end(stays func(*Session) bool) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	var left []idleSession
	var end []func() // functions that end processes; each may take some time
	for k, s := range ss.open {
		switch {
		case s.Provider == nil || s.shared || ss.keep(k, s):
		case stays(s):
			left = append(left, s.idle(k, ss.settings.Now()))
		default:
			end = append(end, func() { s.stop(ss.settings.Pool) })
		}
	}
	clear(ss.open)
	for _, p := range ss.handover.idle.leave(left, ss.settings.Providers.KeepSessions) {
		end = append(end, func() { ss.settings.Pool.Release(p) })
	}
	walk.Each(len(end), func(i int) { end[i]() })
}

// Release ends a session when its holds have ended. If another session shares the process, the process continues.
func (ss *Sessions) Release(u declared.Use, face frame.Face) {
	k := ss.key(u, face)
	switch s := ss.leave(k); {
	case s == nil || ss.keep(k, s):
	case ss.settings.Providers.KeepSessions && s.keepable():
		ss.handover.idle.leave([]idleSession{s.idle(k, ss.settings.Now())}, true)
	default:
		s.stop(ss.settings.Pool)
	}
}

// keep keeps the process of a session for further rounds (applies of the same command) if it has open leases. It
// returns false if the caller may end the process.
func (ss *Sessions) keep(k sessionKey, s *Session) bool {
	return ss.settings.Rounds.keep(keptSession{k.instance, s.settings, s.Provider, s.end})
}

// leave removes a session after its holds have ended, and returns it. It returns nil if no such session is open, or if
// another session uses its process: then that session ends the process.
func (ss *Sessions) leave(k sessionKey) *Session {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	for ss.holds[k] > 0 {
		ss.freed.Wait()
	}
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

// askToStop asks the processes of a walk to stop their running calls, as Terraform and OpenTofu do. It does not stop
// calls that close leases.
func (ss *Sessions) askToStop() {
	for _, p := range ss.processes() {
		go ss.ledger.Between(p, func() {
			ctx, cancel := context.WithTimeout(context.Background(), cmp.Or(ss.settings.Timeouts.Stop, stopTime))
			defer cancel()
			_ = p.Stop(ctx)
		})
	}
}

// stopTime is the default for Timeouts.Stop.
const stopTime = time.Second
