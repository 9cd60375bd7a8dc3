package engine

import (
	"context"
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/declared"
	"github.com/lethe-iac/lethe/internal/lang"
	"github.com/lethe-iac/lethe/internal/object"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/walk"
)

// orphans are a declared resource's stored objects that no declared instance stands for: deposed
// ones, and instances whose key or module instance is gone.
func (p *planner) orphans(d *lang.Declaration, frames []*lang.Frame, kept map[addr.Instance]bool) []job {
	at := map[addr.ModuleInstance]*lang.Frame{}
	for _, f := range frames {
		at[f.Addr()] = f
	}
	var jobs []job
	for _, o := range p.stored(d.Resource) {
		if o.IsDeposed() {
			jobs = append(jobs, job{gone: o})
		} else if !kept[o.Instance] {
			jobs = append(jobs, job{gone: o, why: orphanReason(d, at[o.Module], o)})
		}
	}
	return jobs
}

// orphanReason says why a stored instance of a declared resource is not wanted.
func orphanReason(d *lang.Declaration, f *lang.Frame, o addr.Object) plan.Reason {
	if f == nil {
		return plan.DeleteNoModule
	}
	_, isInt := o.Key.Int()
	_, isStr := o.Key.Str()
	switch repeat := lang.RepeatOf(d.Res); {
	case repeat == lang.Enabled && o.Key.IsNone():
		return plan.DeleteDisabled
	case repeat == lang.Count && isInt:
		return plan.DeleteCountIndex
	case repeat == lang.ForEach && isStr:
		return plan.DeleteEachKey
	}
	return plan.DeleteWrongRepetition
}

// allGone lists a resource's objects for a destroy plan.
func (p *planner) allGone(d *lang.Declaration) []job {
	var jobs []job
	for _, o := range p.stored(d.Resource) {
		jobs = append(jobs, job{gone: o})
	}
	return jobs
}

// decideGone plans the end of an object that nothing declares, or that is to be destroyed. d is
// nil for a resource that only the state knows.
func (p *planner) decideGone(ctx context.Context, o addr.Object, why plan.Reason, d *lang.Declaration) bool {
	p.mu.Lock()
	cur, seen := p.found[o]
	p.mu.Unlock()
	if !seen || cur.Entry == nil {
		return seen // it is gone by itself, or refreshing it failed
	}
	u, ok := p.run.storedUse(ctx, o.Instance, cur.Entry)
	if !ok {
		return false
	}
	s, ok := p.run.sessions.getDown(ctx, p.run.bag, u)
	typ := p.run.typeOf(ctx, u.Instance.Provider, o.Resource(), o.Instance)
	if !ok || typ == nil {
		return false
	}
	t := &object.Tools{Object: o, Provider: s.provider, Type: typ, Walk: p.run.objs, Bag: p.run.bag, Where: p.run.where(o.Instance)}
	c, ok := p.planGone(ctx, t, cur, o, d)
	if !ok {
		return false
	}
	c.Why, c.Provider = why, u.Instance
	if c.Was = o; p.req.Mode != plan.Destroy {
		c.Was = p.moved.Origin(o)
	}
	p.foresee(ctx, c, cur.Entry)
	p.record(c)
	if d == nil {
		return true
	}
	p.noteChange(d.ID, c)
	f := p.run.frame.At(o.Module, lang.Before)
	return f == nil || p.allowed(d, f, c) // what is in no module instance that can be is protected by nothing
}

// planGone destroys an object, or forgets it where the configuration or the object itself says so.
func (p *planner) planGone(ctx context.Context, t *object.Tools, cur object.Current, o addr.Object, d *lang.Declaration) (*plan.Change, bool) {
	forgets, said := p.forgets(o, cur.Entry, d)
	if !forgets {
		schemas, _ := p.run.settings.Pool.Schemas(ctx, t.Provider.Addr())
		return t.PlanDown(ctx, cur, schemas.Capabilities.PlanDestroy)
	}
	before, ok := t.Value(cur.Entry, cur.Known)
	c := object.Forget(o, cur, before, t.Type.Null())
	c.SkipDestroy = said
	return c, ok
}

