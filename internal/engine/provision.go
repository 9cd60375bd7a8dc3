package engine

import (
	"context"
	"strings"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/declared"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/lang"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/provision"
	"github.com/lethe-iac/lethe/internal/state/journal"
	"github.com/zclconf/go-cty/cty"
)

// Provisioners are steps of their own, after their object is created or before it is destroyed, so
// that what they receive is held while they run and no longer. An object that has some to come is
// recorded as tainted until they are over: whatever keeps them from running, a failure, an
// interrupt or the end of the process, leaves an object that will be replaced.

// warnRetired warns of destroy-time provisioners that run when their object's successor is there.
// Scripts that name what both are called mean the old one and meet the new one.
func (p *planner) warnRetired(out *plan.Plan) {
	if out.SpareDeposed {
		return
	}
	warned := map[lang.Decl]bool{}
	for _, c := range out.Changes {
		if !declared.Deposes(c) {
			continue
		}
		h := declared.ProvisionersOf(p.run.prog, p.run.removals, c, c.Entry, true)
		if len(h.List) == 0 || h.Decl == nil || warned[h.Decl.ID] {
			continue
		}
		warned[h.Decl.ID] = true
		p.run.bag.Add(diag.Warningf("Destroy-time provisioners run after the replacement is created",
			"The old object of %s is destroyed when the new one is there, and its destroy-time provisioners run then. What they address by a name that both have is the new one. Let them use what only the old one has, such as self.id.\n\nTerraform and OpenTofu do not run them. To have it so, set skip_deposed_provisioners = true in the CLI configuration, or LETHE_SKIP_DEPOSED_PROVISIONERS=true in the environment.", c.Object.Instance).At(h.List[0].Range).About(c.Object.Instance))
	}
}

// provision runs one provisioner of an object that was created, and ends its taint after the last.
func (a *applier) provision(ctx context.Context, c *plan.Change, part int) bool {
	h := declared.ProvisionersOf(a.run.prog, a.run.removals, c, nil, false)
	o := c.Object
	f := a.run.frame.At(o.Module, lang.After)
	self, ok := f.Got(h.Decl.ID, o.Key, lang.After)
	if !ok || !a.runHook(ctx, h, h.List[part], f, self, o, lang.After) {
		a.failed(h.Decl, o.Instance)
		a.complete(o, false)
		return false
	}
	if part < len(h.List)-1 {
		return true
	}
	e := a.entry(o)
	if e == nil {
		return false
	}
	a.complete(o, true)
	done := *e
	done.Tainted = false
	return a.write(0, journal.Change{Object: o, Entry: &done}) && a.after(h.Decl, f, o.Instance, self)
}

// made is an object whose creation is not complete before its provisioners are.
type made struct {
	event.Done
	began time.Time
}

func (a *applier) postpone(d event.Done) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.made[d.Object] = made{d, time.Now().Add(-d.Took)}
}

// complete tells how a creation with its provisioners ended.
func (a *applier) complete(o addr.Object, ok bool) {
	a.mu.Lock()
	m, found := a.made[o]
	delete(a.made, o)
	a.mu.Unlock()
	if m.Took = time.Since(m.began); found && ok {
		a.run.settings.tell(m.Done)
	} else if found {
		a.run.settings.tell(event.Failed{Object: o, Op: m.Op, Took: m.Took})
	}
}

// unmade tells of creations whose provisioners never ran.
func (a *applier) unmade() {
	for o := range a.made {
		a.complete(o, false)
	}
}

// after checks an object's postconditions, once everything that makes it is over.
func (a *applier) after(d *lang.Declaration, f *lang.Frame, inst addr.Instance, v mark.Value) bool {
	if a.run.post(d, f, inst.Key, inst, func() mark.Value { return v }) {
		return true
	}
	a.failed(d, inst) // who waits for it gets nothing, outputs included
	return false
}

// retire runs one provisioner of an object that is about to be destroyed.
func (a *applier) retire(ctx context.Context, c *plan.Change, part int) bool {
	if !a.takeIn(c) {
		return false
	}
	o := a.downed(c)
	e := a.entry(o)
	if e == nil {
		return true // the create failed, and the old object lives on
	}
	h := declared.ProvisionersOf(a.run.prog, a.run.removals, c, e, true)
	typ := a.run.typeOf(ctx, c.Provider.Provider, o.Resource(), o.Instance)
	if part >= len(h.List) || typ == nil {
		return typ != nil
	}
	v, err := typ.DecodeJSON(e.Attrs)
	if err != nil {
		a.run.bag.Add(diag.Errorf("Invalid resource state", "The stored object %s cannot be read with the schema of its provider: %s.", o, err).About(o.Instance))
		return false
	}
	f := a.run.frame.At(h.In, lang.Before)
	if f == nil {
		f = a.run.frame.At(h.In, lang.After)
	}
	if f == nil {
		return true // the module that had the provisioner is gone
	}
	self := mark.Value{Raw: v, Marks: mark.Paths(e.Sensitive, mark.Sensitive)}
	return a.runHook(ctx, h, h.List[part], f, self, o, lang.Before)
}

