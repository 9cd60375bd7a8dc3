package run

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/declared"
	"github.com/lethe-iac/lethe/internal/engine/leases"
	"github.com/lethe-iac/lethe/internal/engine/receivers"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/lease"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/object"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/zclconf/go-cty/cty"
)

// Sessions are the sessions of one walk.
type Sessions struct {
	settings  *Settings
	handover  *Handover
	prog      *program.Program
	frame     *frame.Frame
	receivers *receivers.Analysis
	leases    *leases.Leases
	ledger    *lease.Ledger
	objs      *object.Walk
	shown     *testProviderValues
	destroys  bool
	before    func(context.Context, program.Decl)

	mu    sync.Mutex
	open  map[sessionKey]*Session
	again map[provider.Provider]*substitute // of processes that have crashed

	failures diag.Shared // why sessions could not be opened
}

// substitute is a process in the place of one that has crashed.
type substitute struct {
	once     sync.Once
	settings mark.Value
	provider provider.Provider // nil if it could not be started, or configured
}

func (ss *Sessions) key(u declared.Use, face frame.Face) sessionKey {
	if !u.Declared {
		face = frame.After
	} else {
		face = ss.receivers.Face(u.Decl, face)
	}
	return sessionKey{u.Instance, face}
}

// Get returns the configured provider that an object works through. It starts the provider if it is not running.
// It reports false if that failed; every caller gets the reasons in its own bag.
func (ss *Sessions) Get(ctx context.Context, bag *diag.Bag, u declared.Use, face frame.Face) (*Session, bool) {
	return ss.GetIf(ctx, bag, u, face, false)
}

// GetIf starts nothing if the settings have to be known and are not.
func (ss *Sessions) GetIf(ctx context.Context, bag *diag.Bag, u declared.Use, face frame.Face, known bool) (*Session, bool) {
	s := ss.slot(ss.key(u, face))
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.said.Replay(bag)
	ss.settleIn(ctx, s, u, face)
	if known && s.well && s.Unknown {
		return s, true
	}
	if !s.opened {
		s.opened = true
		s.ok = s.well && ss.collect(s, u, face, func(bag *diag.Bag) bool { return ss.begin(ctx, bag, s, u, face) })
	}
	return s, s.ok
}

// Settle gives a session whose settings are evaluated, and starts nothing.
func (ss *Sessions) Settle(ctx context.Context, bag *diag.Bag, u declared.Use, face frame.Face) (*Session, bool) {
	s := ss.slot(ss.key(u, face))
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.said.Replay(bag)
	ss.settleIn(ctx, s, u, face)
	return s, s.well
}

func (ss *Sessions) settleIn(ctx context.Context, s *Session, u declared.Use, face frame.Face) {
	if !s.settled {
		s.well = ss.collect(s, u, face, func(bag *diag.Bag) bool { return ss.evaluate(ctx, bag, s, u, face) })
		s.settled = true
	}
}

// collect does a part of opening a session, and keeps what it reports for all callers. A session on the before face
// need not open: the provider as it will be does its work then.
func (ss *Sessions) collect(s *Session, u declared.Use, face frame.Face, part func(*diag.Bag) bool) bool {
	var bag diag.Bag
	ok := part(&bag)
	said := bag.List()
	s.said = append(s.said, said...)
	if !ok && !ss.past(u, face) {
		ss.mu.Lock()
		defer ss.mu.Unlock()
		ss.failures = append(ss.failures, said...)
	}
	return ok
}

// Failures lists why sessions could not be opened.
func (ss *Sessions) Failures() diag.Shared {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	return slices.Clone(ss.failures)
}

// past reports whether a session has the settings that a provider had before, and that it may not have any more.
func (ss *Sessions) past(u declared.Use, face frame.Face) bool {
	return u.Declared && face == frame.Before && !ss.destroys && !ss.receivers.Steady(u.Decl)
}

// GetDown gives the session through which what is there is ended: as the provider was configured
// before, or where that cannot be known, or does not lead to it, as it will be.
func (ss *Sessions) GetDown(ctx context.Context, bag *diag.Bag, u declared.Use) (*Session, bool) {
	before, ok := ss.Settle(ctx, bag, u, frame.Before)
	if !ss.destroys && (!ok || before.Unknown || before.Astray.Load()) {
		return ss.Get(ctx, bag, u, frame.After)
	}
	return ss.Get(ctx, bag, u, frame.Before)
}

