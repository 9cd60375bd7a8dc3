package run

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/declared"
	"github.com/lethe-iac/lethe/internal/engine/leases"
	"github.com/lethe-iac/lethe/internal/engine/receivers"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/lease"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/object"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/zclconf/go-cty/cty"
)

// Sessions are the provider sessions of one walk (plan, apply or query). A session is a provider process, configured
// for one provider instance, with its prior settings (before face) or its planned settings (after face).
type Sessions struct {
	settings  *Settings
	handover  *Handover
	prog      *program.Program
	frame     *frame.Frame
	receivers *receivers.Analysis
	leases    *leases.Leases
	ledger    *lease.Ledger
	objs      *object.Walk
	echoed    *echoedSettings
	kind      Kind
	before    func(context.Context, program.Decl) // Request.Before
	defers    bool                                // a later round (a further plan and apply) opens sessions whose settings are unknown now

	mu    sync.Mutex
	open  map[sessionKey]*Session           // all sessions that a job has requested, also if only their settings were evaluated
	holds map[sessionKey]int                // number of callers of Hold that have not called done
	freed sync.Cond                         // signals that a caller of Hold has called done
	again map[provider.Provider]*substitute // the new processes for closing leases, by the crashed process

	failures diag.Shared // the diagnostics of sessions that could not be opened
}

// substitute is a new process that replaces a crashed one.
type substitute struct {
	once     sync.Once
	settings mark.Value
	provider provider.Provider // nil if the new process could not be started or configured
}

func (ss *Sessions) key(u declared.Use, face frame.Face) sessionKey {
	if !u.Declared {
		face = frame.After
	} else {
		face = ss.receivers.Face(u.Decl, face)
	}
	return sessionKey{u.Instance, face}
}

// Get returns the session of a provider instance on a face: with its prior settings (before face) or its planned
// settings (after face). It configures the provider if necessary. If the provider cannot be started or configured, Get
// returns false, and adds the errors to the bag of every caller.
func (ss *Sessions) Get(ctx context.Context, bag *diag.Bag, u declared.Use, face frame.Face) (*Session, bool) {
	return ss.GetIf(ctx, bag, u, face, false)
}

// Hold returns the same session as Get, for a job that the graph of the walk does not order before the end of the
// session. Release waits until the caller of Hold calls done. The caller must call done even if ok is false.
func (ss *Sessions) Hold(ctx context.Context, bag *diag.Bag, u declared.Use, face frame.Face) (s *Session, done func(), ok bool) {
	k := ss.key(u, face)
	count := func(n int) {
		ss.mu.Lock()
		defer ss.mu.Unlock()
		ss.holds[k] += n
		ss.freed.Broadcast()
	}
	count(1)
	s, ok = ss.Get(ctx, bag, u, face)
	return s, func() { count(-1) }, ok
}

// GetAnyway returns the same session as Get, with one exception: if the provider cannot be configured because its
// settings are unknown, and a later round (a further plan and apply) will know the settings, GetAnyway returns the
// session with a provider that is not configured, and true.
func (ss *Sessions) GetAnyway(ctx context.Context, bag *diag.Bag, u declared.Use, face frame.Face) (*Session, bool) {
	var own diag.Bag
	s, ok := ss.Get(ctx, &own, u, face)
	if !ok && ss.defers && s.Unknown && s.Provider != nil {
		return s, true
	}
	bag.Add(own.List()...)
	return s, ok
}

// GetIf returns the session of the provider instance u on a face (prior or planned settings). The first call starts and
// configures the provider process. It returns false after an error, which it reports to bag. If known is true and the
// settings are unknown, it starts no process and returns true.
func (ss *Sessions) GetIf(ctx context.Context, bag *diag.Bag, u declared.Use, face frame.Face, known bool) (*Session, bool) {
	s := ss.slot(ss.key(u, face))
	ss.lock(ctx, s, u)
	defer s.mu.Unlock()
	ss.settleIn(ctx, s, u, face)
	s.settling.Replay(bag)
	if known && s.well && s.Unknown {
		return s, true
	}
	if !s.opened {
		s.opened = true
		s.ok = s.well && ss.collect(s, &s.opening, u, face, func(bag *diag.Bag) bool { return ss.begin(ctx, bag, s, u, face) })
	}
	s.opening.Replay(bag)
	return s, s.ok
}

// lock locks a session. If another job has locked the session, usually to configure it, lock waits and sends an event
// with the time of the wait.
func (ss *Sessions) lock(ctx context.Context, s *Session, u declared.Use) {
	if s.mu.TryLock() {
		return
	}
	if ss.settings.Times == nil {
		s.mu.Lock()
		return
	}
	began := time.Now()
	s.mu.Lock()
	ss.settings.Times.Send(event.Waited{Visit: event.VisitOf(ctx), For: u.Instance.String(), Began: began, Ended: time.Now()})
}

