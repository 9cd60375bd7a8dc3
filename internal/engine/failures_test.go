package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/provider/providertest"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/zclconf/go-cty/cty"
)

// frail launches providers in this process that fail at one call. The name of a call has the kind of the call and the
// name of the object: "Plan i0", "Configure x". The call fails each time, so that the order of calls does not matter.
type frail struct {
	fail string // the call that fails
	how  string // the kind of the failure, a key of faults

	mu      sync.Mutex
	started bool            // the plan or apply has begun; calls before, for constants, do not fail
	seen    map[string]bool // the names of the calls since started was set
}

// fault is the text of each failure.
const fault = "frail-fault-51c7"

// faults are the kinds of failures. In this process, a crash and a deadline differ from an error only in the
// diagnostic, and in that the effect of the call is unknown.
var faults = map[string]func() provider.Diags{
	"error": func() provider.Diags { return provider.Diags{diag.Errorf("Refused", fault)} },
	"crash": func() provider.Diags { return provider.Failed(errors.New(fault)) },
	"late": func() provider.Diags {
		return provider.Failed(fmt.Errorf("%s: %w", fault, &provider.DeadlineError{Name: "call", Limit: time.Second}))
	},
	"null": func() provider.Diags { return nil },
}

// hit records a call and reports whether the call fails, with the diagnostics of the failure.
func (f *frail) hit(call, key string) (provider.Diags, bool) {
	name := call + " " + key
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.started {
		return nil, false
	}
	f.seen[name] = true
	if name != f.fail {
		return nil, false
	}
	return faults[f.how](), true
}

var (
	frailItem = &schema.Schema{Block: &schema.Block{Attrs: []*schema.Attr{
		{Name: "id", Type: cty.String, Computed: true},
		{Name: "link", Type: cty.String, Optional: true},
		{Name: "name", Type: cty.String, Required: true},
		{Name: "secret", Type: cty.String, Optional: true, WriteOnly: true},
		{Name: "value", Type: cty.String, Computed: true},
	}}}
	frailRead = &schema.Schema{Block: &schema.Block{Attrs: []*schema.Attr{
		{Name: "link", Type: cty.String, Optional: true},
		{Name: "name", Type: cty.String, Required: true},
		{Name: "value", Type: cty.String, Computed: true},
	}}}
	frailSettings = &schema.Schema{Block: &schema.Block{Attrs: []*schema.Attr{
		{Name: "label", Type: cty.String, Optional: true},
		{Name: "link", Type: cty.String, Optional: true},
		{Name: "token", Type: cty.String, Optional: true},
	}}}
)

func describeFrail() (*provider.Schemas, provider.Diags) {
	s := provider.NewSchemas(frailSettings)
	s.Capabilities.PlanDestroy = true
	s.Add(addr.Managed, "frail_item", func() (*schema.Schema, error) { return frailItem, nil })
	s.Add(addr.Data, "frail_data", func() (*schema.Schema, error) { return frailRead, nil })
	s.Add(addr.Ephemeral, "frail_key", func() (*schema.Schema, error) { return frailRead, nil })
	s.Functions = map[string]*provider.Function{"echo": {Params: []provider.Param{{Name: "text", Type: cty.String}}, Return: cty.String}}
	return s, nil
}

// read decodes an object and returns it, with the text of its attribute attr.
func read(s *schema.Schema, d provider.Dynamic, attr string) (cty.Value, string) {
	v, err := s.Decode(d.Msgpack)
	if err != nil {
		panic(err)
	}
	if v.IsNull() || !v.GetAttr(attr).IsKnown() || v.GetAttr(attr).IsNull() {
		return v, ""
	}
	return v, v.GetAttr(attr).AsString()
}

// made returns an object with the attributes that the provider computes.
func made(s *schema.Schema, v cty.Value, computed cty.Value) provider.Dynamic {
	if v.IsNull() {
		b, _ := s.Encode(v)
		return provider.Dynamic{Msgpack: b}
	}
	attrs := v.AsValueMap()
	for _, a := range s.Attrs {
		switch {
		case a.WriteOnly:
			attrs[a.Name] = cty.NullVal(a.Type)
		case a.Computed && (attrs[a.Name].IsNull() || !attrs[a.Name].IsKnown()):
			attrs[a.Name] = computed
		}
	}
	b, err := s.Encode(cty.ObjectVal(attrs))
	if err != nil {
		panic(err)
	}
	return provider.Dynamic{Msgpack: b}
}

