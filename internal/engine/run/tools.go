package run

import (
	"context"
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/declared"
	"github.com/lethe-iac/lethe/internal/lang/expr"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/object"
	"github.com/lethe-iac/lethe/internal/object/guard"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/zclconf/go-cty/cty"
)

// opensLeases gives package leases access to the providers and conditions of a run. It implements leases.Opener.
type opensLeases struct{ run *Run }

// Tools returns the tools to open an instance of the ephemeral resource e. The first bool reports whether the settings
// of its provider are known. The second bool is false if the provider cannot be used.
func (o opensLeases) Tools(ctx context.Context, e *program.Declaration, f *frame.Frame, key addr.Key, inst addr.Instance, face frame.Face) (*object.Tools, bool, bool) {
	t, s, _, ok := o.run.toolsOn(ctx, e, f, key, inst, face, o.run.Sessions.GetAnyway)
	return t, ok && !s.Unknown, ok
}

// Pre checks the preconditions of an instance and returns false if one fails.
func (o opensLeases) Pre(e *program.Declaration, f *frame.Frame, key addr.Key, inst addr.Instance) bool {
	return o.run.Conditions.Pre(o.run.Bag, e, f, key, inst)
}

// Post checks the postconditions of an instance against its value and returns false if one fails.
func (o opensLeases) Post(e *program.Declaration, f *frame.Frame, key addr.Key, inst addr.Instance, value func() mark.Value) bool {
	return o.run.Conditions.Post(o.run.Bag, e, f, key, inst, value)
}

// ToolsAfter returns the tools for provider calls about a declared instance, with the planned settings of its provider
// (the after face). It returns false if the provider cannot be configured or lacks the type.
func (r *Run) ToolsAfter(ctx context.Context, d *program.Declaration, f *frame.Frame, key addr.Key, inst addr.Instance) (*object.Tools, declared.Use, bool) {
	t, _, u, ok := r.toolsOn(ctx, d, f, key, inst, frame.After, r.Sessions.Get)
	return t, u, ok
}

// getSession is Sessions.Get or Sessions.GetAnyway.
type getSession func(context.Context, *diag.Bag, declared.Use, frame.Face) (*Session, bool)

// toolsOn returns the tools for provider calls about a declared instance. The provider has its prior settings if face
// is Before, and its planned settings otherwise. get returns the session (the configured process). If the provider or
// its schema cannot be used, toolsOn reports the error and returns false.
func (r *Run) toolsOn(ctx context.Context, d *program.Declaration, f *frame.Frame, key addr.Key, inst addr.Instance, face frame.Face, get getSession) (*object.Tools, *Session, declared.Use, bool) {
	pk, out := f.ProviderKey(d.ID, key, face, r.Bag)
	if out != frame.OK {
		return nil, nil, declared.Use{}, false
	}
	u := declared.UseOf(r.Program, d, pk)
	s, ok := get(ctx, r.Bag, u, face)
	if !ok {
		return nil, nil, u, false
	}
	typ := r.Types.Of(ctx, r.Bag, u.Instance.Provider, d.Resource, inst)
	if typ == nil {
		return nil, nil, u, false
	}
	return r.Tools(inst.Current(), s, typ), s, u, true
}

// Tools returns the tools for provider calls about the object o. s is the session (the configured process) of the
// object's provider.
func (r *Run) Tools(o addr.Object, s *Session, typ *object.Type) *object.Tools {
	p := s.Provider
	if d := r.Settings.Providers.Substitutes; d != nil {
		p = d.Object(o.Instance, p)
	}
	return &object.Tools{Object: o, Provider: guard.Of(p), Type: typ, Walk: r.Objects, Bag: r.Bag, Where: r.where(o.Instance)}
}

// where returns a function that returns the position of an instance's attribute in the configuration. It returns nil if
// the instance is not declared.
func (r *Run) where(i addr.Instance) func(cty.Path) diag.Range {
	d, ok := r.Program.Resource(i.Resource())
	if !ok {
		return nil
	}
	return func(path cty.Path) diag.Range {
		f := r.Frame.At(i.Module, frame.After)
		if f == nil {
			return d.Range
		}
		return f.Where(d.ID, path)
	}
}