// Settle evaluates the settings of a session and returns the session. It starts no provider. It returns false if the
// settings have errors.
func (ss *Sessions) Settle(ctx context.Context, bag *diag.Bag, u declared.Use, face frame.Face) (*Session, bool) {
	s := ss.slot(ss.key(u, face))
	s.mu.Lock()
	defer s.mu.Unlock()
	ss.settleIn(ctx, s, u, face)
	s.settling.Replay(bag)
	return s, s.well
}

func (ss *Sessions) settleIn(ctx context.Context, s *Session, u declared.Use, face frame.Face) {
	if !s.settled {
		s.well = ss.collect(s, &s.settling, u, face, func(bag *diag.Bag) bool { return ss.evaluate(ctx, bag, s, u, face) })
		s.settled = true
	}
}

// collect runs part, a part of opening a session, and returns its result. It appends the diagnostics of the part to the
// list to, from which every caller that needs the part reports them. If the part fails, its diagnostics also count in
// Failures, with three exceptions: on the before face, because the session on the after face replaces this session; for
// settings that are unknown until a later round; and for a provider without a block, which only stored objects use.
func (ss *Sessions) collect(s *Session, to *diag.Shared, u declared.Use, face frame.Face, part func(*diag.Bag) bool) bool {
	var bag diag.Bag
	ok := part(&bag)
	reported := bag.List()
	*to = append(*to, reported...)
	if !ok && u.Declared && !ss.past(u, face) && !(ss.defers && s.Unknown) {
		ss.mu.Lock()
		defer ss.mu.Unlock()
		ss.failures = append(ss.failures, reported...)
	}
	return ok
}

// Failures returns the diagnostics of the sessions that could not be opened.
func (ss *Sessions) Failures() diag.Shared {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	return slices.Clone(ss.failures)
}

// past reports whether the session of u on this face has the prior settings of the provider, and these may differ from
// the planned settings. It returns false in a destroy plan, which has no planned settings.
func (ss *Sessions) past(u declared.Use, face frame.Face) bool {
	return u.Declared && face == frame.Before && !ss.kind.Destroys() && !ss.receivers.Steady(u.Decl)
}

// GetDown returns the session that destroys objects. It is the session with the prior settings of the provider. If
// these are unknown or have errors, or an object was not found with them, GetDown returns the session with the planned
// settings (after face). A destroy plan has no planned settings, and there unknown settings are an error: with them,
// the provider could destroy other objects, or not find the objects to destroy. GetDown returns false if the provider
// cannot be configured; the errors are in bag.
func (ss *Sessions) GetDown(ctx context.Context, bag *diag.Bag, u declared.Use) (*Session, bool) {
	before, ok := ss.Settle(ctx, bag, u, frame.Before)
	if !ss.kind.Destroys() && (!ok || before.Unknown || before.Astray.Load()) {
		return ss.Get(ctx, bag, u, frame.After)
	}
	s, ok := ss.Get(ctx, bag, u, frame.Before)
	if ok && s.Unknown {
		bag.Add(ss.unknownDown(u, s))
		return s, false
	}
	return s, ok
}