func (f *frail) Start(_ context.Context, a addr.Provider) (provider.Provider, error) {
	m := &providertest.Fake{Address: a, Describe: describeFrail}
	m.OnValidateConfig = func(_ context.Context, d provider.Dynamic) (provider.Dynamic, provider.Diags) {
		_, label := read(frailSettings, d, "label")
		ds, _ := f.hit("ValidateConfig", label)
		return d, ds
	}
	m.OnConfigure = func(_ context.Context, d provider.Dynamic, _ provider.Allow) provider.Diags {
		_, label := read(frailSettings, d, "label")
		ds, _ := f.hit("Configure", label)
		return ds
	}
	m.OnValidate = func(_ context.Context, mode addr.Mode, _ string, d provider.Dynamic) provider.Diags {
		s := frailRead
		if mode == addr.Managed {
			s = frailItem
		}
		_, name := read(s, d, "name")
		ds, _ := f.hit("Validate", name)
		return ds
	}
	m.OnUpgrade = func(_ context.Context, r provider.UpgradeRequest) (provider.UpgradeResponse, provider.Diags) {
		v, err := frailItem.DecodeJSON(r.JSON)
		if err != nil {
			panic(err)
		}
		if ds, hit := f.hit("Upgrade", v.GetAttr("name").AsString()); hit {
			return provider.UpgradeResponse{}, ds
		}
		return provider.UpgradeResponse{State: made(frailItem, v, cty.NilVal)}, nil
	}
	m.OnRead = func(_ context.Context, r provider.ReadRequest) (provider.ReadResponse, provider.Diags) {
		_, name := read(frailItem, r.State, "name")
		if ds, hit := f.hit("Read", name); hit {
			return provider.ReadResponse{}, ds
		}
		return provider.ReadResponse{State: r.State, Private: r.Private}, nil
	}
	m.OnPlan = func(_ context.Context, r provider.PlanRequest) (provider.PlanResponse, provider.Diags) {
		v, name := read(frailItem, r.Proposed, "name")
		if v.IsNull() {
			_, name = read(frailItem, r.Prior, "name")
			name += " to destroy"
		}
		if ds, hit := f.hit("Plan", name); hit {
			return provider.PlanResponse{}, ds
		}
		return provider.PlanResponse{Planned: made(frailItem, v, cty.UnknownVal(cty.String)), Private: r.Private}, nil
	}
	m.OnApply = func(_ context.Context, r provider.ApplyRequest) (provider.ApplyResponse, provider.Diags) {
		v, name := read(frailItem, r.Planned, "name")
		if v.IsNull() {
			_, name = read(frailItem, r.Prior, "name")
			name += " to destroy"
		}
		if ds, hit := f.hit("Apply", name); hit {
			return provider.ApplyResponse{Unanswered: f.how == "late"}, ds
		}
		return provider.ApplyResponse{State: made(frailItem, v, cty.StringVal("made of "+name)), Private: r.Private}, nil
	}
	m.OnImport = func(_ context.Context, r provider.ImportRequest) (provider.ImportResponse, provider.Diags) {
		if ds, hit := f.hit("Import", r.ID); hit {
			return provider.ImportResponse{Objects: []provider.Imported{{Type: r.Type}}}, ds
		}
		v := cty.ObjectVal(map[string]cty.Value{"id": cty.StringVal(r.ID), "link": cty.NullVal(cty.String), "name": cty.StringVal(r.ID), "secret": cty.NullVal(cty.String), "value": cty.StringVal("was there")})
		return provider.ImportResponse{Objects: []provider.Imported{{Type: r.Type, State: made(frailItem, v, cty.NilVal)}}}, nil
	}
	m.OnReadData = func(_ context.Context, r provider.DataRequest) (provider.DataResponse, provider.Diags) {
		v, name := read(frailRead, r.Config, "name")
		if ds, hit := f.hit("ReadData", name); hit {
			return provider.DataResponse{}, ds
		}
		return provider.DataResponse{State: made(frailRead, v, cty.StringVal("read of "+name))}, nil
	}
	m.OnOpen = func(_ context.Context, r provider.OpenRequest) (provider.OpenResponse, provider.Diags) {
		v, name := read(frailRead, r.Config, "name")
		if ds, hit := f.hit("Open", name); hit {
			return provider.OpenResponse{Unanswered: f.how == "late"}, ds
		}
		return provider.OpenResponse{Result: made(frailRead, v, cty.StringVal("a key that opens "+name)), Private: []byte(name)}, nil
	}
	m.OnCloseLease = func(_ context.Context, _ string, private []byte) provider.Diags {
		ds, _ := f.hit("Close", string(private))
		return ds
	}
	m.OnCall = func(_ context.Context, _ string, args []provider.Dynamic) (provider.Dynamic, error) {
		v, err := schema.Decode(args[0].Msgpack, cty.String)
		if err != nil {
			panic(err)
		}
		if _, hit := f.hit("Call", v.AsString()); hit {
			return provider.Dynamic{}, &provider.CallError{Text: fault, Arg: -1}
		}
		return args[0], nil
	}
	return m, nil
}

