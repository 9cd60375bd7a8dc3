package planning

import (
	"context"
	"strings"
	"sync"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/declared"
	"github.com/lethe-iac/lethe/internal/engine/filling"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/object"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/walk"
)

// Providers as they were configured before are wanted where the settings to come are not known, and for
// what is destroyed. Their settings are evaluated when a job of the plan walk needs them, and only then
// is what they are made from got ready on the before face: by then all of it has been refreshed, since
// what works through a provider comes after everything that its settings refer to. What is read for
// it is handed on in the plan, for the apply walk reads nothing on this face.

// getReady makes sure that a declaration can be evaluated on the before face.
func (b *lookBack) getReady(ctx context.Context, d program.Decl) {
	once, _ := b.got.LoadOrStore(d, new(sync.Once))
	once.(*sync.Once).Do(func() { b.makeReady(ctx, b.p.run.Program.Decls()[d]) })
}

// needless are references for other reasons than a value.
const needless = program.ByDepends | program.ByCondition | program.ByTrigger | program.ByLifecycle | program.ByProvision | program.ByImport

func (b *lookBack) makeReady(ctx context.Context, d *program.Declaration) {
	switch {
	case d.Kind == program.Resource && d.Resource.Mode == addr.Managed:
		b.beforeKeys(d)
		return
	case b.p.req.Mode != plan.Destroy && b.p.run.Receivers.Steady(d.ID):
		return // it was decided
	}
	for _, ref := range b.p.run.Program.Refs(d.ID) {
		if ref.Use&^needless != 0 {
			b.getReady(ctx, ref.To)
		}
	}
	frames, _ := b.p.run.Frame.Instances(d.Module, frame.Before)
	for _, f := range frames {
		switch {
		case d.Kind == program.Call:
			f.Keys(d.ID, frame.Before, &diag.Bag{}) // what the repetition says comes on top of what is stored
		case d.Kind == program.Resource && d.Resource.Mode == addr.Data:
			list := f.Keys(d.ID, frame.Before, &diag.Bag{}).List
			walk.Each(len(list), func(i int) { b.readBefore(ctx, d, f, list[i]) })
		}
	}
}

// beforeKeys tells the before face which instances of a managed resource there are. What was deleted outside is
// there as it was last: providers may be configured with it that others go through. The refreshed snapshot
// does not have it, so it is handed on like what was read.
func (b *lookBack) beforeKeys(d *program.Declaration) {
	frames, _ := b.p.run.Frame.Instances(d.Module, frame.Before)
	for _, f := range frames {
		stored := b.p.prior.Resource(d.Resource.In(f.Addr()))
		f.SetKeys(d.ID, frame.Before, frame.Keys{Repeat: d.Repeat(), List: stored.Keys()})
		for o, e := range stored.Objects() {
			cur, seen := b.p.refreshed(o)
			if seen && cur.Entry == nil && !o.IsDeposed() {
				b.handOn(o, e)
			}
		}
	}
}

