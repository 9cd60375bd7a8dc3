// Package world plans and applies configurations against a fake provider, for tests of packages planning and applying.
package world

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/applying"
	"github.com/lethe-iac/lethe/internal/engine/enginetest"
	"github.com/lethe-iac/lethe/internal/engine/planning"
	"github.com/lethe-iac/lethe/internal/engine/run"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/lang/vet"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/provider/providertest"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/secret"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/zclconf/go-cty/cty"
)

// World is a state with a fake provider of its objects. The resource type fake_thing has the attributes id, name and
// note. The provider sets id to "id-" and the name, and replaces an object whose name changes. The data source
// fake_data has the same attributes, and the id "data". Tests may replace OnPlan, OnApply and OnReadData.
type World struct {
	*testing.T
	*providertest.Fake
	Settings run.Settings
	State    *state.Snapshot
	Bag      *diag.Bag        // the diagnostics of the last run
	Result   *planning.Result // the result of the last plan

	log providertest.Log // the creates, updates, deletes and reads of data sources, with the names of the objects
}

var testObject = &schema.Schema{Block: &schema.Block{Attrs: []*schema.Attr{
	{Name: "id", Type: cty.String, Computed: true},
	{Name: "name", Type: cty.String, Optional: true},
	{Name: "note", Type: cty.String, Optional: true},
}}}

// New returns a world without objects.
func New(t *testing.T) *World {
	w := &World{T: t, State: &state.Snapshot{}}
	w.Fake = &providertest.Fake{Address: addr.Provider{Host: addr.DefaultHost, Namespace: "hashicorp", Type: "fake"}}
	w.Describe = func() (*provider.Schemas, provider.Diags) {
		s := provider.NewSchemas(&schema.Schema{Block: &schema.Block{}})
		s.Add(addr.Managed, "fake_thing", func() (*schema.Schema, error) { return testObject, nil })
		s.Add(addr.Data, "fake_data", func() (*schema.Schema, error) { return testObject, nil })
		return s, nil
	}
	w.OnPlan = func(_ context.Context, r provider.PlanRequest) (provider.PlanResponse, provider.Diags) {
		prior, next := w.Value(r.Prior), w.Value(r.Proposed)
		resp := provider.PlanResponse{}
		if prior.IsNull() {
			next = With(next, "id", cty.UnknownVal(cty.String))
		} else if !next.GetAttr("name").RawEquals(prior.GetAttr("name")) {
			resp.Replace = []cty.Path{cty.GetAttrPath("name")}
		}
		resp.Planned = w.Wire(next)
		return resp, nil
	}
	w.OnApply = func(_ context.Context, r provider.ApplyRequest) (provider.ApplyResponse, provider.Diags) {
		return w.Made(r), nil
	}
	w.OnReadData = func(_ context.Context, r provider.DataRequest) (provider.DataResponse, provider.Diags) {
		v := w.Value(r.Config)
		w.log.Note("read " + Text(v, "name"))
		return provider.DataResponse{State: w.Wire(With(v, "id", cty.StringVal("data")))}, nil
	}
	w.Settings = run.Settings{Pool: provider.NewPool(nil), Now: time.Now, Secrets: &secret.Set{}, Parallelism: 1}
	w.Settings.Pool.Builtin(w.Address, w.Fake)
	return w
}

// Made returns the successful answer to an apply request, and logs the change for Done.
func (w *World) Made(r provider.ApplyRequest) provider.ApplyResponse {
	prior, next := w.Value(r.Prior), w.Value(r.Planned)
	switch {
	case next.IsNull():
		w.log.Note("delete " + Text(prior, "name"))
		return provider.ApplyResponse{State: r.Planned}
	case prior.IsNull():
		w.log.Note("create " + Text(next, "name"))
		next = With(next, "id", cty.StringVal("id-"+Text(next, "name")))
	default:
		w.log.Note("update " + Text(next, "name"))
	}
	return provider.ApplyResponse{State: w.Wire(next)}
}

// Done returns the log lines of the changes and the reads of data sources since the last call of Done, such as "create
// a". Apply calls Done between the plan and the apply.
func (w *World) Done() string { return w.log.Drain() }

// Value decodes an object of fake_thing or fake_data from its MessagePack form. It panics if d is not such an object.
func (w *World) Value(d provider.Dynamic) cty.Value {
	v, err := testObject.Decode(d.Msgpack)
	if err != nil {
		panic(err)
	}
	return v
}

// Wire encodes an object of fake_thing or fake_data in its MessagePack form. It panics if v has other attributes.
func (w *World) Wire(v cty.Value) provider.Dynamic {
	b, err := testObject.Encode(v)
	if err != nil {
		panic(err)
	}
	return provider.Dynamic{Msgpack: b}
}

// With returns a copy of an object in which one attribute has another value. The object v must be known and not null.
func With(v cty.Value, name string, to cty.Value) cty.Value {
	attrs := v.AsValueMap()
	attrs[name] = to
	return cty.ObjectVal(attrs)
}

// Text returns the value of a string attribute of v, "?" if the attribute is unknown, or "" if it is null.
func Text(v cty.Value, name string) string {
	switch s := v.GetAttr(name); {
	case !s.IsKnown():
		return "?"
	case s.IsNull():
		return ""
	default:
		return s.AsString()
	}
}

// TestObject returns the configuration of a resource of the type fake_thing. The parameter more has further lines for
// the block.
func TestObject(name string, more ...string) string {
	return "resource \"fake_thing\" \"" + name + "\" {\n name = \"" + name + "\"\n " + strings.Join(more, "\n ") + "\n}\n"
}