// stays reports whether try omits a kind of failure (a key of faults) for a call. It omits answers that are correct:
// for example, a null answer to Read means that the object no longer exists. It also omits failures whose consequence
// depends on the order of calls.
func stays(call, how string) bool {
	kind, _, _ := strings.Cut(call, " ")
	switch kind {
	case "ValidateConfig", "Configure", "Validate", "Close", "Read":
		return how == "null"
	case "Apply", "Plan":
		return how == "null" && strings.HasSuffix(call, " to destroy")
	case "Call":
		return how != "error" // after a crash or a deadline, later calls of the function fail, too, so the consequence depends on the order of calls
	}
	return false
}

// frailWorld is a configuration: its files, by path, and the text of its check blocks, which a run may omit. workers is
// the number of provider calls at the same time.
type frailWorld struct {
	t       *testing.T
	files   map[string]string
	checks  string
	workers int
}

// outcome is the result of a run.
type outcome struct {
	ok       bool
	reported []diag.Diagnostic
	plan     *plan.Plan
	state    *state.Snapshot
	called   map[string]bool // the names of the provider calls (see frail)
}

func (o *outcome) count(s diag.Severity, text string) int {
	n := 0
	for _, d := range o.reported {
		if d.Severity == s && strings.Contains(d.Summary+d.Detail, text) {
			n++
		}
	}
	return n
}

// run makes a plan, or, if the argument apply is a plan, applies this plan, with a provider that fails at the call
// f.fail.
func (w *frailWorld) run(f *frail, checks bool, from *state.Snapshot, mode plan.Mode, apply *plan.Plan) *outcome {
	w.t.Helper()
	f.seen, f.started = map[string]bool{}, false
	pool := provider.NewPool(f)
	defer pool.Close()
	one := &world{t: w.t, engine: &Engine{Settings: Settings{Pool: pool, Now: time.Now, Parallelism: w.workers}}, state: from}
	files := map[string]string{}
	for name, text := range w.files {
		files[name] = text
	}
	if checks {
		files["checks.tf"] = w.checks
	}
	prog := one.compile(files)
	f.started = true
	var bag diag.Bag
	out := &outcome{called: f.seen}
	o := frame.Options{Workspace: "default"}
	if apply == nil {
		r, ok := one.engine.Plan(context.Background(), Request{Program: prog, State: from, Refresh: true, Mode: mode, Options: o}, &bag)
		out.ok = ok
		if r != nil {
			out.plan = r.Plan
		}
	} else {
		o.Applying = true
		done, ok := one.engine.Apply(context.Background(), ApplyRequest{Program: prog, Plan: apply, Options: o}, &bag)
		out.ok = ok
		out.state, _ = state.Next(from, done.Snapshot, "test")
	}
	out.reported = bag.List()
	return out
}

// frailDraft collects the parts of a random configuration.
type frailDraft struct {
	r      *rand.Rand
	values []string // expressions of strings, to which later blocks may refer
	keys   []string // names of ephemeral resources
	n      int      // the number of names that were used so far
}

func (d *frailDraft) any(list ...string) string { return list[d.r.IntN(len(list))] }

// body returns the arguments that resources, data sources and ephemeral resources have in common.
func (d *frailDraft) body(name, providers, values string) string {
	out := fmt.Sprintf("  name = %q\n", name)
	if p := d.any(strings.Split(providers, " ")...); p != "frail" {
		out += "  provider = " + p + "\n"
	}
	if values != "" && d.r.IntN(2) == 0 {
		out += "  link = " + values + "\n"
	}
	return out
}

func (d *frailDraft) name(prefix string) string {
	d.n++
	return fmt.Sprintf("%s%d", prefix, d.n)
}

const frailHead = `
terraform {
  required_providers {
    frail = { source = "acme/frail" }
  }
}
`

