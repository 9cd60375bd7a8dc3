package run

import (
	"context"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/declared"
	"github.com/lethe-iac/lethe/internal/lang/expr"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/object"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/zclconf/go-cty/cty"
)

// TypeOf describes the objects of one type to the kinds; nil, with a diagnostic, if the provider
// does not know the type.
func (r *Run) TypeOf(ctx context.Context, p addr.Provider, res addr.Resource, about addr.Instance) *object.Type {
	k := typeKey{provider: p, mode: res.Mode, name: res.Type}
	meta := r.Program.Meta(res.Module, p)
	if meta != cty.NilVal {
		k.meta, k.module = true, res.Module
	}
	r.types.mu.Lock()
	t := r.types.of[k]
	r.types.mu.Unlock()
	if t != nil {
		return t
	}
	schemas, ds := r.Settings.Pool.Schemas(ctx, p)
	if r.Bag.Add(ds...); ds.HasErrors() {
		return nil
	}
	sch, err := schemas.Usable(res.Mode, res.Type)
	if err != nil {
		r.Bag.Add(diag.Errorf("Invalid provider schema", "The schema of %s %s in provider %s cannot be used: %s.\n\nThis is a bug in the provider, to be reported there.", res.Mode.Block(), res.Type, p.ForDisplay(), err).About(about))
		return nil
	}
	if _, declared := r.Program.Resource(res); sch == nil && declared && r.Bag.HasErrors() {
		return nil // its declaration was refused
	}
	if sch == nil {
		r.Bag.Add(diag.Errorf("Invalid resource type", "Provider %s does not support the %s type %q, which the state has an object of. Select a version of the provider that supports it, or remove the object from the state with `lethe state rm`.", p.ForDisplay(), noun(res.Mode), res.Type).About(about))
		return nil
	}
	identity, _ := schemas.Identity(res.Type)
	t = &object.Type{Schema: sch, Name: res.Type, Mode: res.Mode, Identity: identity}
	if meta != cty.NilVal {
		t.Meta.Msgpack, _ = schema.Encode(meta, schemas.Meta.Type()) // constants that were made to fit it
	}
	r.types.mu.Lock()
	defer r.types.mu.Unlock()
	if have := r.types.of[k]; have != nil {
		return have
	}
	r.types.of[k] = t
	return t
}

// noun is what a mode's resources are called in messages.
func noun(m addr.Mode) string {
	switch m {
	case addr.Data:
		return "data source"
	case addr.Ephemeral:
		return "ephemeral resource"
	}
	return "resource"
}

// opensLeases is what package leases needs of a run.
type opensLeases struct{ run *Run }

// Tools is a part of leases.Opener.
func (o opensLeases) Tools(ctx context.Context, e *program.Declaration, f *frame.Frame, key addr.Key, inst addr.Instance, face frame.Face) (*object.Tools, bool, bool) {
	t, s, _, ok := o.run.toolsOn(ctx, e, f, key, inst, face)
	return t, ok && !s.Unknown, ok
}

// Pre is a part of leases.Opener.
func (o opensLeases) Pre(e *program.Declaration, f *frame.Frame, key addr.Key, inst addr.Instance) bool {
	return o.run.Pre(e, f, key, inst)
}

// Post is a part of leases.Opener.
func (o opensLeases) Post(e *program.Declaration, f *frame.Frame, key addr.Key, inst addr.Instance, value func() mark.Value) bool {
	return o.run.Post(e, f, key, inst, value)
}

// ToolsAfter is what it takes to plan or apply a declared instance.
func (r *Run) ToolsAfter(ctx context.Context, d *program.Declaration, f *frame.Frame, key addr.Key, inst addr.Instance) (*object.Tools, declared.Use, bool) {
	t, _, u, ok := r.toolsOn(ctx, d, f, key, inst, frame.After)
	return t, u, ok
}

// toolsOn is what it takes to work on a declared instance, through its provider as it is on a face.
func (r *Run) toolsOn(ctx context.Context, d *program.Declaration, f *frame.Frame, key addr.Key, inst addr.Instance, face frame.Face) (*object.Tools, *Session, declared.Use, bool) {
	pk, out := f.ProviderKey(d.ID, key, face, r.Bag)
	if out != frame.OK {
		return nil, nil, declared.Use{}, false
	}
	u := declared.UseOf(r.Program, d, pk)
	s, ok := r.Sessions.Get(ctx, r.Bag, u, face)
	if !ok {
		return nil, nil, u, false
	}
	typ := r.TypeOf(ctx, u.Instance.Provider, d.Resource, inst)
	if typ == nil {
		return nil, nil, u, false
	}
	return r.Tools(inst.Current(), s, typ), s, u, true
}

// Tools is what it takes to work on an object through a session.
func (r *Run) Tools(o addr.Object, s *Session, typ *object.Type) *object.Tools {
	p := s.Provider
	if d := r.Settings.Doubles; d != nil {
		p = d.Object(o.Instance, p)
	}
	return &object.Tools{Object: o, Provider: p, Type: typ, Walk: r.Objects, Bag: r.Bag, Where: r.where(o.Instance)}
}

// where places attributes of a declared instance.
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

// StoredUse is the provider of an object that is stored with a provider: the one its declaration uses now
// if it is declared, else that one.
func (r *Run) StoredUse(ctx context.Context, i addr.Instance, stored addr.ProviderInstance) (declared.Use, bool) {
	if d, ok := r.Program.Resource(i.Resource()); ok {
		return declared.UseOf(r.Program, d, stored.Key), true
	}
	if c, ok := r.Program.ProviderFor(stored.Module, stored.Provider, stored.Alias); ok {
		return declared.Use{Decl: c, Declared: true, Instance: addr.ProviderInstance{ProviderConfig: r.Program.Decls()[c].Provider, Key: stored.Key}}, true
	}
	if stored.Module.IsRoot() && stored.Alias == "" && r.needsNothing(ctx, stored.Provider) {
		return declared.Use{Instance: stored}, true
	}
	if stored.Provider.Namespace == addr.LegacyNamespace {
		r.Bag.Add(diag.Errorf("Invalid legacy provider address",
			"The state has %s with the provider address %s, which is from before Terraform 0.13. No registry has that address any more. Replace it with the address that the provider has today, such as hashicorp/%s: lethe state replace-provider %s NEW",
			i, stored.Provider, stored.Provider.Type, stored.Provider).About(i))
		return declared.Use{}, false
	}
	r.Bag.Add(diag.Errorf("Provider configuration not present",
		"To work with %s its original provider configuration at %s is required, but it has been removed. This occurs when a provider configuration is removed while objects created by that provider still exist in the state. Re-add the provider configuration to destroy %s, after which you can remove the provider configuration again; or let Lethe forget the object with a `removed` block or `lethe state rm`.",
		i, stored, i).About(i))
	return declared.Use{}, false
}

// needsNothing reports whether a provider can be configured with nothing at all.
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

// Amended is an entry with what a change says of an object beside its value.
func Amended(c *plan.Change, e *state.Entry) *state.Entry {
	next := *e
	next.Provider, next.Recorded, next.CreateFirst, next.SkipDestroy = c.Provider, c.Recorded, c.CreateFirst, c.SkipDestroy
	return &next
}

// Ignored are the paths of ignore_changes.
func Ignored(d *program.Declaration) []cty.Path {
	var out []cty.Path
	for _, t := range d.Res.Lifecycle.Ignore {
		out = append(out, expr.Path(t))
	}
	return out
}
