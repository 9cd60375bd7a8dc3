package engine

import (
	"context"
	"sync"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/declared"
	"github.com/lethe-iac/lethe/internal/lang"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/shortcut"
	"github.com/zclconf/go-cty/cty"
)

// A session is one configured provider process: an instance of a provider configuration, on one
// face. It starts when the first job needs it and ends after the last.
type session struct {
	sync.Mutex
	settled  bool // its settings were evaluated
	well     bool // and nothing is wrong with them
	unknown  bool // they hold unknown values: it may plan, but not read
	settings mark.Value
	opened   bool
	ok       bool
	provider provider.Provider
	shared   bool   // another session's process
	warned   bool   // it was said that nothing is refreshed through it
	end      func() // ends the process, which was configured with leases; nil: any time will do

	asking    sync.Once // for its functions
	functions map[string]*provider.Function
	failed    error // of asking
}

// stop ends the process.
func (s *session) stop(pool *provider.Pool) {
	if s.end != nil {
		s.end()
		return
	}
	pool.Release(s.provider)
}

// sessionKey names a session. Sessions of steady configurations, whose settings no managed
// resource has a part in, have only an after face.
type sessionKey struct {
	instance addr.ProviderInstance
	face     lang.Face
}

func (r *run) sessionKey(u declared.Use, face lang.Face) sessionKey {
	if !u.Declared {
		face = lang.After
	} else {
		face = r.receivers.Face(u.Decl, face)
	}
	return sessionKey{u.Instance, face}
}

// session gives the configured provider that an object works through, starting it if need be. It
// reports false where that failed; whoever asked first got the diagnostics.
func (r *run) session(ctx context.Context, u declared.Use, face lang.Face) (*session, bool) {
	return r.sessionIf(ctx, u, face, false)
}

// sessionIf starts nothing if the settings have to be known and are not.
func (r *run) sessionIf(ctx context.Context, u declared.Use, face lang.Face, known bool) (*session, bool) {
	s := r.slot(r.sessionKey(u, face))
	s.Lock()
	defer s.Unlock()
	r.settleIn(ctx, s, u, face)
	if known && s.well && s.unknown {
		return s, true
	}
	if !s.opened {
		s.opened = true
		s.ok = s.well && r.open(ctx, s, u, face)
	}
	return s, s.ok
}

// settle gives a session whose settings are evaluated, and starts nothing.
func (r *run) settle(ctx context.Context, u declared.Use, face lang.Face) (*session, bool) {
	s := r.slot(r.sessionKey(u, face))
	s.Lock()
	defer s.Unlock()
	r.settleIn(ctx, s, u, face)
	return s, s.well
}

func (r *run) settleIn(ctx context.Context, s *session, u declared.Use, face lang.Face) {
	if !s.settled {
		s.well = r.evaluate(ctx, s, u, face)
		s.settled = true
	}
}

// sessionDown gives the session through which what is there is ended: as the provider was configured
// before, or where that cannot be known, as it will be.
func (r *run) sessionDown(ctx context.Context, u declared.Use) (*session, bool) {
	before, ok := r.settle(ctx, u, lang.Before)
	if !r.destroys && (!ok || before.unknown) {
		return r.session(ctx, u, lang.After)
	}
	return r.session(ctx, u, lang.Before)
}

// same reports whether two sessions have the same known settings.
func (s *session) same(t *session) bool {
	return s.settled && t.settled && s.well && t.well && !s.unknown && !t.unknown && s.settings.Raw.RawEquals(t.settings.Raw)
}

func (r *run) slot(k sessionKey) *session {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.sessions[k]
	if s == nil {
		s = &session{}
		r.sessions[k] = s
	}
	return s
}

// evaluate evaluates the settings of a session.
func (r *run) evaluate(ctx context.Context, s *session, u declared.Use, face lang.Face) bool {
	schemas, ds := r.Pool.Schemas(ctx, u.Instance.Provider)
	if r.bag.Add(ds...); ds.HasErrors() {
		return false
	}
	if err := schemas.UsableConfig(); err != nil {
		r.bag.Add(diag.Errorf("Invalid provider schema", "The schema of the settings of provider %s cannot be used: %s.\n\nThis is a bug in the provider, to be reported there.", u.Instance.Provider.ForDisplay(), err))
		return false
	}
	s.settings = mark.Plain(schemas.Config.Empty())
	if u.Declared {
		if face == lang.Before && r.ready != nil {
			r.ready(ctx, u.Decl)
		}
		if !r.evaluateDeclared(ctx, s, u, face) {
			return false
		}
	}
	r.objs.Given(s.settings, schemas.Config, u.Instance.String())
	s.unknown = !s.settings.Raw.IsWhollyKnown()
	if r.Tested != nil && r.Tested(u.Instance.Provider) {
		r.shown.add(u.Instance.Provider, s.settings.Raw)
	}
	return true
}

