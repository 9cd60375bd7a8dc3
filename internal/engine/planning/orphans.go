package planning

import (
	"context"
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/declared"
	"github.com/lethe-iac/lethe/internal/engine/run"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/object"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/walk"
)

// orphans returns jobs that destroy or forget the stored objects of a declared resource that do not belong to a
// declared instance: deposed objects (replaced objects that are still to be destroyed), and instances whose key or
// module instance is not declared. kept has the declared instances.
func (p *planner) orphans(d *program.Declaration, frames []*frame.Frame, kept map[addr.Instance]bool) []job {
	at := map[addr.ModuleInstance]*frame.Frame{}
	for _, f := range frames {
		at[f.Addr()] = f
	}
	var jobs []job
	for _, o := range p.stored(d.Resource) {
		switch {
		case p.sel.Stays(o.Instance):
		case o.IsDeposed():
			jobs = append(jobs, job{ended: o})
		case !kept[o.Instance] && !p.deferred.inUnknownModule(o.Module):
			jobs = append(jobs, job{ended: o, why: orphanReason(d, at[o.Module], o)})
		}
	}
	return jobs
}

// orphanReason returns the reason why a plan destroys a stored instance of a declared resource. f has the values of the
// object's module instance; nil if the module instance is not declared.
func orphanReason(d *program.Declaration, f *frame.Frame, o addr.Object) plan.Reason {
	if f == nil {
		return plan.DeleteNoModule
	}
	_, isInt := o.Key.Int()
	_, isStr := o.Key.Str()
	switch repeat := program.RepeatOf(d.Res); {
	case repeat == program.Enabled && o.Key.IsNone():
		return plan.DeleteDisabled
	case repeat == program.Count && isInt:
		return plan.DeleteCountIndex
	case repeat == program.ForEach && isStr:
		return plan.DeleteEachKey
	}
	return plan.DeleteWrongRepetition
}

// allStored returns jobs to destroy all objects of a resource, for a destroy plan.
func (p *planner) allStored(d *program.Declaration) []job {
	var jobs []job
	for _, o := range p.stored(d.Resource) {
		jobs = append(jobs, job{ended: o})
	}
	return jobs
}

// addGhosts adds a node for each managed resource that the state has and the configuration does not declare. For such a
// data source, it removes the results from the refreshed state.
func (p *planner) addGhosts() {
	for res := range p.moved.ByDeclaration() {
		if _, declared := p.run.Program.Resource(res); declared {
			continue
		}
		if res.Mode != addr.Managed {
			p.dropData(res)
			continue
		}
		p.addGhost(res)
	}
}

func (p *planner) addGhost(res addr.Resource) {
	objects := slices.DeleteFunc(p.stored(res), func(o addr.Object) bool { return p.sel.Stays(o.Instance) })
	decide := p.nodes.add(res.String(), func(_ context.Context, f *walk.Fan) bool {
		if p.req.Mode == plan.RefreshOnly {
			return true // a refresh-only plan plans no changes of objects
		}
		f.Jobs(len(objects), func(ctx context.Context, i int) bool {
			return (&endedObject{p, objects[i], p.ghostReason(objects[i]), nil}).decide(ctx)
		})
		return true
	})
	var through []program.Decl
	use := func(i addr.ProviderInstance) {
		if c, ok := p.run.Program.ProviderFor(i.Module, i.Provider, i.Alias); ok && !slices.Contains(through, c) {
			through = append(through, c)
			p.nodes.use(c, decide) // the same provider configuration destroys the object
		}
	}
	for _, o := range objects {
		stored := &storedObject{p: p, o: o, entry: p.prior.Get(o)}
		use(stored.entry.Provider)
		if implied, ok := stored.impliedProvider(); ok {
			use(implied)
		}
	}
	if len(objects) > 0 {
		p.addRefresh(objects, res, decide, through...)
	}
}

func (p *planner) ghostReason(o addr.Object) plan.Reason {
	switch {
	case o.IsDeposed() || p.req.Mode == plan.Destroy:
		return plan.NoReason
	case p.moved.Origin(o) != o:
		return plan.DeleteNoMoveTarget
	}
	return plan.DeleteNoResource
}

// endedObject is an object that a plan destroys or forgets, because it is not declared or the mode is destroy.
type endedObject struct {
	p   *planner
	o   addr.Object
	why plan.Reason
	d   *program.Declaration // the declaration of the object's resource; nil: only the state has the resource
}