func draftFrail(t *testing.T, seed uint64) *frailWorld {
	d := &frailDraft{r: rand.New(rand.NewPCG(seed, 41)), values: []string{`"text"`}}
	root, checks, module := frailHead, "", frailHead+"variable \"in\" {\n  default = \"\"\n}\n"
	for range d.r.IntN(3) {
		name := d.name("k")
		root += fmt.Sprintf("ephemeral \"frail_key\" %q {\n%s}\n", name, d.body(name, "frail frail.z", ""))
		d.keys = append(d.keys, name)
	}
	for range 1 + d.r.IntN(2) {
		name := d.name("d")
		root += fmt.Sprintf("data \"frail_data\" %q {\n%s}\n", name, d.body(name, "frail frail.z", d.any(d.values...)))
		d.values = append(d.values, "data.frail_data."+name+".value")
	}
	d.values = append(d.values[1:], `provider::frail::echo("f1")`, `provider::frail::x::echo("f2")`)
	token, link := "", ""
	if len(d.keys) > 0 && d.r.IntN(2) == 0 {
		token = "  token = ephemeral.frail_key." + d.any(d.keys...) + ".value\n"
	}
	if d.r.IntN(3) == 0 {
		link = "  link = " + d.values[0] + "\n"
	}
	root += "provider \"frail\" {\n  label = \"main\"\n}\nprovider \"frail\" {\n  alias = \"x\"\n  label = \"x\"\n" + token + link +
		"}\nprovider \"frail\" {\n  alias = \"y\"\n  label = \"y\"\n}\nprovider \"frail\" {\n  alias = \"z\"\n  label = \"z\"\n}\n"
	for range 1 + d.r.IntN(4) {
		name := d.name("i")
		body := d.body(name, "frail frail.x frail.y", d.any(d.values...))
		if len(d.keys) > 0 && d.r.IntN(3) == 0 {
			body += "  secret = ephemeral.frail_key." + d.any(d.keys...) + ".value\n"
		}
		root += fmt.Sprintf("resource \"frail_item\" %q {\n%s}\n", name, body)
		if d.r.IntN(4) == 0 {
			root += fmt.Sprintf("import {\n  to = frail_item.%s\n  id = %q\n}\n", name, name)
		}
		d.values = append(d.values, "frail_item."+name+".value")
	}
	if d.r.IntN(2) == 0 {
		name := d.name("mi")
		module += fmt.Sprintf("resource \"frail_item\" %q {\n%s  link = var.in\n}\ndata \"frail_data\" %[1]q {\n  name = \"of %[1]s\"\n}\noutput \"out\" {\n  value = data.frail_data.%[1]s.value\n}\n", name, fmt.Sprintf("  name = %q\n", name))
		root += fmt.Sprintf("module \"m\" {\n  source = \"./m\"\n  in = %s\n  providers = { frail = %s }\n}\n", d.any(d.values...), d.any("frail", "frail.x", "frail.y"))
		d.values = append(d.values, "module.m.out")
	}
	root += "variable \"other\" {\n  default = \"other\"\n}\noutput \"o\" {\n  value = " + d.any(d.values...) + "\n}\n"
	for range 1 + d.r.IntN(2) {
		name, tested := d.name("c"), d.any(d.values...)
		checks += fmt.Sprintf("check %q {\n", name)
		switch body := d.body(name, "frail frail.x frail.y frail.z", d.any(d.values...)); d.r.IntN(4) {
		case 0:
			checks += fmt.Sprintf("  data \"frail_data\" %q {\n%s  }\n", name, body)
			tested = "data.frail_data." + name + ".value"
		case 1:
			checks += fmt.Sprintf("  ephemeral \"frail_key\" %q {\n%s  }\n", name, body)
			tested = "ephemeral.frail_key." + name + ".value"
		case 2:
			if len(d.keys) > 0 {
				tested = "ephemeral.frail_key." + d.any(d.keys...) + ".value"
			}
		}
		checks += fmt.Sprintf("  assert {\n    condition = %s != var.other\n    error_message = \"no\"\n  }\n}\n", tested)
	}
	return &frailWorld{t: t, files: map[string]string{"main.tf": root, "m/main.tf": module}, checks: checks, workers: 1 + 9*d.r.IntN(2)}
}

// changes lists the changes of a plan, except for data sources in check blocks.
func changes(p *plan.Plan) string {
	var out []string
	for line := range strings.SplitSeq(actions(p), "\n") {
		if !strings.Contains(line, "data.frail_data.c") {
			out = append(out, line)
		}
	}
	return strings.Join(out, "\n")
}

