package planning

import (
	"context"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/declared"
	"github.com/lethe-iac/lethe/internal/engine/filling"
	"github.com/lethe-iac/lethe/internal/engine/run"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/object"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/walk"
	"github.com/zclconf/go-cty/cty"
)

// addRefresh adds a node that refreshes the stored objects of a resource. The node runs before the node that plans the
// resource (decide), and after the nodes of the given provider configurations (through).
func (p *planner) addRefresh(objects []addr.Object, res addr.Resource, decide walk.Node, through ...program.Decl) walk.Node {
	n := p.nodes.add(res.String(), func(_ context.Context, f *walk.Fan) bool {
		f.Jobs(len(objects), func(ctx context.Context, i int) bool {
			return (&storedObject{p: p, o: objects[i], entry: p.prior.Get(objects[i])}).look(ctx)
		})
		return true
	})
	p.nodes.graph.Waits(decide, n)
	for _, c := range through {
		p.nodes.use(c, n)
		p.nodes.graph.Waits(n, p.nodes.decide[c])
	}
	return n
}

// storedObject is an object of the state that a plan refreshes.
type storedObject struct {
	p      *planner
	o      addr.Object
	entry  *state.Entry      // the stored entry of the object, at the address after moves
	errors []diag.Diagnostic // why the present provider instance could not be asked for the object; see find
}

// look refreshes the object and sets its prior value (before face) to the result. It returns false if the object cannot
// be refreshed. With -refresh=false, if the settings of the provider are unknown, or if an earlier round (plan and
// apply) of the command has refreshed the object, look only converts the stored object to the current schema. If an
// earlier round has decided about the object, look uses the stored object unchanged.
func (x *storedObject) look(ctx context.Context) bool {
	if x.p.req.Earlier.has(x.o) {
		x.again()
		return true
	}
	present, first := x.presentUse(ctx)
	var asked answered
	if first {
		if asked = x.find(ctx, present); asked == finds {
			return true
		}
	}
	t, u, s, ok := x.tools(ctx)
	if !ok {
		x.fail()
		return false
	}
	cur := object.Current{Entry: x.entry}
	if moved := x.p.moved.Retyped[x.o]; moved != (addr.Instance{}) {
		if cur.Entry, cur.Known, ok = t.Move(ctx, x.entry, moved); ok {
			cur.Entry.Provider = u.Instance
		}
	} else {
		cur.Entry, cur.Known, ok = t.Upgrade(ctx, x.entry)
	}
	if !ok {
		x.fail()
		return false
	}
	last := cur
	read := x.p.req.Refresh && s != nil && !x.p.req.Earlier.refreshed(x.o)
	if read {
		cur.Entry, cur.Known, ok = t.Read(ctx, cur.Entry, cur.Known)
	} else {
		cur.Entry, cur.Known, ok = t.Renewed(cur.Entry, cur.Known)
	}
	if !ok {
		x.fail()
		return false
	}
	if read && cur.Entry == nil && present.Declared {
		if !first {
			asked = x.find(ctx, present)
		}
		switch {
		case asked == finds:
			return true
		case asked == fails:
			x.p.run.Bag.Add(x.errors...)
			x.fail()
			return false
		case asked == unsettled: // a later round asks the instance, or instance.elsewhere reports that it cannot be asked
			x.p.state.doubt(x.o)
			cur, read = last, false
		}
	}
	if d, ok := x.p.run.Program.Resource(x.o.Resource()); ok && read && cur.Entry == nil && x.p.moved.Retyped[x.o] == (addr.Instance{}) && x.p.run.Unaskable(d, x.entry.Provider) {
		x.p.run.Lost(d, x.o.Instance, x.entry.Provider)
		x.fail()
		return false
	}
	if read {
		x.drifted(t, last, cur)
		if cur.Entry != nil {
			last = cur
		}
	}
	if x.p.req.Rewrite[x.o] != "" && cur.Entry != nil {
		if cur, ok = unversioned(x.p, t, cur); !ok {
			x.fail()
			return false
		}
		last = cur
	}
	x.keep(cur, last, t)
	return true
}

