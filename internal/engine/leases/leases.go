package leases

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/receivers"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/lease"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/object"
	"github.com/lethe-iac/lethe/internal/object/guard"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/walk"
	"github.com/zclconf/go-cty/cty"
)

// Leases are the leases (open ephemeral resources) of one walk (the run of a plan or an apply).
type Leases struct {
	o     Options
	frame *frame.Frame

	mu       sync.Mutex
	openings map[leaseKey]*opening
	of       map[program.Decl][]leaseKey // the keys of openings, by ephemeral resource
	waiting  map[addr.Object]bool        // objects for which event.Pending was sent
	failures []Failure
}

// Failure is an instance of an ephemeral resource that has no value in the walk, because it could not be opened.
type Failure struct {
	Instance    addr.Instance
	Diagnostics diag.Shared // the errors of the opening; empty if a dependency of the instance failed
}

// New returns the leases of a walk. No lease is open yet.
func New(o Options) *Leases {
	return &Leases{o: o, openings: map[leaseKey]*opening{}, of: map[program.Decl][]leaseKey{}, waiting: map[addr.Object]bool{}}
}

// Fill sets the root frame, in which the leases store their values. The caller calls it once, before any call of
// Receive.
func (l *Leases) Fill(f *frame.Frame) { l.frame = f }

// leaseKey identifies a lease: the opening of an instance on a face, which is before (for the prior values of the
// configuration's references) or after (for the planned values).
type leaseKey struct {
	instance addr.Instance // the key of the instance is hidden (Key.Hide) so that equal keys compare equal, because not every receiver knows whether the key is sensitive
	face     frame.Face
}

// otherFace returns the key of the lease on the other face.
func (k leaseKey) otherFace() leaseKey { return leaseKey{k.instance, k.face.Other()} }

func keyOf(inst addr.Instance, face frame.Face) leaseKey {
	inst.Key = inst.Key.Hide()
	return leaseKey{inst, face}
}

// opening is the state of one lease that a receiver has requested: not opened yet, open, pending (apply opens it),
// failed or closed.
type opening struct {
	*sync.Mutex                             // the openings of an instance on the before and on the after face share one mutex
	done        bool                        // whether the walk has tried to open the lease
	lease       atomic.Pointer[lease.Lease] // nil if the lease is not open: pending, failed or closed
	kept        bool                        // an earlier round (apply of the same command) has opened the lease

	diagnostics diag.Shared // the diagnostics of the opening, for every receiver

	// The configuration, the result and the provider process of the opening. They are set if this opening called the
	// provider with success. For a lease of an earlier round, only value is set.
	config, value mark.Value
	provider      guard.Provider
}

// Receive opens the ephemeral resources that an instance of the declaration d uses, unless they are open. If an
// ephemeral resource cannot be opened, Receive sets its slot (the place of its value in the frame) to a placeholder or
// to failed. So after Receive, every ephemeral value that the instance refers to is set. Receive also renews leases
// whose renewal is due. at and own are the module instance and the key of the receiver.
func (l *Leases) Receive(ctx context.Context, bag *diag.Bag, d program.Decl, at addr.ModuleInstance, own addr.Key, face frame.Face) {
	l.ReceiveAll(ctx, bag, l.o.Receivers.Received(d), at, own, face)
}

// ReceiveAll opens the ephemeral resources in list for a receiver, and renews leases whose renewal is due. at and own
// are the module instance and the key of the receiver.
func (l *Leases) ReceiveAll(ctx context.Context, bag *diag.Bag, list []receivers.Received, at addr.ModuleInstance, own addr.Key, face frame.Face) {
	for _, w := range list {
		info, face := l.o.Program.Decls()[w.Of], l.o.Receivers.Face(w.Of, face)
		for _, f := range l.framesNear(info.Module, at, face) {
			l.ReceiveFrom(ctx, bag, info, f, face, w.Keys(own))
		}
	}
}

// framesNear returns the instances of module m (as frames) to which a declaration in another module instance can refer.
// If m contains the declaration, this is the instance of m around that module instance. Otherwise it is each instance
// below the nearest common ancestor.
func (l *Leases) framesNear(m addr.Module, at addr.ModuleInstance, face frame.Face) []*frame.Frame {
	at = at.Around(m)
	if at.Module() == m {
		if f := l.frame.At(at, face); f != nil {
			return []*frame.Frame{f}
		}
		return nil
	}
	all, _ := l.frame.Instances(m, face)
	var out []*frame.Frame
	for _, f := range all {
		if f.Addr().Under(at) {
			out = append(out, f)
		}
	}
	return out
}

