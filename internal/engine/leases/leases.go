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
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/walk"
	"github.com/zclconf/go-cty/cty"
)

// Leases are the leases of one walk.
type Leases struct {
	o     Options
	frame *frame.Frame

	mu       sync.Mutex
	openings map[leaseKey]*opening
	of       map[program.Decl][]leaseKey // the same, by ephemeral resource
	waiting  map[addr.Object]bool        // those of which it was reported that they wait
	failures []Failure
}

// Failure is an instance of an ephemeral resource that has no value.
type Failure struct {
	Instance addr.Instance
	Said     diag.Shared // why, unless something that it depends on failed
}

// New makes the leases of a walk, none of which is open.
func New(o Options) *Leases {
	return &Leases{o: o, openings: map[leaseKey]*opening{}, of: map[program.Decl][]leaseKey{}, waiting: map[addr.Object]bool{}}
}

// Fill says which frame gets the values. It is called once, before anything is received.
func (l *Leases) Fill(f *frame.Frame) { l.frame = f }

// leaseKey names a lease: one opening of an instance on a face.
type leaseKey struct {
	instance addr.Instance // its key hidden, because not every receiver that names it knows whether that is
	face     frame.Face
}

// twin names the lease of the other face.
func (k leaseKey) twin() leaseKey { return leaseKey{k.instance, k.face.Other()} }

func keyOf(inst addr.Instance, face frame.Face) leaseKey {
	inst.Key = inst.Key.Hide()
	return leaseKey{inst, face}
}

// opening is a lease that was asked for.
type opening struct {
	*sync.Mutex // one for both faces of an instance
	done        bool
	lease       atomic.Pointer[lease.Lease] // nil if it is not open: deferred, or failed

	said diag.Shared // what opening it reported, for every receiver

	// What was opened: with what, through which process, and what it gave.
	config, value mark.Value
	provider      provider.Provider
}

// Receive makes sure that the ephemeral resources whose values reach an instance of a declaration are
// open, or known not to be: after it, everything the instance evaluates has a value. It renews what
// is due.
func (l *Leases) Receive(ctx context.Context, bag *diag.Bag, d program.Decl, at addr.ModuleInstance, own addr.Key, face frame.Face) {
	l.ReceiveAll(ctx, bag, l.o.Receivers.Received(d), at, own, face)
}

// ReceiveAll does so for some ephemeral resources, in the module instances that are meant.
func (l *Leases) ReceiveAll(ctx context.Context, bag *diag.Bag, list []receivers.Received, at addr.ModuleInstance, own addr.Key, face frame.Face) {
	for _, w := range list {
		info, face := l.o.Program.Decls()[w.Of], l.o.Receivers.Face(w.Of, face)
		for _, f := range l.framesNear(info.Module, at, face) {
			l.ReceiveFrom(ctx, bag, info, f, face, w.Keys(own))
		}
	}
}

// framesNear are the instances of a module path that a declaration in another one can mean: the
// one around it, or those below the nearest module instance that is around both.
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

// ReceiveFrom does so in one module instance, for some of its instances; nil: all.
func (l *Leases) ReceiveFrom(ctx context.Context, bag *diag.Bag, e *program.Declaration, f *frame.Frame, face frame.Face, some []addr.Key) {
	l.ReceiveAll(ctx, bag, l.o.Receivers.Repeating(e.ID), f.Addr(), addr.NoKey, face) // keys and values of a repetition are evaluated once
	keys := f.Keys(e.ID, face, bag)
	if keys.Status == frame.Unknown {
		l.deferred(e.Resource.In(f.Addr()).Instance(addr.NoKey).Current())
	}
	if keys.Status != frame.Known {
		return
	}
	list := receivers.Among(keys.List, some)
	walk.Each(len(list), func(i int) { l.lease(ctx, bag, e, f, list[i], face) })
}

// deferred says once in a walk that an ephemeral resource is left for apply.
func (l *Leases) deferred(o addr.Object) {
	l.mu.Lock()
	told := l.waiting[o]
	l.waiting[o] = true
	l.mu.Unlock()
	if !told {
		l.o.Tell(event.Deferred{Object: o, Reason: "Configuration unknown"})
	}
}

