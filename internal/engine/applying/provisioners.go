package applying

import (
	"context"
	"strings"
	"time"
	"unicode"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/declared"
	"github.com/lethe-iac/lethe/internal/engine/run"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/provision"
	"github.com/lethe-iac/lethe/internal/state/journal"
)

// Provisioners are separate steps, after the creation or before the destruction of their object, so that the ephemeral
// resources that they use are open only while the provisioners run. An object with provisioners is recorded as tainted
// until all of them have run. If a failure, an interrupt or a crash prevents a provisioner, the next plan replaces the
// object.

// provision runs one provisioner of an object that was created: the provisioner with the index part. After the last
// provisioner, provision removes the taint and checks the postconditions. It returns false if the provisioner or a
// postcondition fails.
func (x *step) provision(ctx context.Context, c *plan.Change, part int) bool {
	h := declared.ProvisionersOf(x.run.Program, x.run.Removals, c, nil, false)
	o := c.Object
	f := x.run.Frame.At(o.Module, frame.After)
	self, ok := f.Got(h.Decl.ID, o.Key, frame.After)
	if !ok || !x.runProvisioner(ctx, h, h.List[part], f, self, o, frame.After) {
		x.a.failed(h.Decl, o.Instance)
		x.a.complete(o, false)
		return false
	}
	if part < len(h.List)-1 {
		return true
	}
	e := x.a.entry(o)
	if e == nil {
		return false
	}
	x.a.complete(o, true)
	done := *e
	done.Tainted = false
	return x.write(0, journal.Change{Object: o, Entry: &done}) && x.after(h.Decl, f, o.Instance, self)
}

// complete sends the event of the end of a creation, including its provisioners. ok is true if all provisioners
// succeeded. It does nothing if the creation is not in a.made.
func (a *applier) complete(o addr.Object, ok bool) {
	a.mu.Lock()
	m, found := a.made[o]
	delete(a.made, o)
	a.mu.Unlock()
	if m.Took = time.Since(m.began); found && ok {
		a.run.Settings.Send(m.Done)
	} else if found {
		a.run.Settings.Send(event.Failed{Object: o, Op: m.Op, Took: m.Took})
	}
}

// unfinished reports, at the end of the apply, the creations and the destructions whose provisioners did not all run.
func (a *applier) unfinished() {
	for o := range a.made {
		a.complete(o, false)
	}
	for o := range a.going {
		a.kept(o)
	}
}

// leave sends the event that the destruction of an object starts, before its first destroy-time provisioner. Further
// calls for the object do nothing.
func (a *applier) leave(o addr.Object, idKey, id string) {
	now := time.Now()
	a.mu.Lock()
	_, announced := a.going[o]
	if !announced {
		a.going[o] = now
	}
	a.mu.Unlock()
	if !announced {
		a.run.Settings.Send(event.Started{Object: o, Op: event.Delete, IDKey: idKey, ID: id, At: now})
	}
}

// destroyedAt returns when leave announced the destruction of the object o, and forgets this time. It returns the zero
// time if there was no announcement.
func (a *applier) destroyedAt(o addr.Object) time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	began := a.going[o]
	delete(a.going, o)
	return began
}

// kept sends the event that the destruction of the object o failed, if leave had announced it.
func (a *applier) kept(o addr.Object) {
	if began := a.destroyedAt(o); !began.IsZero() {
		a.run.Settings.Send(event.Failed{Object: o, Op: event.Delete, Took: time.Since(began)})
	}
}