// ReceiveFrom opens instances of the ephemeral resource e in the module instance f, unless they are open. some has the
// keys of the instances to open; nil means all. If the keys of the resource are unknown, ReceiveFrom opens nothing and
// reports that apply will open the resource.
func (l *Leases) ReceiveFrom(ctx context.Context, bag *diag.Bag, e *program.Declaration, f *frame.Frame, face frame.Face, some []addr.Key) {
	l.ReceiveAll(ctx, bag, l.o.Receivers.Repeating(e.ID), f.Addr(), addr.NoKey, face) // the ephemeral resources that count or for_each of e uses
	keys := f.Keys(e.ID, face, bag)
	if keys.Status == frame.Unknown {
		l.pending(e.Resource.In(f.Addr()).Instance(addr.NoKey).Current())
	}
	if keys.Status != frame.Known {
		return
	}
	list := receivers.Among(keys.List, some)
	walk.Each(len(list), func(i int) { l.lease(ctx, bag, e, f, list[i], face) })
}

// pending reports that apply will open an ephemeral resource. It reports each object only once in a walk.
func (l *Leases) pending(o addr.Object) {
	l.mu.Lock()
	waiting := l.waiting[o]
	l.waiting[o] = true
	l.mu.Unlock()
	if !waiting {
		l.o.Send(event.Pending{Object: o, Reason: "Configuration unknown"})
	}
}

// lease opens one instance, unless the walk has opened it before, and renews the lease if a renewal is due. Failures of
// an ephemeral resource in a check block are warnings, but a failure to close its lease is an error.
func (l *Leases) lease(ctx context.Context, bag *diag.Bag, e *program.Declaration, f *frame.Frame, key addr.Key, face frame.Face) {
	if e.Res.Check == "" {
		l.leaseOne(ctx, bag, e, f, key, face)
		return
	}
	bag.Lenient(func(bag *diag.Bag) {
		l.leaseOne(ctx, bag, e, f, key, face)
		bag.Blame(e.CheckBlock())
	})
}

func (l *Leases) leaseOne(ctx context.Context, bag *diag.Bag, e *program.Declaration, f *frame.Frame, key addr.Key, face frame.Face) {
	inst := e.Resource.In(f.Addr()).Instance(key)
	o := l.ask(e, keyOf(inst, face))
	o.Lock()
	defer o.Unlock()
	if !o.done {
		o.done = true
		var own diag.Bag
		held, ok := l.open(ctx, &own, e, f, key, face, inst)
		o.lease.Store(held)
		if o.diagnostics = own.List(); !ok && face == frame.After {
			l.failed(Failure{inst, o.diagnostics})
		}
	}
	o.diagnostics.Replay(bag)
	held := o.lease.Load()
	if held == nil {
		return
	}
	if err := held.Fresh(ctx); err != nil {
		bag.Add(diag.Errorf("Ephemeral resource instance has expired", "%s could not be renewed, so its value can no longer be used: %s.", inst, err).At(e.Range).About(inst))
		f.Fail(e.ID, key, face)
	}
}

func (l *Leases) failed(x Failure) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failures = append(l.failures, x)
}

// Failures returns the instances whose opening failed on the after face. Failures on the before face do not count,
// because such an opening uses values of the previous run, which may be incomplete.
func (l *Leases) Failures() []Failure {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.failures)
}

// ask returns the opening of an instance on a face, and creates it at the first request.
func (l *Leases) ask(e *program.Declaration, k leaseKey) *opening {
	l.mu.Lock()
	defer l.mu.Unlock()
	o := l.openings[k]
	if o == nil {
		o = &opening{Mutex: new(sync.Mutex)}
		if other := l.openings[k.otherFace()]; other != nil {
			o.Mutex = other.Mutex
		}
		l.openings[k] = o
		l.of[e.ID] = append(l.of[e.ID], k)
	}
	return o
}

// asked returns the opening of the lease key, or nil if the opening was not requested.
func (l *Leases) asked(k leaseKey) *opening {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.openings[k]
}

// open opens an instance. It sets the instance's slot to the value, to a placeholder (the configured values, and
// unknown values for the rest) if apply opens the lease, or to failed. It returns the lease, or nil if no lease is
// open. good is false if the slot was set to failed. The lease may be open then, too, because a postcondition failed.
func (l *Leases) open(ctx context.Context, bag *diag.Bag, e *program.Declaration, f *frame.Frame, key addr.Key, face frame.Face, inst addr.Instance) (held *lease.Lease, good bool) {
	defer func() {
		if !good { // the opening failed or panicked
			f.Fail(e.ID, key, face)
		}
	}()
	l.Receive(ctx, bag, e.ID, f.Addr(), addr.NoKey, face) // the leases that the configuration of e uses
	opener := l.o.Opener(bag)
	v, held, out := l.tryOpen(ctx, bag, opener, e, f, key, face, inst)
	if !out.HasValue() {
		return held, false
	}
	f.Put(e.ID, key, face, v)
	good = held == nil || opener.Post(e, f, key, inst, func() mark.Value { return v })
	return held, good
}

