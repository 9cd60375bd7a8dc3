package validating

import (
	"context"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/declared"
	"github.com/lethe-iac/lethe/internal/engine/run"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/object"
	"github.com/lethe-iac/lethe/internal/object/guard"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/provision"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/walk"
	"github.com/zclconf/go-cty/cty"
)

// Program checks the resources, actions and provider blocks of a compiled program against the rules of their providers.
// Values that the configuration does not contain are unknown. Program configures no provider and needs no state. If the
// compiler reported errors in some declarations, Program skips these. It returns false if bag has errors, or if the
// check could not start.
func Program(ctx context.Context, env run.Env, prog *program.Program, o frame.Options, bag *diag.Bag) bool {
	var todo []*program.Declaration
	for _, d := range prog.Decls() {
		if (d.Kind == program.Resource || d.Kind == program.Action || d.Kind == program.Provider && d.Prov != nil) && prog.Sound(d.ID) {
			todo = append(todo, d)
		}
	}
	Imports(prog, bag)
	if !Resources(ctx, env, prog, o, todo, bag) {
		return false
	}
	return !bag.HasErrors()
}

// Imports reports an error for each import block whose target resource is not declared, if a plan cannot generate its
// configuration. It returns false if it reports an error.
func Imports(prog *program.Program, bag *diag.Bag) bool {
	ok := true
	for to, b := range prog.UndeclaredImports() {
		if what := program.NotGenerated(to, b); what != "" {
			bag.Add(Undeclared(to, b, "Declare the resource. The option -generate-config-out supports "+what+"."))
			ok = false
		}
	}
	return ok
}

// Undeclared returns the error for an import block whose target resource is not declared. what is the advice.
func Undeclared(to addr.Resource, b *config.Import, what string) diag.Diagnostic {
	return diag.Errorf("Configuration for import target does not exist", "The configuration for the given import target %s does not exist. %s", to, what).At(b.To.Range())
}

// Alternatives returns the arguments that the provider p recommends to replace by write-only arguments. config is the
// configuration of a managed resource. The parameters name and s are the name and the schema of its type. The provider
// only validates the configuration and is not configured. Alternatives returns an error if the provider cannot be
// started.
func Alternatives(ctx context.Context, pool *provider.Pool, p addr.Provider, name string, s *schema.Schema, config cty.Value) ([]object.Alternative, error) {
	idle, err := pool.Idle(ctx, p)
	if err != nil {
		return nil, err
	}
	t := &object.Tools{Provider: guard.Of(idle), Type: &object.Type{Schema: s, Name: name, Mode: addr.Managed}, Bag: &diag.Bag{}}
	return t.Alternatives(ctx, config), nil
}

// validator checks declarations against the rules of their providers. run has the values and the providers.
type validator struct{ run *run.Run }

// Resources checks the declarations in todo (resources, actions and provider blocks) against the rules of their
// providers, and adds their errors to bag. It returns false only if the check could not start.
func Resources(ctx context.Context, env run.Env, prog *program.Program, o frame.Options, todo []*program.Declaration, bag *diag.Bag) bool {
	o.Validate = true
	run, ok := run.New(ctx, env, run.Request{Program: prog, Options: o}, bag)
	if !ok {
		return false
	}
	r := &validator{run}
	var g walk.Graph
	for range todo {
		g.Add(walk.Options{})
	}
	g.Run(ctx, walk.RunOptions{
		Workers: env.Settings.Workers(), Panicked: r.run.Panicked,
		Run: func(ctx context.Context, n walk.Node, _ *walk.Fan) bool { return r.validate(ctx, todo[n]) },
	})
	return true
}

func (r *validator) validate(ctx context.Context, d *program.Declaration) bool {
	return r.eachInstance(d, func(f *frame.Frame, k addr.Key) {
		if d.Kind == program.Provider {
			r.settings(ctx, d, f, k)
		} else {
			r.instance(ctx, d, f, k)
		}
	})
}

// eachInstance calls visit for each instance of a declaration. It returns false if not all instances are known. It may
// have visited some of them then.
func (r *validator) eachInstance(d *program.Declaration, visit func(*frame.Frame, addr.Key)) bool {
	frames, status := r.run.Frame.Expand(d.Module, frame.After, r.run.Bag)
	if status != frame.Known {
		return false
	}
	for _, f := range frames {
		keys := f.Keys(d.ID, frame.After, r.run.Bag)
		if keys.Status != frame.Known {
			return false
		}
		for _, k := range keys.List {
			visit(f, k)
		}
	}
	return true
}

