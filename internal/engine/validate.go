package engine

import (
	"context"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/declared"
	"github.com/lethe-iac/lethe/internal/lang"
	"github.com/lethe-iac/lethe/internal/object"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/walk"
	"github.com/zclconf/go-cty/cty"
)

// Validate holds a compiled program against its providers' own rules, with everything unknown that
// is not written out. Nothing is configured, no state is needed. It may be called after Compile
// failed: what mistakes were found in is left out.
func (e *Engine) Validate(ctx context.Context, prog *lang.Program, o lang.Options, bag *diag.Bag) bool {
	var todo []*lang.Declaration
	for _, d := range prog.Decls() {
		if (d.Kind == lang.Resource || d.Kind == lang.Provider && d.Prov != nil) && prog.Sound(d.ID) {
			todo = append(todo, d)
		}
	}
	if !e.validate(ctx, prog, o, todo, bag) {
		return false
	}
	e.checkImports(prog, false, bag)
	return !bag.HasErrors()
}

// validate holds resources and providers against the rules; false if that could not be begun.
func (e *Engine) validate(ctx context.Context, prog *lang.Program, o lang.Options, todo []*lang.Declaration, bag *diag.Bag) bool {
	o.Validate = true
	r, ok := newRun(ctx, &e.Settings, &e.handover, runRequest{Program: prog, Options: o}, bag)
	if !ok {
		return false
	}
	var g walk.Graph
	for range todo {
		g.Add(nil, walk.Options{})
	}
	g.Run(ctx, walk.RunOptions{
		Workers: e.workers(), Panicked: r.panicked,
		Visit: func(ctx context.Context, n walk.Node, _ *walk.Fan) bool { return r.validate(ctx, todo[n]) },
	})
	return true
}

// validateUnused holds the ephemeral resources that nobody receives against the rules. They are not
// opened, so that nothing else would find what is wrong with them.
func (p *planner) validateUnused(ctx context.Context, e *Engine) {
	if !p.run.receivers.Any || p.req.Mode != plan.Normal {
		return
	}
	received := p.run.receivers.Needed(func(d lang.Decl) bool { return !p.sel.Skips(d) })
	var unused []*lang.Declaration
	for _, d := range p.run.prog.Decls() {
		if d.Kind == lang.Resource && d.Resource.Mode == addr.Ephemeral && !received[d.ID] && !p.sel.Skips(d.ID) && !p.opensItself(d) {
			p.warnUnreferred(d)
			unused = append(unused, d)
		}
	}
	if len(unused) > 0 {
		e.validate(ctx, p.run.prog, p.req.Options, unused, p.run.bag)
	}
}

// validateHooked holds provisioners and connections against their rules. Planning does not run them,
// so that nothing else would find what is wrong with them before an object is made.
func (p *planner) validateHooked(ctx context.Context, e *Engine) {
	var hooked []*lang.Declaration
	for _, d := range p.run.prog.Decls() {
		if d.Kind == lang.Resource && len(d.Res.Provisioners) > 0 && !p.sel.Skips(d.ID) && p.req.Mode == plan.Normal {
			hooked = append(hooked, d)
		}
	}
	if len(hooked) == 0 {
		return
	}
	o := p.req.Options
	o.Validate = true
	if r, ok := newRun(ctx, &e.Settings, &e.handover, runRequest{Program: p.run.prog, Options: o}, p.run.bag); ok {
		for _, d := range hooked {
			r.eachInstance(d, func(f *lang.Frame, k addr.Key) { r.validateHooks(d, f, k) })
		}
	}
}

// warnUnreferred says of an ephemeral resource that nothing refers to that it is not opened. Of one that is
// a target that was said already.
func (p *planner) warnUnreferred(d *lang.Declaration) {
	if p.req.Mode == plan.Normal && !p.req.quiet && !p.sel.Named[d.Resource] && !p.run.receivers.Referred(d.ID) {
		p.run.bag.Add(diag.Warningf("Ephemeral resource not opened", "Nothing refers to %s, and it has no conditions, so it is not opened. It is opened for what receives its value: a provider, a write-only argument, a provisioner, a condition, an output of a module, or another ephemeral resource that is.", d.Resource).At(d.Range))
	}
}

func (r *run) validate(ctx context.Context, d *lang.Declaration) bool {
	return r.eachInstance(d, func(f *lang.Frame, k addr.Key) {
		if d.Kind == lang.Provider {
			r.validateSettings(ctx, d, f, k)
		} else {
			r.validateInstance(ctx, d, f, k)
		}
	})
}

// eachInstance visits the instances of a declaration, as far as they are known.
func (r *run) eachInstance(d *lang.Declaration, visit func(*lang.Frame, addr.Key)) bool {
	frames, status := r.frame.Expand(d.Module, lang.After, r.bag)
	if status != lang.Known {
		return false
	}
	for _, f := range frames {
		keys := f.Keys(d.ID, lang.After, r.bag)
		if keys.Status != lang.Known {
			return false
		}
		for _, k := range keys.List {
			visit(f, k)
		}
	}
	return true
}

func (r *run) validateInstance(ctx context.Context, d *lang.Declaration, f *lang.Frame, k addr.Key) {
	config, out := f.Config(d.ID, k, lang.After, r.bag)
	if out != lang.OK {
		return
	}
	inst := d.Resource.In(f.Addr()).Instance(k)
	p := declared.UseOf(r.prog, d, addr.NoKey).Instance.Provider
	typ := r.typeOf(ctx, p, d.Resource, inst)
	idle, err := r.settings.Pool.Idle(ctx, p)
	if err != nil || typ == nil {
		return // said when the schema was asked for
	}
	about := d.Resource.In(f.Addr()).Instance(addr.NoKey)
	t := &object.Tools{Object: about.Current(), Provider: idle, Type: typ, Walk: r.objs, Bag: r.bag,
		Where: func(path cty.Path) diag.Range { return f.Where(d.ID, k, path) }}
	t.Validate(ctx, config)
	r.validateHooks(d, f, k)
}

func (r *run) validateSettings(ctx context.Context, d *lang.Declaration, f *lang.Frame, k addr.Key) {
	settings, out := f.Settings(d.ID, k, lang.After, r.bag)
	if out != lang.OK {
		return
	}
	idle, err := r.settings.Pool.Idle(ctx, d.Provider.Provider)
	if err != nil {
		return
	}
	wire, err := r.prog.Schema(d.ID).Encode(settings.Raw)
	if err != nil {
		r.bag.Add(diag.Errorf("Invalid provider configuration", "The settings cannot be sent to the provider: %s.", err).At(d.Range))
		return
	}
	_, ds := idle.ValidateConfig(ctx, provider.Dynamic{Msgpack: wire})
	for _, x := range ds {
		x.Address = d.Provider.String()
		if x.Subject == nil {
			x = x.At(f.Where(d.ID, k, x.Path))
		}
		r.bag.Add(x)
	}
}
