package planning

import (
	"maps"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/declared"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state"
)

func newDeferrals(p *planner) *deferrals {
	return &deferrals{p: p, noted: map[within]bool{}, waits: map[within]program.Use{}}
}

// keys records that the instance keys of the declaration d in a module instance are unknown until a later round: a
// further plan and apply of the command (ADR 52). It returns false if keys cannot be known later either, because their
// evaluation failed. The error was reported before.
func (x *deferrals) keys(d *program.Declaration, f *frame.Frame, keys frame.Keys) bool {
	if keys.Waits == nil {
		return false
	}
	x.note(d.ID, f.Addr(), *keys.Waits)
	if d.Kind == program.Call {
		return true
	}
	c := x.whole(d, f.Addr())
	c.Deferral = &plan.Deferral{Reason: plan.InstanceCountUnknown, Pattern: addressAt(f.Addr().String(), repeated(d.Resource.Local(), d))}
	x.record(c)
	for _, k := range x.p.prior.Resource(d.Resource.In(f.Addr())).Keys() {
		if i := d.Resource.In(f.Addr()).Instance(k); x.p.sel.Includes(i) {
			x.keep(d, i.Current(), plan.InstanceCountUnknown)
		}
	}
	return true
}

// modules handles the resource d whose module has instances with unknown keys. It defers the decision about d in these
// module instances to a later round, and keeps the stored objects of d in module instances that may still exist.
func (x *deferrals) modules(d *program.Declaration) {
	for at, pattern := range x.unknownModules(d.Module) {
		x.note(d.ID, at)
		c := x.whole(d, at)
		c.Object.Instance = d.Resource.In(d.Module.Unkeyed()).Instance(addr.NoKey)
		c.Was = c.Object
		c.Deferral = &plan.Deferral{Reason: plan.InstanceCountUnknown, Pattern: addressAt(pattern, repeated(d.Resource.Local(), d))}
		x.record(c)
	}
	for _, o := range x.p.stored(d.Resource) {
		if !o.IsDeposed() && x.inUnknownModule(o.Module) {
			x.keep(d, o, plan.InstanceCountUnknown)
		}
	}
}

// unknownModules returns the known module instances that call an instance of m, directly or indirectly, through a call
// whose keys are unknown. The values are the addresses of the unknown instances of m, with [*] for unknown keys.
func (x *deferrals) unknownModules(m addr.Module) map[addr.ModuleInstance]string {
	out := map[addr.ModuleInstance]string{}
	path := m.Path()
	var visit func(f *frame.Frame, depth int)
	visit = func(f *frame.Frame, depth int) {
		if depth == len(path) {
			return
		}
		call, ok := x.p.run.Program.Lookup(f.Addr().Module(), program.Call, path[depth])
		if !ok {
			return
		}
		keys := f.Expanded(call.ID, frame.After)
		if keys.Status == frame.Unknown {
			rest := ""
			at := f.Addr().Module()
			for _, name := range path[depth:] {
				if inner, ok := x.p.run.Program.Lookup(at, program.Call, name); ok {
					rest = addressAt(rest, repeated("module."+name, inner))
				}
				at = at.Child(name)
			}
			out[f.Addr()] = addressAt(f.Addr().String(), rest)
			return
		}
		for _, k := range keys.List {
			if child := x.p.run.Frame.At(f.Addr().Child(path[depth], k), frame.After); child != nil {
				visit(child, depth+1)
			}
		}
	}
	visit(x.p.run.Frame, 0)
	return out
}

// inUnknownModule reports whether a module instance in the state may or may not be declared after the apply, because the
// keys of a module call in its path are unknown.
func (x *deferrals) inUnknownModule(at addr.ModuleInstance) bool {
	if !x.any.Load() || at.IsRoot() {
		return false
	}
	if f := x.p.run.Frame.At(at.Parent(), frame.After); f != nil {
		name, _ := at.Call()
		call, ok := x.p.run.Program.Lookup(f.Addr().Module(), program.Call, name)
		return ok && f.Expanded(call.ID, frame.After).Status == frame.Unknown
	}
	return x.inUnknownModule(at.Parent())
}

