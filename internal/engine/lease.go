package engine

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/declared"
	"github.com/lethe-iac/lethe/internal/engine/receivers"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/lang"
	"github.com/lethe-iac/lethe/internal/lease"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/object"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/zclconf/go-cty/cty"
)

// Leases are opened by those who receive them: before a job evaluates anything, it asks for the
// ephemeral resources whose values reach it, and the first to ask opens. Whoever comes last is
// known from the configuration: the closing nodes of the plan walk and the closing steps of the
// apply walk wait for all receivers, however they ended.

// leaseKey names a lease: one opening of an instance on a face.
type leaseKey struct {
	instance addr.Instance // its key hidden, because not all who name it know whether that is
	face     lang.Face
}

func leaseKeyOf(inst addr.Instance, face lang.Face) leaseKey {
	inst.Key = inst.Key.Hide()
	return leaseKey{inst, face}
}

// opening is a lease that was asked for.
type opening struct {
	sync.Mutex
	done  bool
	lease atomic.Pointer[lease.Lease] // nil if it is not open: deferred, or failed
}

// receive makes sure that the ephemeral resources whose values reach an instance of a declaration are
// open, or known not to be: after it, everything the instance evaluates has a value. It renews what
// is due.
func (r *run) receive(ctx context.Context, d lang.Decl, at addr.ModuleInstance, own addr.Key, face lang.Face) {
	r.receiveAll(ctx, r.receivers.Received(d), at, own, face)
}

// receiveAll does so for some ephemeral resources, in the module instances that are meant.
func (r *run) receiveAll(ctx context.Context, wants []receivers.Received, at addr.ModuleInstance, own addr.Key, face lang.Face) {
	for _, w := range wants {
		info, face := r.prog.Decls()[w.Of], r.receivers.Face(w.Of, face)
		for _, f := range r.framesNear(info.Module, at, face) {
			r.receiveFrom(ctx, info, f, face, w.Keys(own))
		}
	}
}

// framesNear are the instances of a module path that a declaration in another one can mean: the
// one around it, or those below the nearest module instance that is around both.
func (r *run) framesNear(m addr.Module, at addr.ModuleInstance, face lang.Face) []*lang.Frame {
	at = at.Around(m)
	if at.Module() == m {
		if f := r.frame.At(at, face); f != nil {
			return []*lang.Frame{f}
		}
		return nil
	}
	all, _ := r.frame.Instances(m, face)
	var out []*lang.Frame
	for _, f := range all {
		if f.Addr().Under(at) {
			out = append(out, f)
		}
	}
	return out
}

// receiveFrom does so in one module instance, for some of its instances; nil: all.
func (r *run) receiveFrom(ctx context.Context, e *lang.Declaration, f *lang.Frame, face lang.Face, some []addr.Key) {
	r.receiveAll(ctx, r.receivers.Repeating(e.ID), f.Addr(), addr.NoKey, face) // keys and values of a repetition are evaluated once
	keys := f.Keys(e.ID, face, r.bag)
	if keys.Status == lang.Unknown {
		r.deferred(e.Resource.In(f.Addr()).Instance(addr.NoKey).Current())
	}
	if keys.Status != lang.Known {
		return
	}
	list := receivers.Among(keys.List, some)
	r.each(len(list), func(i int) { r.lease(ctx, e, f, list[i], face) })
}

// each does a few things at once and waits for all. A panic in one of them comes out of each, when
// the others are over: in a goroutine of its own nobody could take it.
func (r *run) each(n int, do func(i int)) {
	if n == 1 {
		do(0)
		return
	}
	var all sync.WaitGroup
	var first atomic.Value
	for i := range n {
		all.Go(func() {
			defer func() {
				if v := recover(); v != nil {
					first.CompareAndSwap(nil, fmt.Sprintf("%v\n%s", v, debug.Stack()))
				}
			}()
			do(i)
		})
	}
	all.Wait()
	if v := first.Load(); v != nil {
		panic(v)
	}
}

// deferred says once in a walk that an ephemeral resource is left for apply.
func (r *run) deferred(o addr.Object) {
	r.mu.Lock()
	told := r.waiting[o]
	r.waiting[o] = true
	r.mu.Unlock()
	if !told {
		r.tell(event.Deferred{Object: o, Reason: "Configuration unknown"})
	}
}