// tryOpen opens an instance, unless a dependency or a precondition has failed, or the opening is pending. It returns
// the value, the lease and the outcome. The lease is nil if none is open. If the opening is pending, the value is a
// placeholder. tryOpen uses the lease of an earlier round if it was kept, and in a plan walk the lease of the other
// face if the configuration and the provider process are the same.
func (l *Leases) tryOpen(ctx context.Context, bag *diag.Bag, opener Opener, e *program.Declaration, f *frame.Frame, key addr.Key, face frame.Face, inst addr.Instance) (mark.Value, *lease.Lease, plan.Outcome) {
	ready := plan.Done(true)
	if l.o.Ready != nil {
		ready = l.o.Ready(e.ID, inst.Module)
	}
	if ready.Kind == plan.Failed || !opener.Pre(e, f, key, inst) {
		return mark.Value{}, nil, plan.Outcome{}
	}
	config, evaluated := f.Config(e.ID, key, face, bag)
	if evaluated != frame.OK {
		return mark.Value{}, nil, plan.Outcome{}
	}
	t, known, ok := opener.Tools(ctx, e, f, key, inst, face)
	if !ok {
		return mark.Value{}, nil, plan.Outcome{}
	}
	t.Where = func(p cty.Path) diag.Range { return f.Where(e.ID, p) }
	why := &mark.Origin{What: inst.String(), Range: e.Range}
	known = known && config.Raw.IsWhollyKnown()
	if !known && l.o.Ready == nil && !l.o.Later {
		bag.Add(diag.Errorf("Internal error", "This is a bug in Lethe: it cannot open %s, because its configuration or the configuration of its provider is not known.", inst).At(e.Range).About(inst))
		return mark.Value{}, nil, plan.Outcome{}
	}
	if !t.Validate(ctx, config) {
		return mark.Value{}, nil, plan.Outcome{}
	}
	if !known {
		ready = plan.Await(plan.ReadConfigUnknown)
	}
	if !known || face == frame.After && ready.Kind == plan.Pending { // on the before face, the objects have not changed yet, so the lease is not pending
		l.pending(inst.Current())
		return t.Closed(config, why), nil, ready
	}
	k := keyOf(inst, face)
	if other := l.asked(k.otherFace()); l.o.Ready != nil && other != nil && other.serves(config, t.Provider) {
		return other.value, other.lease.Load(), plan.Done(true)
	}
	if kept := l.o.Kept.get(inst); kept != nil && face == frame.After {
		l.asked(k).kept, l.asked(k).value = true, kept.value
		return kept.value, kept.lease, plan.Done(true)
	}
	v, held, out := l.hold(ctx, bag, t, config, why, e, inst)
	if o := l.asked(k); out.Kind == plan.Known {
		o.config, o.value, o.provider = config, v, t.Provider
	}
	return v, held, out
}

// serves reports whether the opening o has an open lease that the process p opened with the same configuration. A plan
// walk closes the leases of both faces together, so it can use one lease for both faces.
func (o *opening) serves(config mark.Value, p guard.Provider) bool {
	return o.lease.Load() != nil && o.provider == p && o.config.Raw.RawEquals(config.Raw)
}

// hold opens the lease and adds it to the ledger (the list of leases). If the provider opened the lease, but its
// answer violates the protocol, hold closes the lease at once. After this and every other failure, the returned lease
// is nil.
func (l *Leases) hold(ctx context.Context, bag *diag.Bag, t *object.Tools, config mark.Value, why *mark.Origin, e *program.Declaration, inst addr.Instance) (mark.Value, *lease.Lease, plan.Outcome) {
	closed, ok := l.opening(bag, inst, t)
	if !ok {
		return mark.Value{}, nil, plan.Outcome{}
	}
	var held *lease.Lease
	waiting := make(chan struct{})
	later := *t // diagnostics of renewals and closings go to the bag of the whole walk, even for a lease in a check block
	later.Bag = l.o.All
	v, out := t.Open(ctx, config, why, func(o guard.Lease) {
		held = l.o.Ledger.Opened(lease.Opened{
			Object: inst.Current(), Provider: t.Provider.Process(), Type: t.Type.Name, Private: o.Private, RenewAt: o.RenewAt,
			Parents: l.Parents(e.ID), Delivered: waiting, Report: func(ds provider.Diags) { later.Report(ds) }, Closed: closed,
		})
	})
	l.o.InFlight(inst.Current(), false)
	switch {
	case out.Kind == plan.Known:
		close(waiting)
		return v, held, out
	case held != nil:
		l.o.Ledger.Close(held)
	case !t.Unanswered:
		closed()
	}
	return mark.Value{}, nil, out
}