func (ss *Sessions) slot(k sessionKey) *Session {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	s := ss.open[k]
	if s == nil {
		s = &Session{}
		ss.open[k] = s
	}
	return s
}

// evaluate evaluates the settings of a session.
func (ss *Sessions) evaluate(ctx context.Context, bag *diag.Bag, s *Session, u declared.Use, face frame.Face) bool {
	schemas, ds := ss.settings.Pool.Schemas(ctx, u.Instance.Provider)
	if bag.Add(ds...); ds.HasErrors() {
		return false
	}
	if err := schemas.UsableConfig(); err != nil {
		bag.Add(diag.Errorf("Invalid provider schema", "The schema of the settings of provider %s cannot be used: %s.\n\nThis is a bug in the provider, to be reported there.", u.Instance.Provider.ForDisplay(), err))
		return false
	}
	s.settings = mark.Plain(schemas.Config.Empty())
	if u.Declared {
		if face == frame.Before && ss.before != nil {
			ss.before(ctx, u.Decl)
		}
		if !ss.evaluateDeclared(ctx, bag, s, u, face) {
			return false
		}
	}
	ss.objs.Given(s.settings, schemas.Config, u.Instance.String())
	s.Unknown = !s.settings.Raw.IsWhollyKnown()
	if ss.settings.Tested != nil && ss.settings.Tested(u.Instance.Provider) {
		ss.shown.add(u.Instance.Provider, s.settings.Raw)
	}
	return true
}

// evaluateDeclared evaluates a provider block. What it says is wrong today need not have been there
// before: then it cannot be known how the provider was configured.
func (ss *Sessions) evaluateDeclared(ctx context.Context, bag *diag.Bag, s *Session, u declared.Use, face frame.Face) bool {
	past := ss.past(u, face)
	if past {
		bag = &diag.Bag{}
	}
	ss.leases.Receive(ctx, bag, u.Decl, u.Instance.Module.Unkeyed(), u.Instance.Key, face)
	home := ss.frame.At(u.Instance.Module.Unkeyed(), face)
	if home == nil {
		return false // its module is not there
	}
	var out frame.Outcome
	var own diag.Bag
	s.settings, out = home.Settings(u.Decl, u.Instance.Key, face, &own)
	for _, d := range own.List() {
		if d.Severity == diag.Error && home.Keys(u.Decl, frame.After, &diag.Bag{}).Lacks(u.Instance.Key) {
			d.Detail += "\n\nThe key of " + u.Instance.String() + " is not in the for_each of the provider any more, but the state has objects that were made through it, and they can only be destroyed through it. Put the key back, remove these objects from the configuration, and apply. After that, remove the key."
		}
		bag.Add(d)
	}
	if out != frame.OK && past {
		s.settings, out = mark.Plain(ss.prog.Schema(u.Decl).Unknown()), frame.OK
	}
	return out == frame.OK
}

// begin configures a process with the settings.
func (ss *Sessions) begin(ctx context.Context, bag *diag.Bag, s *Session, u declared.Use, face frame.Face) bool {
	schemas, ds := ss.settings.Pool.Schemas(ctx, u.Instance.Provider)
	if bag.Add(ds...); ds.HasErrors() {
		return false
	}
	where := func(p cty.Path) diag.Range {
		if home := ss.frame.At(u.Instance.Module.Unkeyed(), face); u.Declared && home != nil {
			return home.Where(u.Decl, p)
		}
		return diag.Range{}
	}
	return ss.share(s, u, face) || ss.configure(ctx, bag, s, u, schemas, where)
}

// Again gives a process in the place of one that has crashed, configured the same; nil if there can be none. It is for
// closing what was opened, and serves nothing else.
func (ss *Sessions) Again(ctx context.Context, crashed provider.Provider) provider.Provider {
	s := ss.substitute(crashed)
	if s == nil {
		return nil
	}
	s.once.Do(func() {
		schemas, _ := ss.settings.Pool.Schemas(ctx, crashed.Addr())
		if schemas == nil {
			return
		}
		config, err := schemas.Config.Encode(s.settings.Raw)
		if err != nil {
			return
		}
		p, err := ss.settings.Pool.Session(ctx, crashed.Addr())
		if err != nil {
			return
		}
		if !p.Configure(ctx, provider.Dynamic{Msgpack: config}, provider.Allow{Deferral: ss.objs.AllowDeferral}).HasErrors() {
			s.provider = p
		}
	})
	return s.provider
}

