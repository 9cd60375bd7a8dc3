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

// A declaration has two faces. The before face has its prior value, the after face its planned value.
//
// Planning needs the prior settings of a provider (the before face) in two cases: the planned settings of the provider
// are unknown, or an object is to be destroyed. It evaluates the prior settings only when a job needs them, and then
// also sets the prior values to which they refer. These values have been refreshed by then, because a node that uses a
// provider runs after everything to which the provider's settings refer. The plan contains the prior results of data
// sources (Plan.Readings), so that an apply need not read data sources for prior values.

// getReady sets the prior values (before face) to which the declaration d refers, directly or indirectly. It does so
// only once for each declaration. Concurrent calls for the same declaration wait.
func (b *beforeFace) getReady(ctx context.Context, d program.Decl) {
	once, _ := b.got.LoadOrStore(d, new(sync.Once))
	once.(*sync.Once).Do(func() { b.makeReady(ctx, b.p.run.Program.Decls()[d]) })
}

// needless are the uses of references that getReady does not follow, because the evaluation does not need the value of
// the target. An example is a reference in depends_on.
const needless = program.ByDepends | program.ByCondition | program.ByTrigger | program.ByLifecycle | program.ByProvision | program.ByAction | program.ByImport

func (b *beforeFace) makeReady(ctx context.Context, d *program.Declaration) {
	switch {
	case d.Kind == program.Resource && d.Resource.Mode == addr.Managed:
		b.beforeKeys(d)
		return
	case b.p.req.Mode != plan.Destroy && b.p.run.Receivers.Steady(d.ID):
		return // the declaration has the same value on both faces, and its planned value is known
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
			f.Keys(d.ID, frame.Before, &diag.Bag{}) // adds the keys of count or for_each to the keys in the state
		case d.Kind == program.Resource && d.Resource.Mode == addr.Data:
			list := f.Keys(d.ID, frame.Before, &diag.Bag{}).List
			walk.Each(len(list), func(i int) { b.readBefore(ctx, d, f, list[i]) })
		}
	}
}

// beforeKeys sets the prior instances (before face) of a managed resource: the instances in the state. An instance that
// was deleted outside of Lethe keeps its last stored value, because the configuration of a provider may refer to it.
// The refreshed state lacks this instance, so beforeKeys adds its state entry to the plan, for the apply.
func (b *beforeFace) beforeKeys(d *program.Declaration) {
	frames, _ := b.p.run.Frame.Instances(d.Module, frame.Before)
	for _, f := range frames {
		stored := b.p.prior.Resource(d.Resource.In(f.Addr()))
		f.SetKeys(d.ID, frame.Before, frame.Keys{Repeat: d.Repeat(), List: stored.Keys()})
		for o, e := range stored.Objects() {
			cur, seen := b.p.state.get(o)
			if seen && cur.Entry == nil && !o.IsDeposed() {
				b.handOn(o, e)
			}
		}
	}
}

// readBefore sets the prior value (before face) of an instance of a data source. It takes the first available value of
// these:
//
//   - the planned result (after face), if the configuration is the same;
//   - the stored result, if useStored allows it;
//   - a new result.
//
// If no result can be read, readBefore uses the stored result in any case. Without a stored result, the instance has no
// value. If the configuration of the data source or the prior settings of its provider are not known, only a destroy
// plan uses the stored result. Errors are reported only in a destroy plan, and there as warnings if the state has a
// result.
func (b *beforeFace) readBefore(ctx context.Context, d *program.Declaration, f *frame.Frame, key addr.Key) {
	o := d.Resource.In(f.Addr()).Instance(key).Current()
	stored := b.p.prior.Get(o)
	switch {
	case b.p.req.Mode != plan.Destroy:
		b.readNow(ctx, d, f, o, stored, &diag.Bag{})
	case stored == nil:
		b.readNow(ctx, d, f, o, nil, b.p.run.Bag)
	default:
		var bag diag.Bag
		if !b.readNow(ctx, d, f, o, stored, &bag) {
			b.putResult(d, f, o, filling.StoredValue(b.p.run.Program, d, stored), stored)
		}
		b.warnStored(o, &bag)
	}
}

