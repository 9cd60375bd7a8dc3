package engine

import (
	"context"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/engine/declared"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/lang"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/object"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/walk"
)

// readAll reads all instances of a data source, or leaves them for apply.
func (p *planner) readAll(_ context.Context, f *walk.Fan, d *lang.Declaration) bool {
	if p.req.Mode == plan.Destroy {
		p.dropData(d.Resource)
		return true
	}
	frames, status := p.run.frame.Instances(d.Module, lang.After)
	if status != lang.Known {
		p.failed[d.ID].Store(true)
		return false
	}
	var jobs []job
	kept := map[addr.Instance]bool{}
	whole := true
	for _, fr := range frames {
		keys := fr.Keys(d.ID, lang.After, p.run.bag)
		if keys.Status != lang.Known {
			whole = false
			continue
		}
		for _, k := range keys.List {
			inst := d.Resource.In(fr.Addr()).Instance(k)
			kept[inst] = true
			if p.sel.Includes(inst) {
				jobs = append(jobs, job{frame: fr, key: k})
			} else {
				p.keepPrior(fr, d, k)
			}
		}
	}
	if whole {
		p.dropDataExcept(d.Resource, kept)
	} else {
		p.failed[d.ID].Store(true)
	}
	f.Jobs(len(jobs), func(ctx context.Context, i int) bool {
		defer p.leaseUsers.InstanceOver(d.ID, jobs[i].frame.Addr(), jobs[i].key)
		read := func(p *planner) bool { return p.readInstance(ctx, d, jobs[i].frame, jobs[i].key) }
		if d.Res.Check != "" {
			ok, said := p.scoped(read)
			p.run.unread(d, jobs[i].frame.Addr(), said)
			return ok
		}
		return read(p)
	})
	return whole
}

// readInstance reads one instance, or puts a placeholder where its value will be.
func (p *planner) readInstance(ctx context.Context, d *lang.Declaration, f *lang.Frame, key addr.Key) bool {
	inst := d.Resource.In(f.Addr()).Instance(key)
	v, ok := p.readOrDefer(ctx, d, f, key, inst)
	if !ok {
		p.failed[d.ID].Store(true)
		f.Fail(d.ID, key, lang.After)
		return false
	}
	f.Put(d.ID, key, lang.After, v)
	return p.run.post(d, f, key, inst, func() mark.Value { return v })
}

func (p *planner) readOrDefer(ctx context.Context, d *lang.Declaration, f *lang.Frame, key addr.Key, inst addr.Instance) (mark.Value, bool) {
	p.run.receive(ctx, d.ID, f.Addr(), key, lang.After)
	if p.dependencyFailed(d.ID) || !p.run.pre(d, f, key, inst) {
		return mark.Value{}, false
	}
	config, out := f.Config(d.ID, key, lang.After, p.run.bag)
	if out != lang.OK {
		return mark.Value{}, false
	}
	t, u, ok := p.run.toolsAfter(ctx, d, f, key, inst)
	if !ok || !t.Validate(ctx, config) {
		return mark.Value{}, false
	}
	if why := p.pending(d, inst, config, u); why != plan.NoReason {
		p.noteDeferred(d.ID, inst, why)
		return p.deferRead(d, t, u, inst, why, placeholder(t, config)), true
	}
	if stored, entry, ok := p.useStored(d, t, config, inst); ok {
		if entry != p.prior.Get(inst.Current()) {
			p.put(inst.Current(), entry)
		}
		p.wasRead(d.ID, inst, config, stored)
		return stored, true
	}
	v, entry, ok := t.ReadData(ctx, config, object.Stored{Provider: u.Instance, Recorded: p.recordedOf(d.ID), Was: p.prior.Get(inst.Current())}, true)
	if ok {
		p.put(inst.Current(), entry)
	}
	switch {
	case ok && d.Res.Check == "":
		p.wasRead(d.ID, inst, config, v)
	case d.Res.Check != "": // it is read again to verify the check
		after := v
		if !ok {
			after = placeholder(t, config)
		}
		p.deferRead(d, t, u, inst, plan.ReadCheckNested, after)
	}
	return v, ok
}

// useStored takes the result of the last run instead of reading again: with -refresh=false, where
// the question is the same (seed 002).
func (p *planner) useStored(d *lang.Declaration, t *object.Tools, config mark.Value, inst addr.Instance) (mark.Value, *state.Entry, bool) {
	if p.req.Refresh || d.Res.Check != "" || d.Resource.Type == "terraform_remote_state" {
		return mark.Value{}, nil, false
	}
	return t.StoredData(config, p.prior.Get(inst.Current()))
}

func (p *planner) put(o addr.Object, e *state.Entry) {
	e = p.hosts.hosted(o, e)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.edit.Put(o, e)
}

// placeholder is what is known of a result before it was read.
func placeholder(t *object.Tools, config mark.Value) mark.Value {
	after := mark.Value{Raw: t.Type.Placeholder(config.Raw), Marks: config.Only(mark.Sensitive).Marks}
	for _, m := range mark.Paths(t.Type.SensitivePaths(after.Raw), mark.Sensitive) {
		after.Marks = mark.Add(after.Marks, m)
	}
	return after
}

// deferRead plans the reading for apply, of what it is expected to give.
func (p *planner) deferRead(d *lang.Declaration, t *object.Tools, u declared.Use, inst addr.Instance, why plan.Reason, after mark.Value) mark.Value {
	if p.run.looks {
		return after // there will be no reading
	}
	c := &plan.Change{
		Object: inst.Current(), Was: p.moved.Origin(inst.Current()), Action: plan.Read, Why: why,
		Before: mark.Plain(t.Type.Null()), After: after, Provider: u.Instance,
		Entry: p.prior.Get(inst.Current()), Recorded: p.recordedOf(d.ID),
		Conditions: len(d.Res.Lifecycle.Postconditions) > 0,
	}
	p.record(c)
	p.run.settings.tell(event.Deferred{Object: inst.Current(), Reason: string(why)})
	return after
}

// dropData removes a data source's results from the state: nothing needs them any more.
func (p *planner) dropData(res addr.Resource) { p.dropDataExcept(res, nil) }

func (p *planner) dropDataExcept(res addr.Resource, kept map[addr.Instance]bool) {
	for _, o := range p.stored(res) {
		if !kept[o.Instance] {
			p.put(o, nil)
		}
	}
}