// presentUse returns the provider instance that the configuration names for the object, if it is another instance than
// the stored one. It returns the zero Use for the same instance, and for an instance that is not known yet. first is true
// if the object is first looked for through the new instance, as in Terraform:
//
//   - The provider block no longer has the key of the stored instance: usually the key was renamed.
//   - The resource has another provider block now. Usually both have the same settings, or the block was renamed.
//
// A deposed object is first looked for through the stored instance, which made it: through the new instance, the current
// object of the same name could be found in its place.
func (x *storedObject) presentUse(ctx context.Context) (u declared.Use, first bool) {
	d, ok := x.p.run.Program.Resource(x.o.Resource())
	if !ok || x.p.moved.Retyped[x.o] != (addr.Instance{}) || x.p.req.Rewrite[x.o] != "" {
		return declared.Use{}, false
	}
	if _, former := x.p.run.FormerUse(ctx, d, x.entry.Provider); former {
		if u, ok := x.p.run.EarlyUse(d, x.o.Instance); ok {
			return u, !x.o.IsDeposed()
		}
		return declared.Use{}, false
	}
	if x.o.IsDeposed() || x.entry.Provider.Key.IsNone() || x.p.req.Mode == plan.Destroy {
		return declared.Use{}, false
	}
	u, ok = x.p.run.EarlyUse(d, x.o.Instance)
	if !ok || u.Instance.Key == x.entry.Provider.Key || !declared.Fits(x.p.run.Program, d, x.entry.Provider) {
		return declared.Use{}, false
	}
	f := x.p.run.Frame.At(x.o.Module, frame.After)
	home := x.p.run.Frame.At(u.Instance.Module.Unkeyed(), frame.After)
	if f == nil || home == nil || !slices.Contains(f.Keys(d.ID, frame.After, &diag.Bag{}).List, x.o.Key) {
		return declared.Use{}, false // an object that is not declared keeps the provider instance in the state
	}
	return u, home.Keys(u.Decl, frame.After, &diag.Bag{}).Lacks(x.entry.Provider.Key)
}

// answered is the answer of a provider instance to the question whether it finds an object.
type answered uint8

const (
	misses    answered = iota // it does not find the object, or the object that it finds is another one in the state
	finds                     // it finds the object
	fails                     // an error prevented the answer
	unsettled                 // its settings are not known yet
)

// find reads the object through the provider instance u. If u finds the object, find keeps the result. If the answer is
// fails, x.errors has the errors: the caller reports them only if no other provider instance finds the object.
func (x *storedObject) find(ctx context.Context, u declared.Use) answered {
	var bag diag.Bag
	answer := x.findThrough(ctx, u, &bag)
	switch answer {
	case misses:
		x.p.state.miss(x.o, u.Instance)
	case fails:
		x.errors = bag.List()
	}
	return answer
}

func (x *storedObject) findThrough(ctx context.Context, u declared.Use, bag *diag.Bag) answered {
	s, ok := x.p.run.Sessions.GetIf(ctx, bag, u, x.face(), true)
	if ok && s.Unknown && x.p.req.Mode == plan.Destroy {
		s, ok = x.p.run.Sessions.GetDown(ctx, bag, u) // reports the error
	}
	if ok && s.Unknown {
		return unsettled
	}
	typ := x.p.run.Types.Of(ctx, bag, u.Instance.Provider, x.o.Resource(), x.o.Instance)
	if !ok || typ == nil {
		return fails
	}
	t, last, cur := x.p.run.With(bag).Tools(x.o, s, typ), object.Current{}, object.Current{}
	if last.Entry, last.Known, ok = t.Upgrade(ctx, x.entry); ok {
		cur.Entry, cur.Known, ok = t.Read(ctx, last.Entry, last.Known)
	}
	switch {
	case !ok:
		return fails
	case cur.Entry == nil || x.p.state.holders.another(ctx, x.o, u.Instance, cur.Entry) && !x.sameSettings(ctx, u):
		return misses
	}
	if here := *cur.Entry; x.p.req.Mode != plan.RefreshOnly { // such a plan decides nothing about providers
		here.Provider = u.Instance
		cur.Entry = &here
	}
	t.Bag = x.p.run.Bag
	x.p.run.Bag.Add(bag.List()...)
	x.drifted(t, last, cur)
	x.keep(cur, cur, t)
	return finds
}

// face returns the face whose settings find stored objects: the prior settings in a destroy plan, and otherwise the
// planned settings.
func (x *storedObject) face() frame.Face {
	if x.p.req.Mode == plan.Destroy {
		return frame.Before
	}
	return frame.After
}

// sameSettings reports whether the provider instance u has the same settings as the stored provider instance, so that both
// find the same objects.
func (x *storedObject) sameSettings(ctx context.Context, u declared.Use) bool {
	was, ok := x.p.run.StoredUse(ctx, x.o.Instance, x.entry.Provider)
	if !ok {
		return false
	}
	a, known := x.p.run.Sessions.Settle(ctx, &diag.Bag{}, was, x.face())
	b, settled := x.p.run.Sessions.Settle(ctx, &diag.Bag{}, u, x.face())
	return known && settled && a.Same(b)
}