// readNow evaluates the configuration of an instance of a data source, and sets its prior value to the planned result,
// the stored result or a new result. If the configuration or the provider is not known or has errors, it sets no value
// and returns false.
func (b *beforeFace) readNow(ctx context.Context, d *program.Declaration, f *frame.Frame, o addr.Object, stored *state.Entry, bag *diag.Bag) bool {
	key := o.Key
	config, out := f.Config(d.ID, key, frame.Before, bag)
	if out != frame.OK || !config.Raw.IsWhollyKnown() {
		return false
	}
	pk, out := f.ProviderKey(d.ID, key, frame.Before, bag)
	if out != frame.OK {
		return false
	}
	u := declared.UseOf(b.p.run.Program, d, pk)
	if v, ok := b.readAlready(ctx, o.Instance, config, u); ok {
		f.Put(d.ID, key, frame.Before, v)
		return true
	}
	s, done, ok := b.p.run.Sessions.Hold(ctx, bag, u, frame.Before)
	defer done()
	typ := b.p.run.Types.Of(ctx, b.p.run.Bag, u.Instance.Provider, d.Resource, o.Instance)
	if !ok || s.Unknown || typ == nil {
		return false
	}
	t := b.p.run.With(bag).Tools(o, s, typ)
	v, entry, ok := b.readOrStored(ctx, d, t, config, o.Instance, u)
	switch {
	case ok:
	case stored != nil:
		v, entry = filling.StoredValue(b.p.run.Program, d, stored), stored
	default:
		f.Fail(d.ID, key, frame.Before)
		return true
	}
	b.putResult(d, f, o, v, entry)
	return true
}

// putResult sets the prior value of an instance of a data source, and adds its entry to the plan, for the apply.
func (b *beforeFace) putResult(d *program.Declaration, f *frame.Frame, o addr.Object, v mark.Value, entry *state.Entry) {
	f.Put(d.ID, o.Key, frame.Before, v)
	b.handOn(o, entry)
}

// warnStored reports the errors in reported as warnings, and adds to each that Lethe uses the result in the state.
func (b *beforeFace) warnStored(o addr.Object, reported *diag.Bag) {
	for _, d := range reported.List() {
		if d.Severity == diag.Error {
			d.Severity = diag.Warning
			d.Detail = strings.TrimSpace(d.Detail + "\n\nLethe uses the result in the state for " + o.String() + ", because everything is to be destroyed.")
			b.p.run.Bag.Add(d)
		}
	}
}

// handOn adds the entry with the prior value of the object o to the plan (Plan.Readings), for the apply.
func (b *beforeFace) handOn(o addr.Object, e *state.Entry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.readings = append(b.readings, plan.Reading{Object: o, Entry: e})
}

func (b *beforeFace) readOrStored(ctx context.Context, d *program.Declaration, t *object.Tools, config mark.Value, inst addr.Instance, u declared.Use) (mark.Value, *state.Entry, bool) {
	if v, entry, ok := b.p.useStored(d, t, config, inst, u); ok {
		return v, entry, true
	}
	v, entry, out := t.ReadData(ctx, config, object.Stored{Provider: u.Instance, Recorded: b.p.recordedOf(d.ID)}, true)
	return v, entry, out.Kind == plan.Known
}

// wasRead records the planned result (after face) of a data source, so that readAlready can return it as prior result
// (before face). It records nothing if both are always equal, because the frame (the values of the program) then uses
// the planned result for both.
func (b *beforeFace) wasRead(d program.Decl, inst addr.Instance, config, v mark.Value) {
	if b.p.run.Receivers.Steady(d) {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.after[inst] = reading{config.Raw, v}
}

// readAlready returns the planned result (after face) of a data source, for use as prior result. It returns false if
// the data source was not read with planned values, or if its configuration, or the settings of its provider, have
// other prior values than planned values.
func (b *beforeFace) readAlready(ctx context.Context, inst addr.Instance, config mark.Value, u declared.Use) (mark.Value, bool) {
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

// prepareDestroy sets the prior values (before face) that an apply needs to destroy an object: the values to which the
// settings of its provider refer, and the values to which the ephemeral resources of its destroy-time provisioners
// refer. It does nothing if the change c does not destroy an object, or if e is nil.
func (b *beforeFace) prepareDestroy(ctx context.Context, c *plan.Change, e *state.Entry) {
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