// destroyProvision runs one provisioner of an object that is about to be destroyed: the provisioner with the index
// part. It returns false if the provisioner fails. If the object or the module of the provisioner no longer exists, it
// runs nothing and returns true.
func (x *step) destroyProvision(ctx context.Context, c *plan.Change, part int) bool {
	o, e, ok := x.destroyedEntry(c)
	if e == nil {
		return ok
	}
	h := declared.ProvisionersOf(x.run.Program, x.run.Removals, c, e, true)
	typ := x.run.Types.Of(ctx, x.run.Bag, c.Provider.Provider, o.Resource(), o.Instance)
	if part >= len(h.List) || typ == nil {
		return typ != nil
	}
	v, err := typ.DecodeJSON(e.Attrs)
	if err != nil {
		x.run.Bag.Add(diag.Errorf("Invalid resource state", "The stored object %s does not match the schema of its provider: %s.", o, err).About(o.Instance))
		return false
	}
	f := x.run.Frame.At(h.In, frame.Before)
	if f == nil {
		f = x.run.Frame.At(h.In, frame.After)
	}
	if f == nil {
		return true // the module of the provisioner no longer exists
	}
	self := mark.Value{Raw: v, Marks: mark.SensitiveAt(e.Sensitive)}
	idKey, id := typ.Shown(self)
	x.a.leave(o, idKey, id)
	if !x.runProvisioner(ctx, h, h.List[part], f, self, o, frame.Before) {
		x.a.kept(o)
		return false
	}
	return true
}

// runProvisioner opens the ephemeral resources that a provisioner uses, evaluates its configuration and runs it. It
// returns false if a step fails. If the provisioner itself fails and has on_failure = continue, it returns true.
func (x *step) runProvisioner(ctx context.Context, h declared.Provisioners, p *config.Provisioner, f *frame.Frame, self mark.Value, o addr.Object, face frame.Face) bool {
	in := frame.Scope{Decl: program.NoDecl, Key: o.Key, Self: &self}
	if h.Decl != nil {
		in.Decl = h.Decl.ID
		x.run.Leases.ReceiveAll(ctx, x.run.Bag, x.run.Receivers.ReceivedByParts(h.Decl.ID, h.Parts(p)), f.Addr(), o.Key, face)
	}
	req := provision.Request{Type: p.Type, Dir: x.run.Settings.Provisioners.Dir, Env: x.run.Settings.Provisioners.Env, Abandon: x.run.Settings.Shutdown.Abandon, Scrub: x.run.Settings.Secrets.ScrubMessage, Output: func(line string) {
		// Terraform and OpenTofu also trim white space at the end of lines, and drop empty lines.
		if line = strings.TrimRightFunc(line, unicode.IsSpace); line != "" {
			x.run.Settings.Send(event.ProvisionOutput{Object: o, Type: p.Type, Line: line})
		}
	}}
	var out frame.Status
	if req.Config, out = f.Body(p.Body, provision.Schema(p.Type), in, face, x.run.Bag); out != frame.OK {
		return false
	}
	var ok bool
	if req.Connection, ok = run.Connection(h.Connections(p), f, in, face, x.run.Bag); !ok {
		return false
	}
	x.run.Objects.Guard.Given(req.Config, nil, o.String())
	x.run.Objects.Guard.Given(req.Connection, nil, o.String())
	x.run.Settings.Send(event.ProvisionStarted{Object: o, Type: p.Type})
	began := time.Now()
	ds := provision.Run(x.run.Budget.Stop(), req)
	if times := x.run.Settings.Times; times != nil {
		times.Send(event.Called{Visit: event.VisitOf(ctx), Object: o, Call: event.Call(p.Type), Wanted: began, Began: began, Ended: time.Now()})
	}
	ok = x.report(ds, p, o)
	x.run.Settings.Send(event.ProvisionDone{Object: o, Type: p.Type, Failed: !ok})
	return ok || p.Continue
}

// report reports the diagnostics of the provisioner p and returns false if there are errors. If the provisioner has
// on_failure = continue, it reports errors as warnings.
func (x *step) report(ds []diag.Diagnostic, p *config.Provisioner, o addr.Object) bool {
	ok := true
	for _, d := range ds {
		if d.Severity == diag.Error {
			ok = false
			if p.Continue {
				d.Severity = diag.Warning
			}
		}
		x.run.Bag.Add(d.At(p.Range).About(o.Instance))
	}
	return ok
}