// StoredUse returns the provider instance that has a stored object. If the resource is declared and has another provider
// block now, this is the instance of the former block (see FormerUse), or else an instance of its provider block. If the
// resource is not declared, it is the stored provider instance, if the program still has its configuration or the
// provider needs no settings. If there is no such instance, StoredUse reports an error and returns false.
func (r *Run) StoredUse(ctx context.Context, i addr.Instance, stored addr.ProviderInstance) (declared.Use, bool) {
	if d, ok := r.Program.Resource(i.Resource()); ok {
		if u, ok := r.FormerUse(ctx, d, stored); ok {
			return u, true
		}
		if declared.Fits(r.Program, d, stored) {
			return declared.UseOf(r.Program, d, stored.Key), true
		}
		return r.presentUse(d, i, stored)
	}
	if u, ok := declared.SameUse(r.Program, stored); ok {
		return u, true
	}
	if stored.Module.IsRoot() && stored.Alias == "" && r.needsNothing(ctx, stored.Provider) {
		return declared.Use{Instance: stored}, true
	}
	if stored.Provider.Namespace == addr.LegacyNamespace {
		r.Bag.Add(diag.Errorf("Invalid legacy provider address",
			"The state has %s with the provider address %s from before Terraform 0.13, which is in no registry. Replace it with the current address, such as hashicorp/%s: lethe state replace-provider %s NEW",
			i, stored.Provider, stored.Provider.Type, stored.Provider).About(i))
		return declared.Use{}, false
	}
	r.Bag.Add(diag.Errorf("Provider configuration not present",
		"%s needs its provider configuration %s, which is no longer in the configuration. Add it again to destroy %s, and remove it after that. To keep the object but forget it, run: lethe state rm '%[1]s'",
		i, stored, i).About(i))
	return declared.Use{}, false
}

// FormerUse returns the use of the stored provider instance of a declared object, if the resource now has another block
// of the same provider. Otherwise it returns false (see declared.FormerUse). Perhaps only the former block finds the
// object, for example in another region. If the provider had no block, the former provider instance is the provider without settings, if it can be
// configured: it may have settings of the environment.
func (r *Run) FormerUse(ctx context.Context, d *program.Declaration, stored addr.ProviderInstance) (declared.Use, bool) {
	now := r.Program.Decls()[r.Program.ProviderOf(d.ID)].Provider
	if stored.ProviderConfig == now { // most objects
		return declared.Use{}, false
	}
	if u, ok := declared.FormerUse(r.Program, r.Receivers.FromResources, d, stored); ok {
		return u, true
	}
	if stored.Provider.Canon() != now.Provider.Canon() || !stored.Module.IsRoot() || stored.Alias != "" || !stored.Key.IsNone() {
		return declared.Use{}, false
	}
	if _, ok := declared.SameUse(r.Program, stored); ok || !r.needsNothing(ctx, stored.Provider) {
		return declared.Use{}, false
	}
	u := declared.Use{Instance: stored}
	_, ok := r.Sessions.Get(ctx, &diag.Bag{}, u, frame.After)
	return u, ok
}

// Unaskable reports whether the program still has the provider block that made an object of d, the resource now has another
// block of the same provider, and the former block cannot be asked for the object, because its settings depend on
// resources. If the present block does not find the object, it may still exist.
func (r *Run) Unaskable(d *program.Declaration, stored addr.ProviderInstance) bool {
	now := r.Program.Decls()[r.Program.ProviderOf(d.ID)].Provider
	if stored.ProviderConfig == now { // most objects
		return false
	}
	was, ok := declared.SameUse(r.Program, stored)
	return ok && was.Instance.ProviderConfig != now && now.Provider.Canon() == stored.Provider.Canon() && r.Receivers.FromResources(was.Decl)
}