// Has puts objects into the state, one for each address of a fake_thing. The attribute name of each object is the name
// in its address, its id is "id-" and this name, and its note is null.
func (w *World) Has(objects ...string) {
	w.Helper()
	edit := w.State.Edit()
	for _, o := range objects {
		i := enginetest.Instance(w, o)
		edit.Put(i.Current(), &state.Entry{
			Attrs:    fmt.Appendf(nil, `{"id":"id-%s","name":%q,"note":null}`, i.Name, i.Name),
			Provider: addr.ProviderInstance{ProviderConfig: addr.ProviderConfig{Provider: w.Address}},
		})
	}
	w.State = edit.Done()
}

// Change passes a copy of the state entry of an object to a function that changes it, and stores the result. The state
// must have the object.
func (w *World) Change(object string, change func(*state.Entry)) {
	w.Helper()
	o := enginetest.Instance(w, object).Current()
	e := *w.State.Get(o)
	change(&e)
	edit := w.State.Edit()
	edit.Put(o, &e)
	w.State = edit.Done()
}

// Module separates the text of the root module from the text of the module ./m in a configuration.
const Module = "# module m\n"

// Compile compiles and checks the configuration text. If the text contains Module, the rest is the module ./m. Errors
// end the test.
func (w *World) Compile(text string) *program.Program {
	w.Helper()
	root, inner, _ := strings.Cut(text, Module)
	p := enginetest.Program(w, map[string]string{"main.tf": root, "m/main.tf": inner})
	var bag diag.Bag
	if !vet.Check(p, w.Settings.Pool.Lookup(context.Background(), &bag), vet.CheckOptions{}, &bag) {
		w.Fatal(bag.List())
	}
	return p
}

func (w *World) env() run.Env { return run.Env{Settings: &w.Settings, Handover: &run.Handover{}} }

// Plan plans a configuration, with a refresh of the objects in the state. change, if not nil, changes the request. Plan
// keeps the diagnostics and the result in w. It returns false if the plan has errors. The plan may then be nil.
func (w *World) Plan(text string, change func(*planning.Request)) (*plan.Plan, bool) {
	w.Helper()
	req := planning.Request{Program: w.Compile(text), State: w.State, Refresh: true}
	if change != nil {
		change(&req)
	}
	w.Bag = &diag.Bag{}
	r, ok := planning.Plan(context.Background(), w.env(), req, w.Bag)
	if w.Result = r; r == nil {
		return nil, false
	}
	return r.Plan, ok
}

// Generate plans a configuration and writes resource blocks for its import targets. It returns false if the plan has
// errors.
func (w *World) Generate(text string) (*planning.Generated, bool) {
	w.Helper()
	w.Bag = &diag.Bag{}
	return planning.Generate(context.Background(), w.env(), planning.Request{Program: w.Compile(text), State: w.State, Refresh: true}, w.Bag)
}

// Plans plans a configuration, and fails the test unless the plan has exactly the changes in want, such as "create
// fake_thing.a", in the order of the plan. want does not contain unchanged objects. change, if not nil, changes the
// request. A plan with errors ends the test.
func (w *World) Plans(text string, change func(*planning.Request), want ...string) *plan.Plan {
	w.Helper()
	p, ok := w.Plan(text, change)
	if !ok {
		w.Fatal(w.Bag.List())
	}
	if got := Actions(p); !slices.Equal(got, want) {
		w.Errorf("%q, not %q", got, want)
	}
	return p
}

// Actions returns the changes of a plan, such as "create fake_thing.a", without unchanged objects.
func Actions(p *plan.Plan) []string {
	var out []string
	for _, c := range p.Changes {
		if c.Action != plan.NoOp {
			out = append(out, fmt.Sprintf("%s %s", c.Action, c.Object))
		}
	}
	return out
}

// Refuses fails the test unless planning fails with a diagnostic of this title.
func (w *World) Refuses(text string, change func(*planning.Request), title string) {
	w.Helper()
	if _, ok := w.Plan(text, change); ok || !w.Reports(title) {
		w.Errorf("%v: %v", ok, w.Bag.List())
	}
}

// Reports reports whether the last run had a diagnostic with this title.
func (w *World) Reports(title string) bool {
	return slices.ContainsFunc(w.Bag.List(), func(d diag.Diagnostic) bool { return d.Summary == title })
}

// Apply plans and applies a configuration, and keeps the new state in w. It returns the result, and false if the apply
// failed. A plan with errors ends the test. change changes the plan request, and also changes the apply request; both
// may be nil.
func (w *World) Apply(text string, change func(*planning.Request), also func(*applying.Request)) (*applying.Result, bool) {
	w.Helper()
	p, ok := w.Plan(text, change)
	if !ok {
		w.Fatal(w.Bag.List())
	}
	return w.Carry(text, p, also)
}

// Carry applies a plan of a configuration, and keeps the new state in w. It returns the result, and false if the apply
// failed. change changes the apply request; it may be nil.
func (w *World) Carry(text string, p *plan.Plan, change func(*applying.Request)) (*applying.Result, bool) {
	w.Helper()
	w.Done()
	req := applying.Request{Program: w.Compile(text), Plan: p}
	if change != nil {
		change(&req)
	}
	w.Bag = &diag.Bag{}
	r, ok := applying.Apply(context.Background(), w.env(), req, w.Bag)
	w.State = r.Snapshot
	return r, ok
}

// Objects returns the addresses of the objects in the state, sorted and separated by ", ". The text " (deposed)"
// follows the address of a deposed object. If the object is tainted, "!" follows.
func (w *World) Objects() string {
	var out []string
	for o, e := range w.State.Objects() {
		name := o.Instance.String()
		if o.IsDeposed() {
			name += " (deposed)"
		}
		if e.Tainted {
			name += "!"
		}
		out = append(out, name)
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}