// whole returns a change that represents all instances of a resource in a module instance, for the list of deferred
// changes.
func (x *deferrals) whole(d *program.Declaration, at addr.ModuleInstance) *plan.Change {
	o := d.Resource.In(at).Instance(addr.NoKey).Current()
	c := &plan.Change{Object: o, Was: o, Action: plan.Create, Before: mark.Plain(x.p.run.Program.Schema(d.ID).Null()), After: x.p.placeholder(d)}
	if d.Resource.Mode == addr.Data {
		c.Action = plan.Read
	}
	c.Provider = declared.UseOf(x.p.run.Program, d, addr.NoKey).Instance
	return c
}

// keep records that this round neither changes nor destroys the object o of the state, for the given reason. If o is a
// data source, this round does not read it.
func (x *deferrals) keep(d *program.Declaration, o addr.Object, reason string) {
	if d.Resource.Mode == addr.Data {
		x.p.state.doubt(o)
		return
	}
	c := x.kept(d, o)
	if c == nil {
		return
	}
	c.Deferral = &plan.Deferral{Reason: reason}
	if c.Was != o { // this round stores the object at its new address
		moved := *c
		x.p.decisions.record(&moved)
	}
	x.trigger(d, c)
	x.record(c)
}

// trigger sets the reason of the deferred change c if -replace or replace_triggered_by requires the replacement of its
// object, because of a change in this round or in an earlier round. Because of this reason, apply marks the object as
// tainted in the state. If the command ends before the later round, the next command replaces the object because of the
// taint: that command no longer sees the trigger, and its user may omit -replace.
func (x *deferrals) trigger(d *program.Declaration, c *plan.Change) {
	if c.Entry == nil || c.Entry.Tainted {
		return
	}
	f := x.p.run.Frame.At(c.Object.Module, frame.After)
	switch {
	case x.triggered(d, f, c.Object):
		c.Why = plan.ReplaceByTriggers
	case slices.Contains(x.p.req.Replace, c.Object.Instance) && !c.Object.IsDeposed():
		c.Why = plan.ReplaceByRequest
	default:
		return
	}
	if f != nil {
		x.p.allowed(d, f, &plan.Change{Object: c.Object, Action: plan.DeleteCreate, Entry: c.Entry})
	}
}

// triggered reports whether replace_triggered_by requires the replacement of the object o. f is the frame of its module
// instance, or nil.
func (x *deferrals) triggered(d *program.Declaration, f *frame.Frame, o addr.Object) bool {
	if f == nil || len(d.Res.Lifecycle.Triggers) == 0 {
		return false
	}
	triggers, out := f.Triggers(d.ID, o.Key, &diag.Bag{})
	return x.p.req.Earlier.triggers(o) || out == frame.OK && slices.ContainsFunc(triggers, x.p.decisions.triggered)
}

// kept returns a NoOp change for the object o of the state. It returns nil if the object no longer exists or is no
// managed resource.
func (x *deferrals) kept(d *program.Declaration, o addr.Object) *plan.Change {
	cur, seen := x.p.state.get(o)
	entry := cur.Entry
	if !seen {
		entry = x.p.prior.Get(o)
	}
	if entry == nil || d.Resource.Mode != addr.Managed {
		return nil
	}
	return keptChange(x.p, o, entry)
}

// keptChange returns a NoOp change for the object o with the entry e: the object and its metadata in the state stay
// unchanged.
func keptChange(p *planner, o addr.Object, e *state.Entry) *plan.Change {
	return &plan.Change{
		Object: o, Was: p.moved.Origin(o), Entry: e, Unchanged: true, Provider: e.Provider, Recorded: e.Recorded,
		Lifecycle: plan.Lifecycle{CreateFirst: e.CreateFirst, SkipDestroy: e.SkipDestroy, Protected: e.Protected},
	}
}