func (r *validator) instance(ctx context.Context, d *program.Declaration, f *frame.Frame, k addr.Key) {
	config, out := f.Config(d.ID, k, frame.After, r.run.Bag)
	if out != frame.OK {
		return
	}
	inst := d.Resource.In(f.Addr()).Instance(k)
	p := declared.UseOf(r.run.Program, d, addr.NoKey).Instance.Provider
	typ := r.run.Types.Of(ctx, r.run.Bag, p, d.Resource, inst)
	if typ == nil {
		return
	}
	idle, err := r.run.Settings.Pool.Idle(ctx, p)
	if err != nil {
		r.run.Bag.Add(provider.Fault(p, err))
		return
	}
	about := d.Resource.In(f.Addr()).Instance(addr.NoKey)
	t := &object.Tools{Object: about.Current(), Provider: guard.Of(idle), Type: typ, Walk: r.run.Objects, Bag: r.run.Bag,
		Where: func(path cty.Path) diag.Range { return f.Where(d.ID, path) }}
	if d.Resource.Mode == addr.List {
		config = object.ListArgumentsOf(config, typ.Empty()).Config
		t.Where = func(path cty.Path) diag.Range {
			return f.Where(d.ID, append(cty.GetAttrPath(program.ListConfig), path...))
		}
	}
	if d.Kind == program.Action {
		config = frame.BlockOf(config, program.ActionConfig, typ.Empty())
		t.Where = func(path cty.Path) diag.Range {
			return f.Where(d.ID, append(cty.GetAttrPath(program.ActionConfig), path...))
		}
		t.Validate(ctx, config)
		return
	}
	t.Validate(ctx, config)
	r.provisioners(d, f, k)
}

func (r *validator) settings(ctx context.Context, d *program.Declaration, f *frame.Frame, k addr.Key) {
	settings, out := f.Settings(d.ID, k, frame.After, r.run.Bag)
	if out != frame.OK {
		return
	}
	idle, err := r.run.Settings.Pool.Idle(ctx, d.Provider.Provider)
	if err != nil {
		r.run.Bag.Add(provider.Fault(d.Provider.Provider, err))
		return
	}
	wire, err := r.run.Program.Schema(d.ID).Encode(settings.Raw)
	if err != nil {
		r.run.Bag.Add(diag.Errorf("Invalid provider configuration", "The configuration cannot be sent to the provider: %s.", err).At(d.Range))
		return
	}
	_, ds := idle.ValidateConfig(ctx, provider.Dynamic{Msgpack: wire})
	for _, x := range ds {
		x.Address = d.Provider.String()
		if x.Subject == nil {
			x = x.At(f.Where(d.ID, x.Path))
		}
		r.run.Bag.Add(x)
	}
}

// provisioners checks the provisioners and connections of an instance. Values that the configuration does not contain
// are unknown.
func (r *validator) provisioners(d *program.Declaration, f *frame.Frame, k addr.Key) {
	self := mark.Plain(r.run.Program.Schema(d.ID).Unknown())
	in := frame.Scope{Decl: d.ID, Key: k, Self: &self}
	h := declared.Provisioners{List: d.Res.Provisioners, Connection: d.Res.Connection, Decl: d, In: f.Addr()}
	for _, p := range h.List {
		v, out := f.Body(p.Body, provision.Schema(p.Type), in, frame.After, r.run.Bag)
		if out == frame.OK {
			r.faults(provision.Validate(p.Type, v.Raw), d, p.Range, func(path cty.Path) diag.Range {
				return f.WhereIn(p.Body, provision.Schema(p.Type), p.Range, path)
			})
		}
		c, ok := run.Connection(h.Connections(p), f, in, frame.After, r.run.Bag)
		if ok && c.Raw != cty.NilVal {
			r.faults(provision.ValidateConnection(c.Raw), d, p.Range, func(path cty.Path) diag.Range {
				at := p.Range
				for _, block := range h.Connections(p) { // an argument of a later block overrides an argument of an earlier block
					at = f.WhereIn(block.Body, provision.ConnectionSchema(), at, path)
				}
				return at
			})
		}
		if p.Type != provision.LocalExec && ok && c.Raw == cty.NilVal {
			r.run.Bag.Add(diag.Errorf("Missing connection configuration", "A %s provisioner runs on another machine. Add a connection block to the provisioner or to the resource.", p.Type).At(p.Range).About(d))
		}
	}
}

// faults reports the errors ds in a provisioner or connection of the resource d. block is the position of the block,
// and where returns the position of an argument.
func (r *validator) faults(ds []diag.Diagnostic, d *program.Declaration, block diag.Range, where func(cty.Path) diag.Range) {
	for _, x := range ds {
		at := where(x.Path)
		if arg := strings.TrimPrefix(mark.PathString(x.Path), "."); arg != "" && at == block {
			x.Detail = "Argument " + arg + ": " + x.Detail
		}
		r.run.Bag.Add(x.At(at).About(d))
	}
}

// Provisioners checks the provisioners and connections of the given resources, and adds the errors to bag.
func Provisioners(ctx context.Context, env run.Env, prog *program.Program, o frame.Options, of []*program.Declaration, bag *diag.Bag) {
	o.Validate = true
	run, ok := run.New(ctx, env, run.Request{Program: prog, Options: o}, bag)
	if !ok {
		return
	}
	r := &validator{run}
	for _, d := range of {
		r.eachInstance(d, func(f *frame.Frame, k addr.Key) { r.provisioners(d, f, k) })
	}
}
