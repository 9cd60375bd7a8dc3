package suite

import (
	"context"
	"maps"
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/config/testfile"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/mock"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/secret"
	"github.com/zclconf/go-cty/cty"
)

// evaluation evaluates the values of mocks and overrides of a test file for one run.
type evaluation struct {
	x      *execution
	run    *Run
	tree   *config.Tree // the configuration under test
	static func() *frame.StaticFrame
	bag    *diag.Bag
	ok     bool // no value was refused so far
}

// object evaluates an argument that must be an object with known values. It returns NilVal if values is nil. After an
// error, it sets ok to false and returns NilVal. The parameter what describes the argument in errors. An ephemeral
// value may only be used for an ephemeral resource, because all other values are stored in the state.
func (e *evaluation) object(values testfile.Expression, mode addr.Mode, what string) cty.Value {
	if values == nil {
		return cty.NilVal
	}
	refuse := func(title, format string) cty.Value {
		e.bag.Add(diag.Errorf(title, format, what).At(values.Range()))
		e.ok = false
		return cty.NilVal
	}
	refs := testfile.RefsOf(values)
	if !outside(refs, e.bag) || !e.x.known(refs, e.run, e.bag) {
		e.ok = false
		return cty.NilVal
	}
	v, ok := e.static().EvalWith(values, what, e.run.names(refs), e.bag)
	switch {
	case !ok:
		e.ok = false
		return cty.NilVal
	case v.Has(mark.Ephemeral) && mode != addr.Ephemeral:
		return refuse("Ephemeral value not allowed", "This value is ephemeral and cannot be used as %s.")
	case !v.Raw.Type().IsObjectType() || v.Raw.IsNull() || !v.Raw.IsWhollyKnown():
		return refuse("Invalid mocked values", "The value for %s must be an object whose values are known, such as { name = value }.")
	}
	if len(v.Marks) > 0 && e.x.suite.Engine.Secrets != nil {
		e.x.suite.Engine.Secrets.MaskValue(v.Raw, secret.Origin{Addr: what, Kind: secret.Setting})
	}
	return v.Raw
}

// modules evaluates the outputs of overridden modules.
func (e *evaluation) modules() (out []replaced) {
	for _, o := range slices.Concat(e.run.Overrides, e.x.file.Overrides) {
		if o.Mode != 0 || !called(e.tree, o.Target.Module()) {
			continue
		}
		r := replaced{target: o.Target}
		if given := e.object(o.Values, 0, "the outputs of "+o.Target.String()); given != cty.NilVal {
			r.outputs = given.AsValueMap()
			e.leftOut(o, given, slices.Collect(maps.Keys(node(e.tree, o.Target.Module()).Module.Outputs)), "The module %s has no output %q")
		}
		out = append(out, r)
	}
	return sorted(out, replaced.of)
}

// replaced holds the outputs that an override sets for all instances of a module, or for some of them.
type replaced struct {
	target  addr.Target
	outputs map[string]cty.Value
}

func (r replaced) of() addr.Target { return r.target }

// outputsOf returns the function that finds the overridden outputs of a module instance, for frame.Options. It returns
// nil for an empty list.
func outputsOf(list []replaced) func(addr.ModuleInstance) (map[string]cty.Value, bool) {
	if len(list) == 0 {
		return nil
	}
	return func(m addr.ModuleInstance) (map[string]cty.Value, bool) {
		for _, r := range list {
			if r.target.ContainsModule(m) && r.target.Module() == m.Module() {
				return r.outputs, true
			}
		}
		return nil, false
	}
}

// node returns a module of a configuration, or nil if it does not exist.
func node(tree *config.Tree, path addr.Module) (found *config.Node) {
	tree.Root.Walk(func(n *config.Node) {
		if n.Path == path {
			found = n
		}
	})
	return found
}

// called reports whether a module is called in a configuration.
func called(tree *config.Tree, path addr.Module) bool {
	return !path.IsRoot() && node(tree, path) != nil
}

// leftOut warns of each value of an override whose name is not in names, because the value has no effect. For an
// override of the file, it warns only with the first run of the file.
func (e *evaluation) leftOut(o *testfile.Override, given cty.Value, names []string, text string) {
	if !slices.Contains(e.run.Overrides, o) && e.run != e.x.file.Runs[0] {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(given.Type().AttributeTypes())) {
		if !slices.Contains(names, name) {
			e.bag.Add(diag.Warningf("Invalid mocked values", text+": the value given for it has no effect.%s", o.Target, name, diag.DidYouMean(name, names)).At(o.Range))
		}
	}
}

// sorted returns list with the targets that have instance keys before the targets without keys, because the first
// target that matches an object counts. Otherwise it keeps the order: first the overrides of the run, then of the file,
// then of the mock.
func sorted[T any](list []T, target func(T) addr.Target) []T {
	slices.SortStableFunc(list, func(a, b T) int { return keys(target(b)) - keys(target(a)) })
	return list
}