// Lost reports an error for an object that its present provider block does not find, if Unaskable is true: the object must
// neither leave the state nor be created again.
func (r *Run) Lost(d *program.Declaration, i addr.Instance, stored addr.ProviderInstance) {
	r.Bag.Add(diag.Errorf("Provider configuration not present",
		"%s was created through %s. Its resource now selects %s, which does not find it. The settings of the former block depend on other resources or on ephemeral resources, so Lethe cannot ask it for the object. Select the former block again and destroy the object, and change the block after that. If the object no longer exists, run: lethe state rm '%[1]s'",
		i, stored, r.Program.Decls()[r.Program.ProviderOf(d.ID)].Provider).At(d.Range).About(i))
}

// presentUse returns the provider instance that the configuration names for a stored object. It is for an object whose
// stored key does not fit, because for_each was added to the provider block or removed from it, or because the object now
// has a provider block with another name. With the stored key, the settings of the provider would be unknown or wrong,
// and it could destroy or miss another object. If the key depends on resources, or if the provider has no such instance,
// presentUse reports an error and returns false.
func (r *Run) presentUse(d *program.Declaration, i addr.Instance, stored addr.ProviderInstance) (declared.Use, bool) {
	if u, ok := r.EarlyUse(d, i); ok {
		return u, true
	}
	if declared.MayHave(r.Program, d, stored.Key) {
		return declared.UseOf(r.Program, d, stored.Key), true // the instance is not declared, and the configuration was renamed
	}
	r.Bag.Add(diag.Errorf("Provider configuration not present",
		"The state has %s with %s, and for_each was added to the provider block or removed from it. The configuration does not say which instance of the provider the object needs now. Add an instance for it, with a key that does not depend on resources.", i, stored).At(d.Range).About(i))
	return declared.Use{}, false
}

// EarlyUse returns the provider instance that the configuration names for an instance of the resource d, before the
// plan has planned any object. It returns false if the key of the provider instance depends on managed resources, or if
// the provider has no such instance. In a destroy plan, which reads no data sources, it also returns false if the key
// depends on data sources.
func (r *Run) EarlyUse(d *program.Declaration, i addr.Instance) (declared.Use, bool) {
	if u := declared.UseOf(r.Program, d, addr.NoKey); r.Program.Decls()[u.Decl].Repeat() == program.Once {
		return u, true
	}
	f := r.Frame.At(i.Module, frame.After)
	if f == nil {
		f = r.Frame.At(i.Module, frame.Before)
	}
	if f == nil || !declared.Early(r.Program, r.Receivers.Steady, d) || r.Kind.Destroys() && slices.ContainsFunc(declared.ForKey(r.Program, d), r.readsResources) {
		return declared.Use{}, false
	}
	key, out := f.ProviderKey(d.ID, i.Key, frame.After, &diag.Bag{})
	return declared.UseOf(r.Program, d, key), out == frame.OK && declared.MayHave(r.Program, d, key)
}

// readsResources reports whether a declaration is a resource or depends on one.
func (r *Run) readsResources(d program.Decl) bool {
	return r.Program.Decls()[d].Kind == program.Resource || r.Receivers.FromResources(d)
}

// needsNothing reports whether a provider has no required settings. It returns false if the schemas cannot be loaded.
func (r *Run) needsNothing(ctx context.Context, p addr.Provider) bool {
	schemas, ds := r.Settings.Pool.Schemas(ctx, p)
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

// Amended returns a copy of the state entry e with the provider, the dependencies and the lifecycle settings of the
// change c.
func Amended(c *plan.Change, e *state.Entry) *state.Entry {
	next := *e
	next.Provider, next.Recorded, next.CreateFirst, next.SkipDestroy, next.Protected = c.Provider, c.Recorded, c.CreateFirst, c.SkipDestroy, c.Protected
	return &next
}

// Ignored returns the paths in ignore_changes of a resource.
func Ignored(d *program.Declaration) []cty.Path {
	var out []cty.Path
	for _, t := range d.Res.Lifecycle.Ignore {
		out = append(out, expr.Path(t))
	}
	return out
}