// evaluateDeclared evaluates a provider block. What it says is wrong today need not have been there
// before: then it cannot be known how the provider was configured.
func (r *run) evaluateDeclared(ctx context.Context, s *session, u declared.Use, face lang.Face) bool {
	past := face == lang.Before && !r.destroys && !r.receivers.Steady(u.Decl)
	bag := r.bag
	if past {
		bag = &diag.Bag{}
	}
	r.receive(ctx, u.Decl, u.Instance.Module.Unkeyed(), u.Instance.Key, face)
	frame := r.frame.At(u.Instance.Module.Unkeyed(), face)
	if frame == nil {
		return false // its module is not there
	}
	var out lang.Outcome
	s.settings, out = frame.Settings(u.Decl, u.Instance.Key, face, bag)
	if out != lang.OK && past {
		s.settings, out = mark.Plain(r.prog.Schema(u.Decl).Unknown()), lang.OK
	}
	return out == lang.OK
}

// open configures a process with the settings.
func (r *run) open(ctx context.Context, s *session, u declared.Use, face lang.Face) bool {
	schemas, ds := r.Pool.Schemas(ctx, u.Instance.Provider)
	if r.bag.Add(ds...); ds.HasErrors() {
		return false
	}
	where := func(p cty.Path) diag.Range {
		if frame := r.frame.At(u.Instance.Module.Unkeyed(), face); u.Declared && frame != nil {
			return frame.Where(u.Decl, u.Instance.Key, p)
		}
		return diag.Range{}
	}
	return r.share(s, u, face) || r.configure(ctx, s, u, schemas, where)
}

// share gives a session the process of the other face's, if the settings are the same. That one
// cannot be released meanwhile.
func (r *run) share(s *session, u declared.Use, face lang.Face) bool {
	other := lang.Before
	if face == lang.Before {
		other = lang.After
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.sessions[sessionKey{u.Instance, other}]
	if t == nil || s.unknown || !t.TryLock() {
		return false
	}
	defer t.Unlock()
	if !t.opened || !t.ok || t.unknown || t.provider == nil || !t.settings.Raw.RawEquals(s.settings.Raw) {
		return false
	}
	s.provider, s.shared = t.provider, true
	return true
}

// give makes p the process of a session. Who ends sessions looks at that under the run's lock.
func (r *run) give(s *session, p provider.Provider, end func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s.provider, s.end = p, end
}

func (r *run) configure(ctx context.Context, s *session, u declared.Use, schemas *provider.Schemas, where func(cty.Path) diag.Range) bool {
	report := func(ds provider.Diags) bool {
		for _, d := range ds {
			if d.Address == "" {
				d.Address = u.Instance.String()
			}
			if d.Subject == nil {
				d = d.At(where(d.Path))
			}
			r.bag.Add(d)
		}
		return !ds.HasErrors()
	}
	wire, err := schemas.Config.Encode(s.settings.Raw)
	if err != nil {
		return report(provider.Diags{diag.Errorf("Invalid provider configuration", "The settings cannot be sent to the provider: %s.", err)})
	}
	if p := r.claim(u.Instance, s.settings.Raw); p != nil {
		r.give(s, p, nil)
		return true
	}
	p, err := r.Pool.Session(ctx, u.Instance.Provider)
	if err != nil {
		return report(provider.Diags{provider.Fault(u.Instance.Provider, err)})
	}
	var end func()
	if u.Declared {
		if parents := r.parents(u.Decl); len(parents) > 0 {
			end = r.ledger.Session(p, parents, func() { r.Pool.Release(p) })
		}
	}
	r.give(s, p, end)
	config := provider.Dynamic{Msgpack: wire}
	if _, ds := p.ValidateConfig(ctx, config); !report(ds) {
		return false
	}
	return report(p.Configure(ctx, config, provider.Allow{Deferral: r.objs.AllowDeferral}))
}

// closeSessions ends the processes that this walk configured.
func (r *run) closeSessions() { r.endSessions(func(*session) bool { return false }) }

// keepSessions ends the processes that this walk configured, but for those that the next one may
// go on using. After an error none is kept: it may be the process that is broken.
func (r *run) keepSessions(ctx context.Context) {
	well := !r.Closed.Has(shortcut.Sessions) && !r.bag.HasErrors() && ctx.Err() == nil
	r.endSessions(func(s *session) bool {
		return well && s.ok && !s.unknown && !s.settings.Has(mark.Ephemeral)
	})
}

// endSessions ends all sessions. Their processes are kept or ended, all at once.
func (r *run) endSessions(keep func(*session) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var left []kept
	var end []func() // each takes its time
	for k, s := range r.sessions {
		switch {
		case s.provider == nil || s.shared:
		case keep(s):
			left = append(left, kept{k.instance, s.settings.Raw, s.provider, r.Now()})
		default:
			end = append(end, func() { s.stop(r.Pool) })
		}
	}
	clear(r.sessions)
	for _, p := range r.kept.swap(left) {
		end = append(end, func() { r.Pool.Release(p) })
	}
	r.each(len(end), func(i int) { end[i]() })
}