// decide plans to destroy or to forget the object. It returns false after an error. If the refresh found that the
// object no longer exists, decide plans nothing and returns true.
func (x *endedObject) decide(ctx context.Context) bool {
	cur, seen := x.p.state.get(x.o)
	if !seen || cur.Entry == nil {
		return seen // true: the object no longer exists; false: the refresh failed
	}
	u, ok := x.p.run.StoredUse(ctx, x.o.Instance, cur.Entry.Provider)
	if !ok {
		return false
	}
	typ := x.p.run.Types.Of(ctx, x.p.run.Bag, u.Instance.Provider, x.o.Resource(), x.o.Instance)
	if typ == nil {
		return false
	}
	x.p.lookBefore(ctx, x.o, typ, u, cur)
	s, ok, why := x.session(ctx, u)
	t := x.p.run.Tools(x.o, s, typ)
	if !ok && why != nil {
		x.p.deferred.blame(why...)
		return x.wait(t, cur)
	}
	if !ok {
		return false
	}
	c, ok := x.plan(ctx, t, cur)
	if !ok {
		return false
	}
	c.Why, c.Provider = x.why, u.Instance
	if c.Was = x.o; x.p.req.Mode != plan.Destroy {
		c.Was = x.p.moved.Origin(x.o)
	}
	x.p.back.prepareDestroy(ctx, c, cur.Entry)
	x.p.decisions.record(c)
	if x.d == nil {
		return remembered(x.p, c, cur.Entry)
	}
	x.p.outcomes.noteChange(x.d.ID, c)
	f := x.p.run.Frame.At(x.o.Module, frame.Before)
	if f == nil { // the module instance is not declared, so only the state can protect the object
		return remembered(x.p, c, cur.Entry)
	}
	return x.p.allowed(x.d, f, c) && invoke(ctx, x.p, x.d, c, f, nil)
}

// session returns the session (the configured provider process) that destroys the object. If the provider's settings
// are unknown now and a later round (a further plan and apply) can destroy the object, ok is false and why has the
// errors. If ok is false and why is empty, an error was reported.
func (x *endedObject) session(ctx context.Context, u declared.Use) (s *run.Session, ok bool, why []diag.Diagnostic) {
	if !x.p.req.Options.Defers {
		s, ok = x.p.run.Sessions.GetDown(ctx, x.p.run.Bag, u)
		return s, ok, nil
	}
	var bag diag.Bag
	if s, ok = x.p.run.Sessions.GetDown(ctx, &bag, u); !ok && x.p.run.Sessions.Unknown(u) {
		return s, false, bag.List()
	}
	x.p.run.Bag.Add(bag.List()...)
	return s, ok, nil
}

// wait leaves the destruction of the object to a later round, because its provider cannot be configured yet. It returns
// false if the stored object cannot be decoded.
func (x *endedObject) wait(t *object.Tools, cur object.Current) bool {
	before, ok := t.Value(cur.Entry, cur.Known)
	x.p.deferred.any.Store(true)
	x.p.deferred.record(&plan.Change{
		Object: x.o, Was: x.p.moved.Origin(x.o), Entry: cur.Entry, Action: plan.Delete, Why: x.why, Before: before, After: mark.Plain(t.Type.Null()),
		Provider: cur.Entry.Provider, Deferral: &plan.Deferral{Reason: plan.ProviderConfigUnknown},
	})
	return ok
}

// plan returns a change that destroys the object, or that forgets it if forgets returns yes. After an error, which it
// reports, it returns false.
func (x *endedObject) plan(ctx context.Context, t *object.Tools, cur object.Current) (*plan.Change, bool) {
	forgets, stated, ok := x.forgets(cur.Entry)
	if !ok {
		return nil, false
	}
	if !forgets {
		schemas, _ := x.p.run.Settings.Pool.Schemas(ctx, t.Provider.Addr())
		return t.PlanDown(ctx, cur, schemas.Capabilities.PlanDestroy)
	}
	before, ok := t.Value(cur.Entry, cur.Known)
	c := object.Forget(x.o, cur, before, t.Type.Null())
	c.SkipDestroy = stated
	return c, ok
}

// forgets reports whether the plan forgets the object instead of destroying it (yes), and whether the reason is destroy
// = false in the configuration or in the state (stated). A declared object is forgotten if its lifecycle block has
// destroy = false now, or had it in the last apply. A removed block without the argument destroy forgets the object,
// except in a destroy plan. If the operation also destroys protected objects, forgets returns false. ok is false if the
// lifecycle block cannot be evaluated.
func (x *endedObject) forgets(e *state.Entry) (yes, stated, ok bool) {
	switch {
	case x.p.req.Operation.Policy().DestroysProtected:
		return false, false, true
	case x.d == nil:
		yes, stated = x.removed(e)
		return yes, stated, true
	case e.SkipDestroy:
		return true, true, true
	}
	f := x.p.run.Frame.At(x.o.Module, frame.Before)
	if f == nil {
		return false, false, true
	}
	yes, out := f.Forget(x.d.ID, x.o.Key, x.p.faceOf(f), x.p.run.Bag)
	return yes, yes, out == frame.OK
}

// removed decides for an object whose resource is not declared: yes is true if the plan forgets the object, and stated
// is true if the reason is destroy = false. A removed block decides, or, without a removed block, destroy = false in
// the state.
func (x *endedObject) removed(e *state.Entry) (yes, stated bool) {
	switch x.p.run.Removals.Fate(x.o.Instance) {
	case declared.RemovedForget:
		return true, true
	case declared.RemovedDestroy:
		return false, false
	case declared.RemovedUnsaid:
		return x.p.req.Mode != plan.Destroy || e.SkipDestroy, e.SkipDestroy
	}
	return e.SkipDestroy, e.SkipDestroy
}

// dropData removes the stored results of a data source.
func (p *planner) dropData(res addr.Resource) { p.dropDataExcept(res, nil) }

func (p *planner) dropDataExcept(res addr.Resource, kept map[addr.Instance]bool) {
	for _, o := range p.stored(res) {
		if !kept[o.Instance] && !p.deferred.inUnknownModule(o.Module) {
			p.state.put(o, nil)
		}
	}
}