// runHook receives what a provisioner needs, evaluates it and runs it.
func (a *applier) runHook(ctx context.Context, h declared.Provisioners, p *config.Provisioner, f *lang.Frame, self mark.Value, o addr.Object, face lang.Face) bool {
	in := lang.Scope{Decl: lang.Nowhere, Key: o.Key, Self: &self}
	if h.Decl != nil {
		in.Decl = h.Decl.ID
		a.run.leases.ReceiveAll(ctx, a.run.bag, a.run.receivers.ReceivedByParts(h.Decl.ID, h.Parts(p)), f.Addr(), o.Key, face)
	}
	req := provision.Request{Type: p.Type, Dir: a.run.settings.Dir, Env: a.run.settings.Env, Abandon: a.run.settings.Abandon, Output: func(line string) {
		a.run.settings.tell(event.ProvisionOutput{Object: o, Type: p.Type, Line: line})
	}}
	var out lang.Outcome
	if req.Config, out = f.Provisioner(p, provision.Schema(p.Type), in, face, a.run.bag); out != lang.OK {
		return false
	}
	var ok bool
	if req.Connection, ok = a.run.connection(h.Connections(p), f, in, face); !ok {
		return false
	}
	a.run.settings.tell(event.ProvisionStarted{Object: o, Type: p.Type})
	ds := provision.Run(a.run.halting(ctx), req)
	ok = a.hookReport(ds, p, o)
	a.run.settings.tell(event.ProvisionDone{Object: o, Type: p.Type, Failed: !ok})
	return ok || p.Continue
}

// hookReport passes on what a provisioner complained about. Where a failure is to be ignored it is
// a warning.
func (a *applier) hookReport(ds []diag.Diagnostic, p *config.Provisioner, o addr.Object) bool {
	ok := true
	for _, d := range ds {
		if d.Severity == diag.Error {
			ok = false
			if p.Continue {
				d.Severity = diag.Warning
			}
		}
		a.run.bag.Add(d.At(p.Range).About(o.Instance))
	}
	return ok
}

// connection evaluates the connection blocks of a provisioner: what the later ones set stands.
func (r *run) connection(blocks []*config.Connection, f *lang.Frame, in lang.Scope, face lang.Face) (mark.Value, bool) {
	var out mark.Value
	for i, c := range blocks {
		v, outcome := f.Connection(c, provision.ConnectionSchema(), in, face, r.bag)
		if outcome != lang.OK {
			return v, false
		}
		if i == 0 || out.Raw.IsNull() || !v.Raw.IsKnown() {
			out = v
			continue
		}
		out = override(out, v)
	}
	return out, true
}

// override puts the attributes that are set in b over those of a, with their marks.
func override(a, b mark.Value) mark.Value {
	attrs := a.Raw.AsValueMap()
	set := map[string]bool{}
	for name, v := range b.Raw.AsValueMap() {
		if !v.IsNull() {
			attrs[name], set[name] = v, true
		}
	}
	out := mark.Value{Raw: cty.ObjectVal(attrs)}
	for i, side := range [][]mark.At{a.Marks, b.Marks} {
		for _, m := range side {
			if len(m.Path) > 0 {
				if step, ok := m.Path[0].(cty.GetAttrStep); ok && set[step.Name] != (i == 1) {
					continue
				}
			}
			out.Marks = mark.Add(out.Marks, m)
		}
	}
	return out
}

// halting is a context that ends when what runs is to be given up.
func (r *run) halting(ctx context.Context) context.Context {
	if r.settings.Halt == nil {
		return ctx
	}
	return r.settings.Halt
}

// validateHooks evaluates provisioners and connections with nothing known but what is written out.
func (r *run) validateHooks(d *lang.Declaration, f *lang.Frame, k addr.Key) {
	self := mark.Plain(r.prog.Schema(d.ID).Unknown())
	in := lang.Scope{Decl: d.ID, Key: k, Self: &self}
	h := declared.Provisioners{List: d.Res.Provisioners, Connection: d.Res.Connection, Decl: d, In: f.Addr()}
	for _, p := range h.List {
		v, out := f.Provisioner(p, provision.Schema(p.Type), in, lang.After, r.bag)
		if out == lang.OK {
			r.hookFaults(provision.Validate(p.Type, v.Raw), d, p.Range)
		}
		c, ok := r.connection(h.Connections(p), f, in, lang.After)
		if ok && c.Raw != cty.NilVal {
			r.hookFaults(provision.ValidateConnection(c.Raw), d, p.Range)
		}
		if p.Type != provision.LocalExec && ok && c.Raw == cty.NilVal {
			r.bag.Add(diag.Errorf("Missing connection configuration", "A %s provisioner runs on another machine: say in a connection block, here or in the resource, how that is reached.", p.Type).At(p.Range).About(d))
		}
	}
}

func (r *run) hookFaults(ds []diag.Diagnostic, d *lang.Declaration, at diag.Range) {
	for _, x := range ds {
		if arg := strings.TrimPrefix(mark.PathString(x.Path), "."); arg != "" {
			x.Detail = "Argument " + arg + ": " + x.Detail
		}
		r.bag.Add(x.At(at).About(d))
	}
}