// try makes each call of a run fail in each way of faults, one call in each run, except for the combinations for which
// stays or rarely returns true. If anything besides a check block needs the call, the run must fail and report the
// fault once. Otherwise the fault must be a warning, and the rest of the run must succeed.
func (w *frailWorld) try(what string, from *state.Snapshot, mode plan.Mode, apply, plain *plan.Plan, rarely func() bool) {
	w.t.Helper()
	whole := w.run(&frail{}, true, from, mode, apply)
	without := w.run(&frail{}, false, from, mode, plain)
	if !whole.ok || !without.ok {
		w.t.Fatalf("%s: %v\n%v\n%s\n%s", what, whole.reported, without.reported, w.files["main.tf"], w.checks)
	}
	for _, call := range slices.Sorted(maps.Keys(whole.called)) {
		for _, how := range slices.Sorted(maps.Keys(faults)) {
			if stays(call, how) || rarely() {
				continue
			}
			got := w.run(&frail{fail: call, how: how}, true, from, mode, apply)
			complain := func(format string, a ...any) {
				w.t.Errorf("%s, %s of %q, %d at once: %s\nok %v: %v\n%s\n%s\n%s", what, how, call, w.workers, fmt.Sprintf(format, a...), got.ok, got.reported, w.files["main.tf"], w.files["m/main.tf"], w.checks)
			}
			errors, warnings := got.count(diag.Error, ""), got.count(diag.Warning, "")
			if got.count(diag.Error, "without a message") > 0 {
				complain("the reason is lost")
			}
			closing, calling := strings.HasPrefix(call, "Close "), strings.HasPrefix(call, "Call ")
			n := got.count(diag.Error, fault) + got.count(diag.Warning, fault)
			many := closing || calling // an ephemeral resource that stays open is reported a second time, and a function may be called in several places
			if how != "null" && (n == 0 || n > 1 && !many) {
				complain("the fault is reported %d times", n)
			}
			needed := closing || without.called[call]
			if key, is := strings.CutPrefix(call, "Validate k"); is { // an ephemeral resource is validated separately only if it is not opened
				needed = without.called["Open k"+key] || !whole.called["Open k"+key]
			}
			if mode == plan.Destroy && strings.HasPrefix(call, "ReadData ") { // a destroy uses the stored result of the data source
				needed = false
			}
			switch {
			case needed && (got.ok || errors == 0 || got.plan != nil && (!got.plan.Errored || got.plan.Complete)):
				complain("passed over")
			case needed:
			case !got.ok || errors > 0 || warnings == 0:
				complain("not a warning")
			case got.plan != nil && changes(got.plan) != changes(whole.plan):
				complain("planned %s; want %s", changes(got.plan), changes(whole.plan))
			case got.state != nil && got.state.Len() < without.state.Len():
				complain("%d objects; want %d", got.state.Len(), without.state.Len())
			}
		}
	}
}

// No failure of a provider is silent. At every call of random configurations, an error, a crash, a late answer and an
// empty answer make the command fail, or are warnings if only a check block made the call. Without LETHE_LONG, it tests
// a quarter of these combinations, chosen by chance.
func TestNoFailureIsSilent(t *testing.T) {
	n, share := uint64(12), 4
	if os.Getenv("LETHE_LONG") != "" {
		n, share = 150, 1
	}
	for seed := range n {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w, chance := draftFrail(t, seed), rand.New(rand.NewPCG(seed, 42))
			rarely := func() bool { return chance.IntN(share) != 0 }
			none := &state.Snapshot{}
			w.try("plan", none, plan.Normal, nil, nil, rarely)
			first, plain := w.run(&frail{}, true, none, plan.Normal, nil).plan, w.run(&frail{}, false, none, plan.Normal, nil).plan
			w.try("apply", none, plan.Normal, first, plain, rarely)
			existing := w.run(&frail{}, true, none, plan.Normal, first).state
			w.try("second plan", existing, plan.Normal, nil, nil, rarely)
			w.try("refresh-only plan", existing, plan.RefreshOnly, nil, nil, rarely)
			w.try("plan to destroy", existing, plan.Destroy, nil, nil, rarely)
			end := w.run(&frail{}, true, existing, plan.Destroy, nil).plan
			w.try("destroying", existing, plan.Destroy, end, end, rarely)
		})
	}
}