// forgets reports whether the end of an object leaves the real thing alone, and whether something
// says so. A removed block that does not say it means it, unless everything is to be destroyed.
func (p *planner) forgets(o addr.Object, e *state.Entry, d *lang.Declaration) (yes, said bool) {
	if d == nil {
		switch p.run.removals.Fate(o.Instance) {
		case declared.RemovedForget:
			return true, true
		case declared.RemovedDestroy:
			return false, false
		case declared.RemovedUnsaid:
			return p.req.Mode != plan.Destroy || e.SkipDestroy, e.SkipDestroy
		}
	}
	return e.SkipDestroy, e.SkipDestroy
}

// addGhosts makes nodes for resources that only the state knows.
func (p *planner) addGhosts() {
	for res := range p.storedResources() {
		if _, declared := p.run.prog.Resource(res); declared {
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
	objects := p.stored(res)
	decide := p.node(func() string { return res.String() + " (not declared)" }, func(_ context.Context, f *walk.Fan) bool {
		if p.req.Mode == plan.RefreshOnly {
			return true // nothing is decided
		}
		f.Jobs(len(objects), func(ctx context.Context, i int) bool {
			return p.decideGone(ctx, objects[i], p.ghostReason(objects[i]), nil)
		})
		return true
	})
	var through []lang.Decl
	for _, o := range objects {
		stored := p.prior.Get(o).Provider
		if c, ok := p.run.prog.ProviderFor(stored.Module, stored.Provider, stored.Alias); ok && !slices.Contains(through, c) {
			through = append(through, c)
			p.users[c] = append(p.users[c], decide) // it is ended through the same
		}
	}
	p.addRefresh(res, decide, through...)
}

func (p *planner) ghostReason(o addr.Object) plan.Reason {
	switch {
	case o.IsDeposed() || p.req.Mode == plan.Destroy:
		return plan.NoReason
	case p.moved.Origin(o) != o:
		return plan.DeleteNoMoveTarget
	}
	if _, ok := p.run.prog.Lookup(o.Module.Module().Parent(), lang.Call, o.Module.Module().Name()); !o.Module.IsRoot() && !ok {
		return plan.DeleteNoModule
	}
	return plan.DeleteNoResource
}

// storedUse is the provider of a stored object: the one its declaration uses now if it is
// declared, else the one it was stored with.
func (r *run) storedUse(ctx context.Context, i addr.Instance, e *state.Entry) (declared.Use, bool) {
	if d, ok := r.prog.Resource(i.Resource()); ok {
		return declared.UseOf(r.prog, d, e.Provider.Key), true
	}
	stored := e.Provider
	if c, ok := r.prog.ProviderFor(stored.Module, stored.Provider, stored.Alias); ok {
		return declared.Use{Decl: c, Declared: true, Instance: addr.ProviderInstance{ProviderConfig: r.prog.Decls()[c].Provider, Key: stored.Key}}, true
	}
	if stored.Module.IsRoot() && stored.Alias == "" && r.needsNothing(ctx, stored.Provider) {
		return declared.Use{Instance: stored}, true
	}
	r.bag.Add(diag.Errorf("Provider configuration not present",
		"To work with %s its original provider configuration at %s is required, but it has been removed. This occurs when a provider configuration is removed while objects created by that provider still exist in the state. Re-add the provider configuration to destroy %s, after which you can remove the provider configuration again; or let Lethe forget the object with a `removed` block or `lethe state rm`.",
		i, stored, i).About(i))
	return declared.Use{}, false
}

// needsNothing reports whether a provider can be configured with nothing at all.
func (r *run) needsNothing(ctx context.Context, p addr.Provider) bool {
	schemas, ds := r.settings.Pool.Schemas(ctx, p)
	if ds.HasErrors() {
		return false
	}
	for _, a := range schemas.Config.Attrs {
		if a.Required {
			return false
		}
	}
	for _, n := range schemas.Config.Blocks {
		if n.Min > 0 {
			return false
		}
	}
	return true
}