// opening records in the journal (the file that records the calls of an apply), if the run has a journal, that an
// instance is about to be opened. The returned function records that the lease is closed. If the journal fails, opening
// reports an error and returns false.
func (l *Leases) opening(bag *diag.Bag, inst addr.Instance, t *object.Tools) (closed func(), ok bool) {
	closed = func() {}
	if l.o.Journal != nil {
		op, err := l.o.Journal.Opening(inst.Current(), t.Provider.Addr())
		if err != nil {
			bag.Add(diag.Errorf("Failed to record progress", "%s was not opened, because the journal could not record it first: %s.", inst, err).About(inst))
			return nil, false
		}
		closed = func() { l.o.Journal.Closed(op) }
		t.Note = provider.Note{Call: uint64(op), Rest: func() [][]byte { return [][]byte{[]byte(inst.Current().String())} }}
	}
	l.o.InFlight(inst.Current(), true)
	return closed, true
}

// Parents returns the open leases whose values the configuration of d uses. d is an ephemeral resource or a provider
// configuration.
func (l *Leases) Parents(d program.Decl) []*lease.Lease {
	var out []*lease.Lease
	for _, p := range l.o.Receivers.Ephemerals(d) {
		out = append(out, l.OpenOf(p)...)
	}
	return out
}

// OpenOf returns the open leases of an ephemeral resource.
func (l *Leases) OpenOf(e program.Decl) []*lease.Lease {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []*lease.Lease
	for _, k := range l.of[e] {
		if held := l.openings[k].lease.Load(); held != nil {
			out = append(out, held)
		}
	}
	return out
}

// CloseInstance closes the lease of one instance of an ephemeral resource, if it is open, and removes its value from
// its slot in the frame.
func (l *Leases) CloseInstance(e *program.Declaration, inst addr.Instance, face frame.Face) {
	l.close(e, keyOf(inst, l.o.Receivers.Face(e.ID, face)))
}

// Close closes the leases of an ephemeral resource on a face, and removes their values from their slots in the frame.
// If in is not nil, Close closes only the leases in this module instance.
func (l *Leases) Close(e *program.Declaration, in *addr.ModuleInstance, face frame.Face) {
	face = l.o.Receivers.Face(e.ID, face)
	l.mu.Lock()
	var mine []leaseKey
	for _, k := range l.of[e.ID] {
		if k.face == face && (in == nil || k.instance.Module == *in) {
			mine = append(mine, k)
		}
	}
	l.mu.Unlock()
	walk.Each(len(mine), func(i int) { l.close(e, mine[i]) })
}

func (l *Leases) close(e *program.Declaration, k leaseKey) {
	o := l.asked(k)
	if o == nil {
		return // no receiver requested the lease
	}
	o.Lock()
	defer o.Unlock()
	held := o.lease.Swap(nil)
	if held == nil {
		return
	}
	if f := l.frame.At(k.instance.Module, k.face); f != nil {
		defer f.Drop(e.ID, k.instance.Key, k.face)
	}
	switch {
	case l.o.Keep == nil && o.kept:
	case l.o.Keep != nil && l.o.Kept != nil && k.face == frame.After && l.o.Keep(e.ID, k.instance.Key):
		l.o.Kept.add(k.instance, &keptLease{e.ID, held, o.value})
	default:
		l.o.Kept.remove(k.instance, held)
		l.o.Ledger.Close(held)
	}
}

// End closes, at the end of the walk, all leases that are still open, except the leases that later rounds (further
// applies of the command) need. It reports an error for each lease that cannot be closed.
func (l *Leases) End() {
	if l.o.Keep != nil && l.o.Kept != nil {
		l.o.Kept.retain(l.o.Keep)
	}
	Close(l.o.Ledger, l.o.All, l.o.Send)
}

// Close closes the leases of a ledger, except the leases that are kept for later rounds. It reports an error for each
// lease that cannot be closed, and sends the event with the numbers of leases if leases were opened or closed.
func Close(ledger *lease.Ledger, bag *diag.Bag, send func(event.Event)) {
	for _, left := range ledger.CloseAll() {
		bag.Add(diag.Errorf("Ephemeral resource left open", "%s could not be closed by %s: %s.", left.Object, left.Provider.ForDisplay(), left.Reason))
	}
	if s := ledger.Summary(); s.Opened+s.Closed > 0 {
		send(s)
	}
}