func (x *deferrals) record(c *plan.Change) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.list = append(x.list, c)
}

// blame records errors that a plan without later rounds would report. The plan reports these errors only if it plans no
// change at all, because a later round could then plan no more either.
func (x *deferrals) blame(why ...diag.Diagnostic) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.errors = append(x.errors, why...)
}

// note records that the plan of the declaration d in a module instance waits for a later round. It also records this
// for the module instances around that instance. The parameter why has errors, which note records as blame does.
func (x *deferrals) note(d program.Decl, at addr.ModuleInstance, why ...diag.Diagnostic) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.errors = append(x.errors, why...)
	for in := at; !x.noted[within{d, in}]; in = in.Parent() {
		x.noted[within{d, in}] = true
	}
	x.any.Store(true)
}

// is reports whether the decision about the declaration d waits for a later round, as seen from another module
// instance. It considers the instances of d below the innermost module instance that contains both.
func (x *deferrals) is(d program.Decl, from addr.ModuleInstance) bool {
	for at := x.p.run.Program.Decls()[d].Module; !at.Under(from.Module()); {
		from = from.Parent()
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.noted[within{d, from}]
}

// behind returns the uses (such as depends_on) of those references of the declaration d that lead to declarations that
// wait for a later round. It returns 0 if there is no such reference.
func (x *deferrals) behind(d program.Decl, from addr.ModuleInstance) program.Use {
	if !x.any.Load() {
		return 0
	}
	k := within{d, from}
	x.mu.Lock()
	uses, known := x.waits[k]
	x.mu.Unlock()
	if known {
		return uses
	}
	for _, ref := range x.p.run.Program.Refs(d) {
		if uses&ref.Use != ref.Use && x.leads(ref, from) {
			uses |= ref.Use
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.waits[k] = uses
	return uses
}

// direct reports whether a declaration refers directly to a resource that waits for a later round, and not only through
// values such as locals.
func (x *deferrals) direct(d program.Decl, from addr.ModuleInstance) bool {
	return slices.ContainsFunc(x.p.run.Program.Refs(d), func(ref program.Ref) bool {
		to := x.p.run.Program.Decls()[ref.To]
		return ref.Use&^(program.ByProvider|program.ByModule) != 0 && to.Kind == program.Resource && x.leads(ref, from)
	})
}

// leads reports whether the reference ref leads to a declaration that waits for a later round. It does not follow the
// references of a resource: if a declaration to which the resource refers waits, the resource waits itself.
func (x *deferrals) leads(ref program.Ref, from addr.ModuleInstance) bool {
	to := x.p.run.Program.Decls()[ref.To]
	switch {
	case to.Kind == program.Resource && to.Resource.Mode != addr.Ephemeral:
		return x.is(ref.To, from)
	case to.Kind == program.Call:
		return ref.Use&^program.ByModule != 0 && x.is(ref.To, from) || x.behind(ref.To, from)&(program.ByDepends|program.ByModule) != 0
	}
	return x.behind(ref.To, from) != 0
}

// replaced reports whether the plan replaces an object of a resource on which the settings of a provider depend.
func (x *deferrals) replaced(provider program.Decl) bool {
	return slices.ContainsFunc(x.p.outcomes.resourcesBehind(provider), func(r program.Decl) bool {
		return x.p.decisions.replaces(x.p.run.Program.Decls()[r].Resource)
	})
}

// finish returns the deferred changes, sorted. It also defers the destruction of objects on which deferred objects of
// the state depend. It returns nil if nothing is deferred.
func (x *deferrals) finish() []*plan.Change {
	if !x.any.Load() {
		return nil
	}
	x.deferEnds()
	slices.SortFunc(x.list, func(a, b *plan.Change) int {
		if c := a.Object.Compare(b.Object); c != 0 {
			return c
		}
		return strings.Compare(a.Subject(), b.Subject())
	})
	for _, c := range x.list {
		if d, ok := x.p.run.Program.Resource(c.Object.Resource()); ok {
			c.Deferral.After = x.awaited(d.ID, c.Deferral.Reason)
		}
	}
	return x.list
}

// deferEnds defers the destruction of an object to a later round if another object depends on it according to the
// state, and the change of this other object is deferred. The other object must be destroyed, or lose the reference,
// first. If a later round creates the object again (instance.endFirst), its destruction is not deferred.
func (x *deferrals) deferEnds() {
	needed, returns := needs{}, map[addr.Object]bool{}
	for _, c := range x.list {
		needed.add(c)
		returns[c.Object] = true
	}
	for more := true; more; {
		more = false
		x.p.decisions.list = slices.DeleteFunc(x.p.decisions.list, func(c *plan.Change) bool {
			if c.Action != plan.Delete && c.Action != plan.Forget || !needed[c.Object.Resource()] || returns[c.Object] {
				return false
			}
			c.Deferral = &plan.Deferral{Reason: plan.DeferredPrereq}
			x.list = append(x.list, c)
			needed.add(c)
			more = true
			return true
		})
	}
}

// leaveOld handles replacements that create the new object first. If the change of another object that depends on the
// old object is deferred, leaveOld also defers the destruction of the old object. The caller calls it when the actions
// of all changes are final.
func (x *deferrals) leaveOld(changes []*plan.Change) {
	needed := needs{}
	for _, c := range x.list {
		needed.add(c)
	}
	for _, c := range changes {
		if c.Action == plan.CreateDelete && needed[c.Object.Resource()] {
			c.Deferral = &plan.Deferral{Reason: plan.DeferredPrereq}
		}
	}
}

// needs are the resources on which some objects of the state depend. The method add adds the dependencies of the object
// of a change.
type needs map[addr.Resource]bool

func (n needs) add(c *plan.Change) {
	if c.Entry != nil {
		for _, on := range c.Entry.Recorded {
			n[on] = true
		}
	}
}

// awaited returns the addresses of the resources for which the decision about the declaration d waits: the nearest
// resources among its dependencies that change in this round, or wait for a later round themselves.
func (x *deferrals) awaited(d program.Decl, reason string) []string {
	prog := x.p.run.Program
	found, seen := map[string]bool{}, map[program.Decl]bool{d: true}
	var follow func(d program.Decl, uses program.Use)
	follow = func(d program.Decl, uses program.Use) {
		for _, ref := range prog.Refs(d) {
			to := prog.Decls()[ref.To]
			if ref.Use&uses == 0 || seen[ref.To] {
				continue
			}
			seen[ref.To] = true
			switch {
			case to.Kind == program.Call && ref.Use&^program.ByModule == 0:
				follow(ref.To, program.ByRepeat|program.ByModule|program.ByDepends)
			case to.Kind != program.Resource || to.Resource.Mode == addr.Ephemeral:
				follow(ref.To, ^program.Use(0))
			case x.is(ref.To, addr.ModuleInstance{}) || x.p.outcomes.changed(ref.To, addr.ModuleInstance{}) != unchanged:
				found[to.Resource.String()] = true
			}
		}
	}
	uses := ^program.Use(0)
	switch reason {
	case plan.InstanceCountUnknown:
		uses = program.ByRepeat | program.ByModule
	case plan.ProviderConfigUnknown:
		uses = program.ByProvider
	case plan.ResourceConfigUnknown:
		uses = program.ByImport
	}
	follow(d, uses)
	return slices.Sorted(maps.Keys(found))
}

// repeated returns name, the address of the declaration d in its module, with [*] if d has count or for_each.
func repeated(name string, d *program.Declaration) string {
	if d.Repeat() == program.Count || d.Repeat() == program.ForEach {
		name += "[*]"
	}
	return name
}

// addressAt returns the address of a declaration in a module instance. module is the address of the module instance, ""
// for the root module, and local is the address inside of it.
func addressAt(module, local string) string {
	if module == "" {
		return local
	}
	return module + "." + local
}
