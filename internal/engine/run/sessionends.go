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

// Close ends the processes that this walk (plan or apply) configured, except processes with leases (open ephemeral
// resources) that stay open for a later round (a further plan and apply). If Providers.KeepSessions is set, it calls
// Keep instead.
func (ss *Sessions) Close(ctx context.Context, bag *diag.Bag) {
	if ss.settings.Providers.KeepSessions {
		ss.Keep(ctx, bag)
		return
	}
	ss.end(func(*Session) bool { return false })
}

// Keep ends the processes that this walk configured, except processes that the next walk of the command may use. If bag
// has errors or ctx has ended, Keep keeps no process for the next walk, because the process may be the cause.
func (ss *Sessions) Keep(ctx context.Context, bag *diag.Bag) {
	well := !ss.settings.Closed.Has(shortcut.Sessions) && !bag.HasErrors() && ctx.Err() == nil
	ss.end(func(s *Session) bool {
		return well && s.keepable()
	})
}

// end ends all sessions. It keeps a process for which stays returns true, and a process that opened a lease (an
// ephemeral resource) that stays open. It ends the other processes concurrently.
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

// Release ends the session of the provider instance u with prior settings (before face) or planned settings (after
// face), after all callers of Hold have called done. If another session shares the process, the process continues.
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

// keep keeps the process of a session for further rounds (applies of the same command) if it has opened leases that
// stay open. It returns false if the caller may end the process.
func (ss *Sessions) keep(k sessionKey, s *Session) bool {
	return ss.settings.Rounds.keep(keptSession{k.instance, s.settings, s.Provider, s.end})
}

// leave removes a session from the open sessions, after all callers of Hold have called done, and returns it. It
// returns nil if no such session is open, or if another session uses the same process, which must continue.
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

// askToStop asks the provider processes of the walk to stop their running calls (the protocol's Stop). It returns at
// once. A process that closes a lease (ephemeral resource) receives the request afterwards, because Stop would cancel the
// closing.
func (ss *Sessions) askToStop() {
	for _, p := range ss.processes() {
		go ss.ledger.Between(p, func() {
			ctx, cancel := context.WithTimeout(context.Background(), cmp.Or(ss.settings.Timeouts.Stop, stopTime))
			defer cancel()
			_ = p.Stop(ctx)
		})
	}
}

// stopTime is the default of Timeouts.Stop: how long askToStop waits for the answer of a process.
const stopTime = time.Second