// tools returns the tools to refresh the object, its provider instance and the session (the configured process). The
// session is nil if the settings of the provider are unknown. In this case the object keeps its stored value, and tools
// warns once for each session. tools returns false after an error.
func (x *storedObject) tools(ctx context.Context) (*object.Tools, declared.Use, *run.Session, bool) {
	stored := x.entry.Provider
	if implied, ok := x.impliedProvider(); ok && !x.supports(ctx, stored.Provider) {
		stored = implied
	}
	if d, ok := x.p.run.Program.Resource(x.o.Resource()); ok && x.p.moved.Retyped[x.o] != (addr.Instance{}) && stored.Key.IsNone() {
		stored.ProviderConfig = x.p.run.Program.Decls()[x.p.run.Program.ProviderOf(d.ID)].Provider // which converts the object
	}
	u, ok := x.p.run.StoredUse(ctx, x.o.Instance, stored)
	if !ok {
		return nil, u, nil, false
	}
	s, ok := x.session(ctx, u)
	if !ok {
		return nil, u, nil, false
	}
	if x.p.run.Sessions.Unknown(u) {
		x.p.state.doubt(x.o)
	}
	typ := x.p.run.Types.Of(ctx, x.p.run.Bag, u.Instance.Provider, x.o.Resource(), x.o.Instance)
	if typ == nil {
		return nil, u, nil, false
	}
	t := x.p.run.Tools(x.o, s, typ)
	if s.Unknown {
		x.warnUnchecked(s, u)
		return t, u, nil, true
	}
	return t, u, s, true
}

// impliedProvider returns the provider that the name of the object's type implies. ok is true only for an object that a
// moved block moves to another type, if the new address is not declared.
func (x *storedObject) impliedProvider() (implied addr.ProviderInstance, ok bool) {
	if x.p.moved.Retyped[x.o] == (addr.Instance{}) {
		return addr.ProviderInstance{}, false
	}
	if _, declared := x.p.run.Program.Resource(x.o.Resource()); declared {
		return addr.ProviderInstance{}, false
	}
	return addr.ProviderInstance{ProviderConfig: x.p.run.Program.ImpliedProvider(x.o.Resource())}, true
}

// supports reports whether a provider has the type of the object. It returns false if the schemas of the provider
// cannot be read.
func (x *storedObject) supports(ctx context.Context, p addr.Provider) bool {
	schemas, ds := x.p.run.Settings.Pool.Schemas(ctx, p)
	if ds.HasErrors() {
		return false
	}
	s, err := schemas.Type(x.o.Mode, x.o.Type)
	return s != nil && err == nil
}

// session returns the session that refreshes the object. All references in the settings of its provider have been
// decided. The session has the planned settings if they are known, and otherwise the prior settings if they are known.
// If neither are known and the provider cannot be configured, a later round (plan and apply) refreshes the object. A
// destroy plan uses the prior settings. session returns false after an error.
func (x *storedObject) session(ctx context.Context, u declared.Use) (*run.Session, bool) {
	if x.p.req.Mode == plan.Destroy {
		return x.p.run.Sessions.Get(ctx, x.p.run.Bag, u, frame.Before)
	}
	if after, ok := x.p.run.Sessions.GetIf(ctx, x.p.run.Bag, u, frame.After, true); !ok || !after.Unknown {
		return after, ok
	}
	if before, ok := x.p.run.Sessions.GetIf(ctx, x.p.run.Bag, u, frame.Before, true); ok && !before.Unknown {
		return before, true
	}
	return x.p.run.Sessions.GetAnyway(ctx, x.p.run.Bag, u, frame.After)
}

// lookBefore checks whether the provider u with its prior settings still finds an object that the provider with its
// planned settings has found. It reads the object with the prior settings, if both settings are known and differ. If
// the provider does not find the object, lookBefore sets Session.Astray of the session with the prior settings. The
// provider with the planned settings then destroys all objects of this provider instance.
//
// Example: the address of a server in the settings is an attribute of a resource. The attribute was changed outside of
// Lethe, and this plan changes it back. The prior settings then lead to the wrong server.
func (p *planner) lookBefore(ctx context.Context, o addr.Object, typ *object.Type, u declared.Use, cur object.Current) {
	if p.req.Mode == plan.Destroy || !p.req.Refresh || !u.Declared || len(p.run.Receivers.Ephemerals(u.Decl)) > 0 {
		return
	}
	after, ok := p.run.Sessions.GetIf(ctx, p.run.Bag, u, frame.After, true)
	if !ok || after.Unknown {
		return
	}
	before, ok := p.run.Sessions.Settle(ctx, p.run.Bag, u, frame.Before)
	if !ok || before == after || before.Unknown || before.Astray.Load() || before.Same(after) {
		return
	}
	if s, ok := p.run.Sessions.Get(ctx, &diag.Bag{}, u, frame.Before); ok {
		t := p.run.Tools(o, s, typ)
		t.Bag = &diag.Bag{}
		if stored, _, ok := t.Read(ctx, cur.Entry, cur.Known); ok && stored != nil {
			return
		}
	}
	before.Astray.Store(true)
}