// lease opens one instance if nobody has yet, and renews it if that is due. In a check block what
// fails is a warning; what cannot be closed is an error there too.
func (r *run) lease(ctx context.Context, e *lang.Declaration, f *lang.Frame, key addr.Key, face lang.Face) {
	if e.Res.Check == "" {
		r.leaseOne(ctx, e, f, key, face)
		return
	}
	r.scoped(func(r *run) { r.leaseOne(ctx, e, f, key, face) })
}

func (r *run) leaseOne(ctx context.Context, e *lang.Declaration, f *lang.Frame, key addr.Key, face lang.Face) {
	inst := e.Resource.In(f.Addr()).Instance(key)
	k := leaseKeyOf(inst, face)
	r.mu.Lock()
	o := r.leases[k]
	if o == nil {
		o = &opening{}
		r.leases[k] = o
		r.leased[e.ID] = append(r.leased[e.ID], k)
	}
	r.mu.Unlock()
	o.Lock()
	defer o.Unlock()
	if !o.done {
		o.done = true
		o.lease.Store(r.openLease(ctx, e, f, key, face, inst))
	}
	l := o.lease.Load()
	if l == nil {
		return
	}
	if err := l.Fresh(ctx); err != nil {
		r.bag.Add(diag.Errorf("Ephemeral resource instance has expired", "%s could not be renewed, and its value must not be used any more: %s.", inst, err).At(e.Range).About(inst))
		f.Fail(e.ID, key, face)
	}
}

// openLease opens an instance and fills its slot. What cannot be opened yet gets a placeholder,
// what fails a failed slot; both give no lease.
func (r *run) openLease(ctx context.Context, e *lang.Declaration, f *lang.Frame, key addr.Key, face lang.Face, inst addr.Instance) *lease.Lease {
	good := false
	defer func() {
		if !good { // nor if anything else kept it from being open
			f.Fail(e.ID, key, face)
		}
	}()
	r.receive(ctx, e.ID, f.Addr(), addr.NoKey, face) // the leases it is obtained with
	v, l, ok := r.tryOpen(ctx, e, f, key, face, inst)
	if !ok {
		return l
	}
	good = true
	f.Put(e.ID, key, face, v)
	if l != nil && !r.post(e, f, key, inst, func() mark.Value { return v }) {
		f.Fail(e.ID, key, face)
	}
	return l
}

func (r *run) tryOpen(ctx context.Context, e *lang.Declaration, f *lang.Frame, key addr.Key, face lang.Face, inst addr.Instance) (mark.Value, *lease.Lease, bool) {
	if r.lacks != nil && r.lacks(e.ID) || !r.pre(e, f, key, inst) {
		return mark.Value{}, nil, false
	}
	config, out := f.Config(e.ID, key, face, r.bag)
	if out != lang.OK {
		return mark.Value{}, nil, false
	}
	pk, out := f.ProviderKey(e.ID, key, face, r.bag)
	if out != lang.OK {
		return mark.Value{}, nil, false
	}
	u := declared.UseOf(r.prog, e, pk)
	s, ok := r.session(ctx, u, face)
	typ := r.typeOf(ctx, u.Instance.Provider, e.Resource, inst)
	if !ok || typ == nil {
		return mark.Value{}, nil, false
	}
	t := &object.Tools{Object: inst.Current(), Provider: s.provider, Type: typ, Walk: r.objs, Bag: r.bag,
		Where: func(p cty.Path) diag.Range { return f.Where(e.ID, key, p) }}
	why := &mark.Origin{What: inst.String(), Range: e.Range}
	known := config.Raw.IsWhollyKnown() && !s.unknown
	if !known && r.waits == nil {
		r.bag.Add(diag.Errorf("Internal error", "This is a bug in Lethe: %s is to be opened, and its configuration or that of its provider is not known.", inst).At(e.Range).About(inst))
		return mark.Value{}, nil, false
	}
	if !t.Validate(ctx, config) {
		return mark.Value{}, nil, false
	}
	if !known || face == lang.After && r.waits != nil && r.waits(e.ID, inst.Module) { // what is there changes only later
		r.deferred(inst.Current())
		return t.Closed(config, why), nil, true
	}
	return r.hold(ctx, t, config, why, e, inst)
}