// lease opens one instance if that was not done yet, and renews it if that is due. In a check block what
// fails is a warning; what cannot be closed is an error there too.
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
		if o.said = own.List(); !ok && face == frame.After {
			l.failed(Failure{inst, o.said})
		}
	}
	o.said.Replay(bag)
	held := o.lease.Load()
	if held == nil {
		return
	}
	if err := held.Fresh(ctx); err != nil {
		bag.Add(diag.Errorf("Ephemeral resource instance has expired", "%s could not be renewed, and its value must not be used any more: %s.", inst, err).At(e.Range).About(inst))
		f.Fail(e.ID, key, face)
	}
}

func (l *Leases) failed(x Failure) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failures = append(l.failures, x)
}

// Failures lists the instances on the after face that have no value. On the before face a value may be missing: the
// configuration need not have been like this before.
func (l *Leases) Failures() []Failure {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.failures)
}

// ask gives the opening of an instance on a face.
func (l *Leases) ask(e *program.Declaration, k leaseKey) *opening {
	l.mu.Lock()
	defer l.mu.Unlock()
	o := l.openings[k]
	if o == nil {
		o = &opening{Mutex: new(sync.Mutex)}
		if twin := l.openings[k.twin()]; twin != nil {
			o.Mutex = twin.Mutex
		}
		l.openings[k] = o
		l.of[e.ID] = append(l.of[e.ID], k)
	}
	return o
}

// asked gives an opening that was asked for; nil: it was not.
func (l *Leases) asked(k leaseKey) *opening {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.openings[k]
}

// open opens an instance and fills its slot. What cannot be opened yet gets a placeholder,
// what fails a failed slot; both give no lease. It reports false if the slot is failed.
func (l *Leases) open(ctx context.Context, bag *diag.Bag, e *program.Declaration, f *frame.Frame, key addr.Key, face frame.Face, inst addr.Instance) (held *lease.Lease, good bool) {
	defer func() {
		if !good { // nor if anything else kept it from being open
			f.Fail(e.ID, key, face)
		}
	}()
	l.Receive(ctx, bag, e.ID, f.Addr(), addr.NoKey, face) // the leases it is obtained with
	opener := l.o.Opener(bag)
	v, held, ok := l.tryOpen(ctx, bag, opener, e, f, key, face, inst)
	if !ok {
		return held, false
	}
	f.Put(e.ID, key, face, v)
	good = held == nil || opener.Post(e, f, key, inst, func() mark.Value { return v })
	return held, good
}

func (l *Leases) tryOpen(ctx context.Context, bag *diag.Bag, opener Opener, e *program.Declaration, f *frame.Frame, key addr.Key, face frame.Face, inst addr.Instance) (mark.Value, *lease.Lease, bool) {
	ready := Open
	if l.o.Ready != nil {
		ready = l.o.Ready(e.ID, inst.Module)
	}
	if ready == Never || !opener.Pre(e, f, key, inst) {
		return mark.Value{}, nil, false
	}
	config, out := f.Config(e.ID, key, face, bag)
	if out != frame.OK {
		return mark.Value{}, nil, false
	}
	t, known, ok := opener.Tools(ctx, e, f, key, inst, face)
	if !ok {
		return mark.Value{}, nil, false
	}
	t.Where = func(p cty.Path) diag.Range { return f.Where(e.ID, p) }
	why := &mark.Origin{What: inst.String(), Range: e.Range}
	known = known && config.Raw.IsWhollyKnown()
	if !known && l.o.Ready == nil {
		bag.Add(diag.Errorf("Internal error", "This is a bug in Lethe: %s is to be opened, and its configuration or that of its provider is not known.", inst).At(e.Range).About(inst))
		return mark.Value{}, nil, false
	}
	if !t.Validate(ctx, config) {
		return mark.Value{}, nil, false
	}
	if !known || face == frame.After && ready == Later { // what is there changes only later
		l.deferred(inst.Current())
		return t.Closed(config, why), nil, true
	}
	k := keyOf(inst, face)
	if twin := l.asked(k.twin()); l.o.Ready != nil && twin != nil && twin.serves(config, t.Provider) {
		return twin.value, twin.lease.Load(), true
	}
	v, held, ok := l.hold(ctx, bag, t, config, why, e, inst)
	if o := l.asked(k); ok {
		o.config, o.value, o.provider = config, v, t.Provider
	}
	return v, held, ok
}