// keys ranks a target by the instance keys that it has.
func keys(t addr.Target) int {
	n := 0
	if t.KeyGiven {
		n = 2
	}
	if t.InKeyedModule() {
		n++
	}
	return n
}

// targets warns of overrides and mocks whose target does not exist. An override of a run must match the configuration
// that the run tests. Overrides and mocks of a file must match the configuration of at least one run. targets checks
// them only with the first run of the file.
func (e *evaluation) targets() {
	warn := func(list []*testfile.Override, trees ...*config.Tree) {
		for _, o := range list {
			if !slices.ContainsFunc(trees, func(t *config.Tree) bool { return has(t, o) }) {
				e.bag.Add(diag.Warningf("Invalid override target", "The override target %s does not exist in the configuration under test. Correct the address, or remove the override.", o.Target).At(o.At))
			}
		}
	}
	warn(e.run.Overrides, e.tree)
	if e.run != e.x.file.Runs[0] {
		return
	}
	list := slices.Clone(e.x.file.Overrides)
	for _, m := range e.x.file.Mocks {
		list = append(list, m.Overrides...)
	}
	if len(list)+len(e.x.file.Mocks) == 0 {
		return
	}
	trees := []*config.Tree{e.x.suite.Root}
	for _, r := range e.x.file.Runs {
		if t, _, ok := e.x.module(r, &diag.Bag{}); ok { // a run whose module cannot be loaded reports the error itself
			trees = append(trees, t)
		}
	}
	warn(list, trees...)
	for name, m := range e.x.file.Mocks {
		passed := func(r *Run) bool {
			return slices.ContainsFunc(r.Providers, func(p config.Passed) bool { return p.Parent.ProviderName == name })
		}
		needed := func(t *config.Tree) bool { return needs(t, name.Local) }
		if !slices.ContainsFunc(trees, needed) && !slices.ContainsFunc(e.x.file.Runs, passed) {
			e.bag.Add(diag.Warningf("Unused mock provider", "No configuration under test needs the provider %q, and no run passes it, so the mock is never used. Remove it.", name.Local).At(m.Range))
		}
	}
}

// has reports whether the target of an override is in a configuration.
func has(tree *config.Tree, o *testfile.Override) bool {
	if o.Mode == 0 {
		return called(tree, o.Target.Module())
	}
	_, of := declared(tree, o.Target.Resource())
	return of != nil
}

// doubles evaluates the mocks and overrides of a run.
func (e *evaluation) doubles(v *variant) *doubles {
	d := &doubles{mocks: map[addr.ProviderConfig]*mocked{}, leases: &leaseLog{now: e.x.suite.Clock.Now, of: map[addr.Instance]*leaseRecord{}}}
	for name, m := range v.mocks {
		p := e.tree.Root.Provider(name.Local)
		d.mocks[addr.ProviderConfig{Provider: p, Alias: name.Alias}] = e.mocked(m, p)
	}
	e.targets()
	d.overrides = e.overrides(slices.Concat(e.run.Overrides, e.x.file.Overrides), testfile.DuringApply)
	for _, m := range d.mocks {
		m.overrides = sorted(slices.Concat(d.overrides, m.overrides), override.of)
	}
	d.overrides = sorted(d.overrides, override.of)
	return d
}

// mocked evaluates a mock of a provider. p is the provider that it replaces. If p cannot be started, mocked reports an
// error, sets e.ok to false and returns a mock without a provider.
func (e *evaluation) mocked(m *testfile.Mock, p addr.Provider) *mocked {
	out := &mocked{defaults: map[ofType]mock.Answer{}, overrides: e.overrides(m.Overrides, m.During)}
	behind, err := e.x.suite.Engine.Pool.Idle(context.Background(), p)
	if err != nil {
		e.bag.Add(provider.Fault(p, err))
		e.ok = false
		return out
	}
	out.provider = &mock.Provider{Provider: behind}
	schemas, _ := behind.Schemas(context.Background())
	for _, d := range m.Defaults {
		given := e.object(d.Values, d.Mode, "the defaults of "+d.Type)
		out.defaults[ofType{d.Mode, d.Type}] = mock.Answer{Given: given, Known: known(d.During, m.During), At: d.Range}
		if e.run == e.x.file.Runs[0] && schemas != nil {
			e.unknown(d, given, schemas)
		}
	}
	return out
}