// hold opens the lease and enters it into the ledger. One whose answer breaks the contract is
// closed again at once.
func (r *run) hold(ctx context.Context, t *object.Tools, config mark.Value, why *mark.Origin, e *lang.Declaration, inst addr.Instance) (mark.Value, *lease.Lease, bool) {
	over, ok := r.opening(inst, t.Provider.Addr())
	if !ok {
		return mark.Value{}, nil, false
	}
	var l *lease.Lease
	later := *t // what is said after the opening belongs to the whole walk, also in a check
	later.Bag = r.all
	v, ok := t.Open(ctx, config, why, func(o object.Opened) {
		l = r.ledger.Opened(lease.Opened{
			Object: inst.Current(), Provider: t.Provider, Type: t.Type.Name, Private: o.Private, RenewAt: o.RenewAt,
			Parents: r.parents(e.ID), Report: func(ds provider.Diags) { later.Report(ds) }, Closed: over,
		})
	})
	r.underWay(inst.Current(), false)
	switch {
	case ok:
		return v, l, true
	case l != nil:
		r.ledger.Close(l)
	case !t.Unanswered:
		over()
	}
	return mark.Value{}, nil, false
}

// opening takes note that an instance is about to be opened. What it returns says that it is open
// no more.
func (r *run) opening(inst addr.Instance, p addr.Provider) (over func(), ok bool) {
	over = func() {}
	if r.Leases != nil {
		op, err := r.Leases.Opening(inst.Current(), p)
		if err != nil {
			r.bag.Add(diag.Errorf("Failed to record progress", "It could not be written down that %s is about to be opened, and so it was not: %s.", inst, err).About(inst))
			return nil, false
		}
		over = func() { r.Leases.Over(op) }
	}
	r.underWay(inst.Current(), true)
	return over, true
}

// parents are the open leases that an ephemeral resource was obtained with, or a provider
// configured.
func (r *run) parents(d lang.Decl) []*lease.Lease {
	var out []*lease.Lease
	for _, p := range r.receivers.Ephemerals(d) {
		out = append(out, r.openOf(p)...)
	}
	return out
}

// openOf are the open leases of an ephemeral resource.
func (r *run) openOf(e lang.Decl) []*lease.Lease {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []*lease.Lease
	for _, k := range r.leased[e] {
		if l := r.leases[k].lease.Load(); l != nil {
			out = append(out, l)
		}
	}
	return out
}

// closeInstance closes one instance of an ephemeral resource, if it is open, and empties its slot.
func (r *run) closeInstance(e *lang.Declaration, inst addr.Instance, face lang.Face) {
	r.closeLease(e, leaseKeyOf(inst, r.receivers.Face(e.ID, face)))
}

// closeLeases closes the instances of an ephemeral resource in one module instance, or in all, and
// empties their slots.
func (r *run) closeLeases(e *lang.Declaration, in *addr.ModuleInstance, face lang.Face) {
	face = r.receivers.Face(e.ID, face)
	r.mu.Lock()
	var mine []leaseKey
	for _, k := range r.leased[e.ID] {
		if k.face == face && (in == nil || k.instance.Module == *in) {
			mine = append(mine, k)
		}
	}
	r.mu.Unlock()
	r.each(len(mine), func(i int) { r.closeLease(e, mine[i]) })
}

func (r *run) closeLease(e *lang.Declaration, k leaseKey) {
	r.mu.Lock()
	o := r.leases[k]
	r.mu.Unlock()
	if o == nil {
		return // nobody asked for it
	}
	o.Lock()
	defer o.Unlock()
	l := o.lease.Swap(nil)
	if l == nil {
		return
	}
	r.ledger.Close(l)
	if f := r.frame.At(k.instance.Module, k.face); f != nil {
		f.Drop(e.ID, k.instance.Key, k.face)
	}
}

// endLeases closes whatever is still open, and says what could not be closed.
func (r *run) endLeases() {
	for _, left := range r.ledger.CloseAll() {
		r.bag.Add(diag.Errorf("Ephemeral resource left open", "%s could not be closed by %s: %s.", left.Object, left.Provider.ForDisplay(), left.Reason))
	}
	if s := r.ledger.Summary(); s.Opened > 0 {
		r.tell(s)
	}
}