func (ss *Sessions) substitute(crashed provider.Provider) *substitute {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if s := ss.again[crashed]; s != nil {
		return s
	}
	for _, s := range ss.open {
		if s.Provider == crashed {
			ss.again[crashed] = &substitute{settings: s.settings}
		}
	}
	return ss.again[crashed]
}

// share gives a session the process of the other face's, if the settings are the same. That one
// cannot be released meanwhile.
func (ss *Sessions) share(s *Session, u declared.Use, face frame.Face) bool {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	t := ss.open[sessionKey{u.Instance, face.Other()}]
	if t == nil || s.Unknown || !t.mu.TryLock() {
		return false
	}
	defer t.mu.Unlock()
	if !t.opened || !t.ok || t.Unknown || t.Provider == nil || !t.settings.Raw.RawEquals(s.settings.Raw) {
		return false
	}
	s.Provider, s.shared = t.Provider, true
	return true
}

// give makes p the process of a session. What ends sessions looks at that under the lock of all of them.
func (ss *Sessions) give(s *Session, p provider.Provider, end func()) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	s.Provider, s.end = p, end
}

func (ss *Sessions) configure(ctx context.Context, bag *diag.Bag, s *Session, u declared.Use, schemas *provider.Schemas, where func(cty.Path) diag.Range) bool {
	report := func(ds provider.Diags) bool {
		for _, d := range ds {
			if d.Address == "" {
				d.Address = u.Instance.String()
			}
			if d.Subject == nil {
				d = d.At(where(d.Path))
			}
			bag.Add(d)
		}
		return !ds.HasErrors()
	}
	wire, err := schemas.Config.Encode(s.settings.Raw)
	if err != nil {
		return report(provider.Diags{diag.Errorf("Invalid provider configuration", "The settings cannot be sent to the provider: %s.", err)})
	}
	if d := ss.settings.Doubles; d != nil {
		if p := d.Provider(u.Instance); p != nil {
			ss.give(s, p, func() {})
			return true
		}
	}
	if p := ss.handover.idle.claim(u.Instance, s.settings.Raw, ss.settings.Now()); p != nil {
		ss.give(s, p, nil)
		return true
	}
	p, err := ss.settings.Pool.Session(ctx, u.Instance.Provider)
	if err != nil {
		return report(provider.Diags{provider.Fault(u.Instance.Provider, err)})
	}
	var end func()
	if u.Declared {
		if parents := ss.leases.Parents(u.Decl); len(parents) > 0 {
			end = ss.ledger.Session(p, parents, func() { ss.settings.Pool.Release(p) })
		}
	}
	ss.give(s, p, end)
	config := provider.Dynamic{Msgpack: wire}
	if _, ds := p.ValidateConfig(ctx, config); !report(ds) {
		return false
	}
	return report(p.Configure(ctx, config, provider.Allow{Deferral: ss.objs.AllowDeferral}))
}

// NoBefore lists, for the order of steps, the provider instances whose settings on the before face were
// evaluated, and are not known, or do not lead to what is to be ended.
func (ss *Sessions) NoBefore() []addr.ProviderInstance {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	var out []addr.ProviderInstance
	for k, before := range ss.open {
		d, ok := ss.prog.ProviderConfig(k.instance.ProviderConfig)
		if k.face != frame.Before || !ok || !before.settled || len(ss.receivers.Ephemerals(d.ID)) > 0 {
			continue // a lease has another value in each walk
		}
		if !before.well || before.Unknown || before.Astray.Load() {
			out = append(out, k.instance)
		}
	}
	slices.SortFunc(out, func(a, b addr.ProviderInstance) int { return cmp.Compare(a.String(), b.String()) })
	return out
}

// Unknown reports whether the settings of a session on the after face hold unknown values, as far as they
// were evaluated.
func (ss *Sessions) Unknown(u declared.Use) bool {
	return ss.slot(ss.key(u, frame.After)).Unknown
}

// processes are the provider processes that are configured.
func (ss *Sessions) processes() []provider.Provider {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	var all []provider.Provider
	for _, s := range ss.open {
		if s.Provider != nil && !slices.Contains(all, s.Provider) {
			all = append(all, s.Provider)
		}
	}
	return all
}