// unknown warns of defaults without an effect, because the provider does not have the type, or the type does not have
// the attribute.
func (e *evaluation) unknown(d *testfile.Default, given cty.Value, schemas *provider.Schemas) {
	s, err := schemas.Type(d.Mode, d.Type)
	if err != nil {
		return // a run that uses the type reports the error
	}
	if s == nil {
		e.bag.Add(diag.Warningf("Invalid mocked values", "The provider has no %s type %q, so these values have no effect.%s", d.Mode.Block(), d.Type, diag.DidYouMean(d.Type, schemas.Types(d.Mode))).At(d.Range))
		return
	}
	if given == cty.NilVal {
		return
	}
	names := namesOf(s)
	for _, name := range slices.Sorted(maps.Keys(given.Type().AttributeTypes())) {
		if !slices.Contains(names, name) {
			e.bag.Add(diag.Warningf("Invalid mocked values", "The type %q has no attribute %q: the value given for it has no effect.%s", d.Type, name, diag.DidYouMean(name, names)).At(d.Range))
		}
	}
}

func namesOf(s *schema.Schema) (names []string) {
	for _, a := range s.Attrs {
		names = append(names, a.Name)
	}
	for _, b := range s.Blocks {
		names = append(names, b.Name)
	}
	return names
}

// attributes warns of each value of an override that is not an attribute of the resource type.
func (e *evaluation) attributes(o *testfile.Override, given cty.Value) {
	r := o.Target.Resource()
	n, of := declared(e.tree, r)
	if given == cty.NilVal || of == nil {
		return
	}
	p, err := e.x.suite.Engine.Pool.Idle(context.Background(), n.Provider(of.LocalProvider().Local))
	if err != nil {
		return // a run that uses the provider reports the error
	}
	schemas, _ := p.Schemas(context.Background())
	if schemas == nil {
		return
	}
	if s, err := schemas.Type(r.Mode, r.Type); s != nil && err == nil {
		e.leftOut(o, given, namesOf(s), "The resource %s has no attribute %q")
	}
}

// known reports whether a value of a mock or an override is known during planning. The parameter own is the argument
// override_during of the block with the value, and around is the same argument of the block around that block. If own
// is not set, around applies.
func known(own, around testfile.During) bool {
	if own == testfile.Inherited {
		own = around
	}
	return own == testfile.DuringPlan
}

// overrides evaluates the overrides of resources. It leaves out overrides of modules.
func (e *evaluation) overrides(list []*testfile.Override, around testfile.During) (out []override) {
	for _, o := range list {
		if o.Mode == 0 {
			continue
		}
		given := e.object(o.Values, o.Mode, "the values of "+o.Target.String())
		e.attributes(o, given)
		out = append(out, override{o.Mode, o.Target, mock.Answer{Given: given, Known: known(o.During, around), At: o.Range}})
	}
	return out
}

// declared returns a resource of a configuration and its module, or nil if they do not exist.
func declared(tree *config.Tree, r addr.Resource) (n *config.Node, of *config.Resource) {
	if n = node(tree, r.Module); n != nil {
		list := n.Module.Resources
		if r.Mode == addr.Action {
			list = n.Module.Actions
		}
		of = list[config.Name{Mode: r.Mode, Type: r.Type, Name: r.Name}]
	}
	return n, of
}

// doubles provides the mocks and overrides of a run in place of providers. The engine uses it as its
// provider.Substitutes.
type doubles struct {
	mocks     map[addr.ProviderConfig]*mocked
	overrides []override // the overrides of the run and of the file
	leases    *leaseLog
}

var _ provider.Substitutes = (*doubles)(nil)

// mocked is an evaluated mock, which replaces a provider configuration.
type mocked struct {
	provider  *mock.Provider
	defaults  map[ofType]mock.Answer
	overrides []override // the overrides of the run, of the file and of the mock
}

type ofType struct {
	mode addr.Mode
	name string
}

// override is the answer to use for the objects that its target contains.
type override struct {
	mode   addr.Mode
	target addr.Target
	answer mock.Answer
}

func (o override) of() addr.Target { return o.target }

// Configuration returns the mock that replaces a provider configuration, or nil if the real provider serves it.
func (d *doubles) Configuration(config addr.ProviderInstance) provider.Provider {
	if m := d.mocks[config.ProviderConfig]; m != nil {
		return m.provider
	}
	return nil
}

// Object returns the provider that serves one object: an override in preference to a mock, or p if neither exists. The
// calls for a lease are also recorded.
func (d *doubles) Object(i addr.Instance, p provider.Provider) provider.Provider {
	p = d.double(i, p)
	if i.Mode == addr.Ephemeral {
		return &watched{p, i, d.leases}
	}
	return p
}

func (d *doubles) double(i addr.Instance, p provider.Provider) provider.Provider {
	var of *mocked
	for _, m := range d.mocks {
		if provider.Provider(m.provider) == p {
			of = m
		}
	}
	list := d.overrides
	if of != nil {
		list = of.overrides
	}
	for _, o := range list {
		if o.mode == i.Mode && o.target.Contains(i) {
			return &mock.Object{Provider: p, Of: i, Answer: o.answer}
		}
	}
	if of != nil {
		return &mock.Object{Provider: p, Of: i, Answer: of.defaults[ofType{i.Mode, i.Type}]}
	}
	return p
}