// serves reports whether a lease is open that was asked for with the same configuration, and of the same process. A
// walk that plans closes those of both faces together, so one can serve both.
func (o *opening) serves(config mark.Value, p provider.Provider) bool {
	return o.lease.Load() != nil && o.provider == p && o.config.Raw.RawEquals(config.Raw)
}

// hold opens the lease and enters it into the ledger. One whose answer breaks the contract is
// closed again at once.
func (l *Leases) hold(ctx context.Context, bag *diag.Bag, t *object.Tools, config mark.Value, why *mark.Origin, e *program.Declaration, inst addr.Instance) (mark.Value, *lease.Lease, bool) {
	over, ok := l.opening(bag, inst, t)
	if !ok {
		return mark.Value{}, nil, false
	}
	var held *lease.Lease
	told := make(chan struct{})
	later := *t // what is said after the opening belongs to the whole walk, also in a check
	later.Bag = l.o.All
	v, ok := t.Open(ctx, config, why, func(o object.Opened) {
		held = l.o.Ledger.Opened(lease.Opened{
			Object: inst.Current(), Provider: t.Provider, Type: t.Type.Name, Private: o.Private, RenewAt: o.RenewAt,
			Parents: l.Parents(e.ID), Told: told, Report: func(ds provider.Diags) { later.Report(ds) }, Closed: over,
		})
	})
	l.o.InFlight(inst.Current(), false)
	switch {
	case ok:
		close(told)
		return v, held, true
	case held != nil:
		l.o.Ledger.Close(held)
	case !t.Unanswered:
		over()
	}
	return mark.Value{}, nil, false
}

// opening takes note that an instance is about to be opened. What it returns says that it is open
// no more.
func (l *Leases) opening(bag *diag.Bag, inst addr.Instance, t *object.Tools) (over func(), ok bool) {
	over = func() {}
	if l.o.Journal != nil {
		op, err := l.o.Journal.Opening(inst.Current(), t.Provider.Addr())
		if err != nil {
			bag.Add(diag.Errorf("Failed to record progress", "The journal could not record that %s was about to be opened, so it was not opened: %s.", inst, err).About(inst))
			return nil, false
		}
		over = func() { l.o.Journal.Over(op) }
		t.Note = provider.Note{Call: uint64(op), Rest: func() [][]byte { return [][]byte{[]byte(inst.Current().String())} }}
	}
	l.o.InFlight(inst.Current(), true)
	return over, true
}

// Parents are the open leases that an ephemeral resource was obtained with, or a provider
// configured.
func (l *Leases) Parents(d program.Decl) []*lease.Lease {
	var out []*lease.Lease
	for _, p := range l.o.Receivers.Ephemerals(d) {
		out = append(out, l.OpenOf(p)...)
	}
	return out
}

// OpenOf are the open leases of an ephemeral resource.
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

// CloseInstance closes one instance of an ephemeral resource, if it is open, and empties its slot.
func (l *Leases) CloseInstance(e *program.Declaration, inst addr.Instance, face frame.Face) {
	l.close(e, keyOf(inst, l.o.Receivers.Face(e.ID, face)))
}

// Close closes the instances of an ephemeral resource in one module instance, or in all, and
// empties their slots.
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
		return // nothing asked for it
	}
	o.Lock()
	defer o.Unlock()
	held := o.lease.Swap(nil)
	if held == nil {
		return
	}
	l.o.Ledger.Close(held)
	if f := l.frame.At(k.instance.Module, k.face); f != nil {
		f.Drop(e.ID, k.instance.Key, k.face)
	}
}

// End closes what is still open at the end of the walk, and reports what could not be closed.
func (l *Leases) End() {
	for _, left := range l.o.Ledger.CloseAll() {
		l.o.All.Add(diag.Errorf("Ephemeral resource left open", "%s could not be closed by %s: %s.", left.Object, left.Provider.ForDisplay(), left.Reason))
	}
	if s := l.o.Ledger.Summary(); s.Opened > 0 {
		l.o.Tell(s)
	}
}