// readBefore gives an instance of a data source its value before: what is read, unless that was done with the
// same question, and where that cannot be what the state has of it. Where there is neither it has no value; if
// everything is destroyed that is an error, since nothing else is left to go by.
func (b *lookBack) readBefore(ctx context.Context, d *program.Declaration, f *frame.Frame, key addr.Key) {
	o := d.Resource.In(f.Addr()).Instance(key).Current()
	stored := b.p.prior.Get(o)
	bag := &diag.Bag{}
	if b.p.req.Mode == plan.Destroy && stored == nil {
		bag = b.p.run.Bag
	} else if b.p.req.Mode == plan.Destroy {
		defer func() { b.warnStored(o, bag) }()
	}
	config, out := f.Config(d.ID, key, frame.Before, bag)
	if out != frame.OK || !config.Raw.IsWhollyKnown() {
		return
	}
	pk, out := f.ProviderKey(d.ID, key, frame.Before, bag)
	if out != frame.OK {
		return
	}
	u := declared.UseOf(b.p.run.Program, d, pk)
	if v, ok := b.readAlready(ctx, o.Instance, config, u); ok {
		f.Put(d.ID, key, frame.Before, v)
		return
	}
	s, ok := b.p.run.Sessions.Get(ctx, bag, u, frame.Before)
	typ := b.p.run.TypeOf(ctx, u.Instance.Provider, d.Resource, o.Instance)
	if !ok || s.Unknown || typ == nil {
		return
	}
	t := b.p.run.With(bag).Tools(o, s, typ)
	v, entry, ok := b.readOrStored(ctx, d, t, config, o.Instance, u)
	switch {
	case ok:
	case stored != nil:
		v, entry = filling.StoredValue(b.p.run.Program, d, stored), stored
	default:
		f.Fail(d.ID, key, frame.Before)
		return
	}
	f.Put(d.ID, key, frame.Before, v)
	b.handOn(o, entry)
}

// warnStored warns of data that could not be read, and of which the stored result is used.
func (b *lookBack) warnStored(o addr.Object, said *diag.Bag) {
	for _, d := range said.List() {
		if d.Severity == diag.Error {
			d.Severity = diag.Warning
			d.Detail = strings.TrimSpace(d.Detail + "\n\nThe result in the state is used for " + o.String() + ", because everything is to be destroyed.")
			b.p.run.Bag.Add(d)
		}
	}
}

// handOn gives the apply walk the value of an object on the before face.
func (b *lookBack) handOn(o addr.Object, e *state.Entry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.readings = append(b.readings, plan.Reading{Object: o, Entry: e})
}

func (b *lookBack) readOrStored(ctx context.Context, d *program.Declaration, t *object.Tools, config mark.Value, inst addr.Instance, u declared.Use) (mark.Value, *state.Entry, bool) {
	if v, entry, ok := b.p.useStored(d, t, config, inst); ok {
		return v, entry, true
	}
	return t.ReadData(ctx, config, object.Stored{Provider: u.Instance, Recorded: b.p.recordedOf(d.ID)}, true)
}

// wasRead remembers what a data source gave, where its faces may differ.
func (b *lookBack) wasRead(d program.Decl, inst addr.Instance, config, v mark.Value) {
	if b.p.run.Receivers.Steady(d) {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.after[inst] = reading{config.Raw, v}
}

// readAlready is what a data source gave on the after face, if it was asked the same there.
func (b *lookBack) readAlready(ctx context.Context, inst addr.Instance, config mark.Value, u declared.Use) (mark.Value, bool) {
	b.mu.Lock()
	got, ok := b.after[inst]
	b.mu.Unlock()
	if !ok || !got.config.RawEquals(config.Raw) {
		return mark.Value{}, false
	}
	before, ok := b.p.run.Sessions.Settle(ctx, b.p.run.Bag, u, frame.Before)
	after, okAfter := b.p.run.Sessions.Settle(ctx, b.p.run.Bag, u, frame.After)
	return got.value, ok && okAfter && before.Same(after)
}

// foresee gets ready what the apply walk will need on the before face to take an object down.
func (b *lookBack) foresee(ctx context.Context, c *plan.Change, e *state.Entry) {
	if !c.Action.Downs() || e == nil {
		return
	}
	if u, ok := b.p.run.StoredUse(ctx, c.Object.Instance, e.Provider); ok && u.Declared {
		b.p.run.Sessions.Settle(ctx, b.p.run.Bag, u, frame.Before)
	}
	if h := declared.ProvisionersOf(b.p.run.Program, b.p.run.Removals, c, e, true); h.Decl != nil {
		for _, part := range h.List {
			for _, w := range b.p.run.Receivers.ReceivedByParts(h.Decl.ID, h.Parts(part)) {
				b.getReady(ctx, w.Of)
			}
		}
	}
}