// warnUnchecked warns, once for each session, that objects are not refreshed because the settings are unknown.
func (x *storedObject) warnUnchecked(s *run.Session, u declared.Use) {
	if !s.FirstWarning() {
		return
	}
	x.p.run.Bag.Add(diag.Warningf("Objects not refreshed", "The configuration of %s depends on values that are not known yet%s, and its previous configuration is not known. Its objects were not refreshed: the plan uses the values in the state.", u.Instance, x.throughLeases(u)))
}

// throughLeases names the ephemeral resources in a provider's configuration that are not open, as a phrase for a
// message. It returns "" if all are open.
func (x *storedObject) throughLeases(u declared.Use) string {
	if !u.Declared {
		return ""
	}
	var names []string
	for _, e := range x.p.run.Receivers.Ephemerals(u.Decl) {
		if len(x.p.run.Leases.OpenOf(e)) == 0 {
			names = append(names, x.p.run.Program.Decls()[e].Resource.String())
		}
	}
	if len(names) == 0 {
		return ""
	}
	return " (of " + strings.Join(names, ", ") + ", to be opened at apply)"
}

// keep records the refreshed object cur. It sets the prior value of the object (before face) to last: the refreshed
// value, or the stored value if the object no longer exists.
func (x *storedObject) keep(cur, last object.Current, t *object.Tools) {
	x.p.state.refresh(x.o, cur, x.entry)
	if d, ok := x.p.run.Program.Resource(x.o.Resource()); ok && !x.o.IsDeposed() {
		if f := x.p.run.Frame.At(x.o.Module, frame.Before); f != nil {
			f.PutLazy(d.ID, x.o.Key, frame.Before, lazy(t, last)) // the value is decoded only if an expression uses it
		}
	}
}

// drifted records a change that was made outside of Lethe, for the report of the plan. Only in a refresh-only plan it
// also records moves, and changes of deposed objects, because other plans destroy deposed objects anyway. A destroy plan
// destroys all objects, so it records nothing, as in Terraform.
func (x *storedObject) drifted(t *object.Tools, was, is object.Current) {
	from := x.p.moved.Origin(x.o)
	moved := from != x.o && x.p.req.Mode == plan.RefreshOnly
	if was.Entry == is.Entry && !moved || x.p.req.Mode == plan.Destroy || x.o.IsDeposed() && x.p.req.Mode != plan.RefreshOnly {
		return
	}
	before, ok := t.Value(was.Entry, was.Known)
	if !ok {
		return
	}
	c := &plan.Change{Object: x.o, Was: from, Action: plan.Delete, Before: before, After: mark.Plain(t.Type.Null()), Entry: was.Entry, Provider: was.Entry.Provider}
	if is.Entry != nil {
		after, ok := t.Value(is.Entry, is.Known)
		same := ok && after.Raw.RawEquals(before.Raw)
		if !ok || same && !moved {
			return
		}
		if c.Action, c.After = plan.Update, after; same {
			c.Action = plan.NoOp
		}
	}
	x.p.state.drifted(c)
}

// fail marks the prior value of the object (before face) as failed, and its resource as a resource with a failure.
// Declarations that need the value then fail without a message.
func (x *storedObject) fail() {
	d, ok := x.p.run.Program.Resource(x.o.Resource())
	if !ok {
		return
	}
	x.p.outcomes.fail(d.ID)
	if f := x.p.run.Frame.At(x.o.Module, frame.Before); f != nil {
		f.Fail(d.ID, x.o.Key, frame.Before)
	}
}

// lazy returns a function that decodes a refreshed object. If decoding fails, the function returns an unknown value.
func lazy(t *object.Tools, cur object.Current) func() mark.Value {
	return func() mark.Value {
		v, ok := t.Value(cur.Entry, cur.Known)
		if !ok {
			return mark.Plain(cty.UnknownVal(t.Type.Block.Type()))
		}
		return v
	}
}

// again sets the prior value (before face) of an object about which an earlier round has decided, from the state and
// without a refresh.
func (x *storedObject) again() {
	x.p.state.refresh(x.o, object.Current{Entry: x.entry}, x.entry)
	d, ok := x.p.run.Program.Resource(x.o.Resource())
	if !ok {
		return
	}
	if f := x.p.run.Frame.At(x.o.Module, frame.Before); f != nil {
		f.PutLazy(d.ID, x.o.Key, frame.Before, func() mark.Value { return filling.StoredValue(x.p.run.Program, d, x.entry) })
	}
}