// unknownDown returns the error that unknown settings of a provider prevent the destruction of its objects.
func (ss *Sessions) unknownDown(u declared.Use, s *Session) diag.Diagnostic {
	var names []string
	for name, v := range s.settings.Raw.AsValueMap() {
		if !v.IsWhollyKnown() {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return diag.Errorf("Invalid provider configuration", "The configuration of %s depends on values that are not known: %s. With it, the provider could destroy other objects, or not find the objects to destroy. Usually the values come from objects that are not in the state. Give the arguments known values, and destroy again. To forget the objects instead, use lethe state rm.", u.Instance, strings.Join(names, ", ")).At(ss.prog.Decls()[u.Decl].Range)
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

// evaluate evaluates the settings of a session and registers the secrets in them. It returns false if there are errors.
func (ss *Sessions) evaluate(ctx context.Context, bag *diag.Bag, s *Session, u declared.Use, face frame.Face) bool {
	schemas, ds := ss.settings.Pool.Schemas(ctx, u.Instance.Provider)
	if bag.Add(ds...); ds.HasErrors() {
		return false
	}
	if err := schemas.UsableConfig(); err != nil {
		bag.Add(diag.Errorf("Invalid provider schema", "The schema of the configuration of provider %s is invalid: %s.\n\nThis is a bug in the provider. Report it to its developers.", u.Instance.Provider.ForDisplay(), err))
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
	ss.objs.Guard.Given(s.settings, schemas.Config, u.Instance.String())
	s.Unknown = !s.settings.Raw.IsWhollyKnown()
	if ss.settings.Providers.Echoes != nil && ss.settings.Providers.Echoes(u.Instance.Provider) {
		ss.echoed.add(u.Instance.Provider, s.settings.Raw)
	}
	return true
}

// evaluateDeclared evaluates a provider block. On the before face, an error in the block does not count, because the
// error may be new. In this case the prior settings count as unknown. evaluateDeclared returns false if the settings
// have no value.
func (ss *Sessions) evaluateDeclared(ctx context.Context, bag *diag.Bag, s *Session, u declared.Use, face frame.Face) bool {
	past := ss.past(u, face)
	if past {
		bag = &diag.Bag{}
	}
	ss.leases.Receive(ctx, bag, u.Decl, u.Instance.Module.Unkeyed(), u.Instance.Key, face)
	home := ss.frame.At(u.Instance.Module.Unkeyed(), face)
	if home == nil {
		return false // the module instance of the provider does not exist
	}
	var out frame.Status
	var own diag.Bag
	s.settings, out = home.Settings(u.Decl, u.Instance.Key, face, &own)
	if out == frame.OK && ss.kind.Destroys() && !s.settings.Raw.IsWhollyKnown() && home.Keys(u.Decl, face, &diag.Bag{}).Lacks(u.Instance.Key) {
		own.Add(diag.Errorf("each.value cannot be used in this context", "There is no each.value for the settings of %s. With unknown settings, the provider could destroy other objects, or not find the objects to destroy. If an apply adds the key, apply first and destroy then. To forget the objects instead, use lethe state rm.", u.Instance).At(ss.prog.Decls()[u.Decl].Range))
		out = frame.Broken
	}
	for _, d := range own.List() {
		if d.Severity == diag.Error && home.Keys(u.Decl, frame.After, &diag.Bag{}).Lacks(u.Instance.Key) {
			d.Detail += "\n\nThe key of " + u.Instance.String() + " is no longer in the for_each of the provider, but objects in the state need it. Add the key again, remove these objects from the configuration, and apply. Then remove the key."
		}
		bag.Add(d)
	}
	if out != frame.OK && past {
		s.settings, out = mark.Plain(ss.prog.Schema(u.Decl).Unknown()), frame.OK
	}
	return out == frame.OK
}

// begin sets the process of a session: the process of the session on the other face if both have the same settings, or
// else a process that it configures. It adds errors to bag, and returns false if the process cannot be configured.
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

// Again returns a new process with the same settings as a process that has crashed. The new process only closes the
// leases (ephemeral resources) that the crashed process opened. Further calls for the same crashed process return the
// same new process. Again returns nil if the new process cannot be configured.
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
		if !p.Configure(ctx, provider.Dynamic{Msgpack: config}, provider.Allow{}).HasErrors() {
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
	if settings, ok := ss.settings.Rounds.settingsOf(crashed); ok && ss.again[crashed] == nil {
		ss.again[crashed] = &substitute{settings: settings}
	}
	return ss.again[crashed]
}

// share sets the process of a session to the process of the session on the other face, if both sessions have the same
// settings, and returns true. It returns false if there is no such session, or if the other session is locked at this
// moment. During the call, the other session cannot be released.
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

// give sets the process of a session. It locks ss.mu, because the methods that end sessions read the process while they
// hold ss.mu.
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
		return report(provider.Diags{diag.Errorf("Invalid provider configuration", "The configuration cannot be sent to the provider: %s.", err)})
	}
	if d := ss.settings.Providers.Substitutes; d != nil {
		if p := d.Configuration(u.Instance); p != nil {
			ss.give(s, p, func() {})
			return true
		}
	}
	if x, ok := ss.settings.Rounds.claim(u.Instance, s.settings); ok {
		ss.give(s, x.process, x.end)
		return true
	}
	if p := ss.handover.idle.claim(u.Instance, s.settings.Raw, ss.settings.Now()); p != nil {
		ss.give(s, p, nil)
		return true
	}
	if ss.settings.Times != nil {
		began := time.Now()
		defer func() {
			ss.settings.Times.Send(event.Configured{Visit: event.VisitOf(ctx), Provider: u.Instance, Began: began, Ended: time.Now()})
		}()
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
	return report(p.Configure(ctx, config, provider.Allow{}))
}

// NoBefore returns the provider instances that the apply walk must not use with their prior settings, because these
// settings are unknown or have errors, or an object was not found with them.
func (ss *Sessions) NoBefore() []addr.ProviderInstance {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	var out []addr.ProviderInstance
	for k, before := range ss.open {
		d, ok := ss.prog.ProviderConfig(k.instance.ProviderConfig)
		if k.face != frame.Before || !ok || !before.settled || len(ss.receivers.Ephemerals(d.ID)) > 0 {
			continue // settings with ephemeral values differ in each walk, so the plan does not record them
		}
		if !before.well || before.Unknown || before.Astray.Load() {
			out = append(out, k.instance)
		}
	}
	slices.SortFunc(out, func(a, b addr.ProviderInstance) int { return cmp.Compare(a.String(), b.String()) })
	return out
}

// Unknown reports whether the settings of a session on the after face have unknown values. The settings must have been
// evaluated.
func (ss *Sessions) Unknown(u declared.Use) bool {
	return ss.slot(ss.key(u, frame.After)).Unknown
}

// processes returns the provider processes of all sessions, each once.
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
