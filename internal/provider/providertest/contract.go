package providertest

import (
	"context"
	"errors"
	"iter"
	"reflect"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/provider"
)

// Run tests that a transport (see the package comment) passes requests, answers, errors, calls of Stop and the end of a
// context on unchanged, also for concurrent calls. Shutdown must succeed twice.
func Run(t *testing.T, c Contract) {
	t.Run("schemas", c.schemas)
	t.Run("requests", c.requests)
	t.Run("empty", c.empty)
	t.Run("diagnostics", c.diagnostics)
	t.Run("errors keep answers", c.errorsKeepAnswers)
	t.Run("lists", c.lists)
	t.Run("invocations", c.invocations)
	t.Run("deferred", c.deferred)
	t.Run("functions", c.functions)
	t.Run("stop", c.stop)
	t.Run("cancel", c.cancel)
	t.Run("concurrent", c.concurrent)
	t.Run("shutdown", c.shutdown)
}

// fill returns a struct in which each field that a provider receives (without the tag wire:"-") has a distinct value,
// so that the test notices lost and swapped fields.
func fill[T any]() T {
	var x T
	v := reflect.ValueOf(&x).Elem()
	for i := range v.NumField() {
		if v.Type().Field(i).Tag.Get("wire") == "-" {
			continue
		}
		name := v.Type().Field(i).Name
		var value any
		switch v.Field(i).Interface().(type) {
		case provider.Dynamic:
			value = provider.Dynamic{Msgpack: []byte("m:" + name), JSON: []byte("j:" + name)}
		case string:
			value = "s:" + name
		case []byte:
			value = []byte("\x00b:" + name)
		case int64:
			value = int64(100 + i)
		case bool:
			value = name != "Unanswered" // Unanswered stays false, because no provider sends it
		case provider.Allow:
			value = provider.Allow{Deferral: true}
		case provider.Deferred:
			value = provider.Deferred("absent_prereq")
		case time.Time:
			value = someTime
		case addr.Provider:
			value = someAddr
		case map[string]string:
			value = map[string]string{"a.#": "1", "a.0": "x"}
		case []cty.Path:
			value = []cty.Path{path(".tags", "a b", ".x"), path(".list", 3)}
		case []provider.Imported:
			value = []provider.Imported{fill[provider.Imported](), {Type: "other", State: Msgpack("\xc0")}}
		default:
			panic("no value for the field " + name)
		}
		v.Field(i).Set(reflect.ValueOf(value))
	}
	return x
}

// handler is the type of most functions of a Fake.
type handler[Q, A any] = func(context.Context, Q) (A, provider.Diags)

// carried tests one call: the request and the answer must arrive unchanged. far is the handler on the side of the
// provider, and near makes the call on p.
func carried[Q, A any](t *testing.T, p provider.Provider, far *handler[Q, A], near func(provider.Provider, context.Context, Q) (A, provider.Diags)) {
	t.Helper()
	var got Q
	request, answer := fill[Q](), fill[A]()
	said := provider.Diags{diag.Warningf("careful", "with %T", request)}
	*far = func(_ context.Context, q Q) (A, provider.Diags) { got = q; return answer, said }
	back, ds := near(p, context.Background(), request)
	equal(t, "request", got, request)
	equal(t, "answer", back, answer)
	equal(t, "diagnostics", ds, said)
}

func (c Contract) requests(t *testing.T) {
	far := &Fake{Address: someAddr}
	p := c.Open(t, far)
	carried(t, p, &far.OnUpgrade, provider.Provider.Upgrade)
	carried(t, p, &far.OnRead, provider.Provider.Read)
	carried(t, p, &far.OnPlan, provider.Provider.Plan)
	carried(t, p, &far.OnApply, provider.Provider.Apply)
	carried(t, p, &far.OnImport, provider.Provider.Import)
	carried(t, p, &far.OnMove, provider.Provider.Move)
	carried(t, p, &far.OnReadData, provider.Provider.ReadData)
	carried(t, p, &far.OnOpen, provider.Provider.Open)
	c.smallRequests(t)
}

// smallRequests tests the calls whose arguments are not a struct.
func (c Contract) smallRequests(t *testing.T) {
	ctx := context.Background()
	var got []any
	note := func(args ...any) { got = append(got, args...) }
	warn := provider.Diags{diag.Warningf("careful", "")}
	p := c.Open(t, &Fake{
		Address: someAddr,
		OnValidateConfig: func(_ context.Context, d provider.Dynamic) (provider.Dynamic, provider.Diags) {
			note("ValidateConfig", d)
			return d, warn
		},
		OnConfigure: func(_ context.Context, d provider.Dynamic, a provider.Allow) provider.Diags {
			note("Configure", d, a)
			return warn
		},
		OnValidate: func(_ context.Context, m addr.Mode, typ string, d provider.Dynamic) provider.Diags {
			note("Validate", m, typ, d)
			return warn
		},
		OnRenew: func(_ context.Context, typ string, private []byte) (provider.RenewResponse, provider.Diags) {
			note("Renew", typ, private)
			return fill[provider.RenewResponse](), warn
		},
		OnCloseLease: func(_ context.Context, typ string, private []byte) provider.Diags {
			note("CloseLease", typ, private)
			return warn
		},
		OnUpgradeIdentity: func(_ context.Context, typ string, version int64, json []byte) (provider.Dynamic, provider.Diags) {
			note("UpgradeIdentity", typ, version, json)
			return bothWays, warn
		},
	})
	equal(t, "Addr", p.Addr(), someAddr)
	prepared, ds := p.ValidateConfig(ctx, bothWays)
	equal(t, "ValidateConfig answer", prepared, bothWays)
	equal(t, "ValidateConfig diagnostics", ds, warn)
	equal(t, "Configure diagnostics", p.Configure(ctx, bothWays, provider.Allow{Deferral: true}), warn)
	for _, m := range []addr.Mode{addr.Managed, addr.Data, addr.Ephemeral, addr.List, addr.Action} {
		equal(t, "Validate diagnostics", p.Validate(ctx, m, "a_"+m.String(), bothWays), warn)
	}
	renewed, ds := p.Renew(ctx, "a_lease", secret)
	equal(t, "Renew answer", renewed, fill[provider.RenewResponse]())
	equal(t, "Renew diagnostics", ds, warn)
	equal(t, "CloseLease diagnostics", p.CloseLease(ctx, "a_lease", secret), warn)
	id, ds := p.UpgradeIdentity(ctx, "a_thing", 7, []byte(`{"id":1}`))
	equal(t, "UpgradeIdentity answer", id, bothWays)
	equal(t, "UpgradeIdentity diagnostics", ds, warn)
	equal(t, "requests", got, []any{
		"ValidateConfig", bothWays,
		"Configure", bothWays, provider.Allow{Deferral: true},
		"Validate", addr.Managed, "a_managed", bothWays,
		"Validate", addr.Data, "a_data", bothWays,
		"Validate", addr.Ephemeral, "a_ephemeral", bothWays,
		"Validate", addr.List, "a_list", bothWays,
		"Validate", addr.Action, "a_action", bothWays,
		"Renew", "a_lease", secret,
		"CloseLease", "a_lease", secret,
		"UpgradeIdentity", "a_thing", int64(7), []byte(`{"id":1}`),
	})
}

// empty checks that a field that was not sent is also empty on the other side.
func (c Contract) empty(t *testing.T) {
	ctx := context.Background()
	far := &Fake{
		OnRead: func(_ context.Context, r provider.ReadRequest) (provider.ReadResponse, provider.Diags) {
			equal(t, "Read request", r, provider.ReadRequest{Type: "x"})
			return provider.ReadResponse{}, nil
		},
		OnPlan: func(_ context.Context, r provider.PlanRequest) (provider.PlanResponse, provider.Diags) {
			equal(t, "Plan request", r, provider.PlanRequest{Type: "x", Prior: Msgpack("\xc0")})
			return provider.PlanResponse{}, nil
		},
		OnOpen: func(_ context.Context, r provider.OpenRequest) (provider.OpenResponse, provider.Diags) {
			return provider.OpenResponse{}, nil
		},
	}
	p := c.Open(t, far)
	read, ds := p.Read(ctx, provider.ReadRequest{Type: "x"})
	equal(t, "Read answer", read, provider.ReadResponse{})
	if ds != nil || read.State.Msgpack != nil || read.State.JSON != nil || read.Private != nil {
		t.Errorf("something came of nothing: %#v, %v", read, ds)
	}
	plan, _ := p.Plan(ctx, provider.PlanRequest{Type: "x", Prior: Msgpack("\xc0")})
	equal(t, "Plan answer", plan, provider.PlanResponse{})
	open, _ := p.Open(ctx, provider.OpenRequest{Type: "x"})
	if !open.RenewAt.IsZero() {
		t.Errorf("a lease that is never renewed is to be renewed at %s", open.RenewAt)
	}
}

func (c Contract) diagnostics(t *testing.T) {
	want := provider.Diags{
		{Severity: diag.Error, Summary: "first", Detail: "two\nlines", Path: path(".network", 0, ".tags", "a.b", ".x")},
		{Severity: diag.Warning, Summary: "second"},
		{Severity: diag.Error, Summary: "first", Path: path(".n", -3)},
	}
	p := c.Open(t, &Fake{OnValidate: func(context.Context, addr.Mode, string, provider.Dynamic) provider.Diags { return want }})
	ds := p.Validate(context.Background(), addr.Managed, "x", bothWays)
	equal(t, "diagnostics", ds, want)
	if !ds.HasErrors() || ds[1:2].HasErrors() {
		t.Error("severities are mixed up")
	}
}

// errorsKeepAnswers checks that the partial answer of a failed call arrives.
func (c Contract) errorsKeepAnswers(t *testing.T) {
	fail := provider.Diags{diag.Errorf("failed", "half way")}
	p := c.Open(t, &Fake{
		OnApply: func(context.Context, provider.ApplyRequest) (provider.ApplyResponse, provider.Diags) {
			return fill[provider.ApplyResponse](), fail
		},
		OnOpen: func(context.Context, provider.OpenRequest) (provider.OpenResponse, provider.Diags) {
			return fill[provider.OpenResponse](), fail
		},
	})
	applied, ds := p.Apply(context.Background(), provider.ApplyRequest{Type: "x"})
	equal(t, "Apply answer", applied, fill[provider.ApplyResponse]())
	equal(t, "Apply diagnostics", ds, fail)
	opened, ds := p.Open(context.Background(), provider.OpenRequest{Type: "x"})
	equal(t, "Open answer", opened, fill[provider.OpenResponse]())
	equal(t, "Open diagnostics", ds, fail)
}

// lists checks that all answers to a search arrive in order, that the caller can end a search early, and that it can
// cancel a search.
func (c Contract) lists(t *testing.T) {
	warn := provider.Diags{diag.Warningf("careful", "")}
	one := fill[provider.Listed]()
	ended := make(chan error, 1)
	p := c.Open(t, &Fake{OnList: func(ctx context.Context, r provider.ListRequest) iter.Seq2[provider.Listed, provider.Diags] {
		return func(yield func(provider.Listed, provider.Diags) bool) {
			if r.Type == "endless" {
				for yield(one, nil) && ctx.Err() == nil {
				}
				ended <- ctx.Err()
				return
			}
			equal(t, "List request", r, fill[provider.ListRequest]())
			for i := range 3 {
				yield(provider.Listed{Name: strconv.Itoa(i)}, nil)
			}
			yield(one, warn)
		}
	}})
	var names []string
	for found, ds := range p.List(context.Background(), fill[provider.ListRequest]()) {
		names = append(names, found.Name)
		if len(names) == 4 {
			equal(t, "List answer", found, one)
			equal(t, "List diagnostics", ds, warn)
		}
	}
	equal(t, "names", names, []string{"0", "1", "2", one.Name})
	n := 0
	for range p.List(context.Background(), provider.ListRequest{Type: "endless"}) {
		if n++; n == 100 {
			break
		}
	}
	<-ended
	ctx, cancel := context.WithCancel(context.Background())
	n = 0
	for range p.List(ctx, provider.ListRequest{Type: "endless"}) {
		if n++; n == 100 {
			cancel()
		}
	}
	cancel()
	<-ended
}

// invocations checks that the plan of an invocation arrives, that all answers to the invocation arrive in order, and
// that the last has the errors.
func (c Contract) invocations(t *testing.T) {
	fail := provider.Diags{diag.Errorf("failed", "half way")}
	p := c.Open(t, &Fake{Functions: Functions{OnPlanAction: func(_ context.Context, r provider.ActionRequest) (provider.Deferred, provider.Diags) {
		equal(t, "PlanAction request", r, provider.ActionRequest{Type: "x", Config: bothWays, Allow: provider.Allow{Deferral: true}})
		return "absent_prereq", fail
	}, OnInvoke: func(_ context.Context, r provider.ActionRequest) iter.Seq2[provider.Invoked, provider.Diags] {
		return func(yield func(provider.Invoked, provider.Diags) bool) {
			equal(t, "Invoke request", r.Config, bothWays)
			_ = yield(provider.Invoked{Progress: "one"}, nil) && yield(provider.Invoked{Progress: "two"}, nil) && yield(provider.Invoked{Ended: true}, fail)
		}
	}}})
	why, ds := p.PlanAction(context.Background(), provider.ActionRequest{Type: "x", Config: bothWays, Allow: provider.Allow{Deferral: true}})
	equal(t, "PlanAction answer", why, provider.Deferred("absent_prereq"))
	equal(t, "PlanAction diagnostics", ds, fail)
	var got []provider.Invoked
	var last provider.Diags
	for x, ds := range p.Invoke(context.Background(), provider.ActionRequest{Type: "x", Config: bothWays}) {
		got, last = append(got, x), ds
	}
	equal(t, "answers", got, []provider.Invoked{{Progress: "one"}, {Progress: "two"}, {Ended: true}})
	equal(t, "diagnostics", last, fail)
}

func (c Contract) deferred(t *testing.T) {
	for _, reason := range []provider.Deferred{"", "resource_config_unknown", "provider_config_unknown", "absent_prereq", "unknown"} {
		var allowed provider.Allow
		p := c.Open(t, &Fake{OnReadData: func(_ context.Context, r provider.DataRequest) (provider.DataResponse, provider.Diags) {
			allowed = r.Allow
			return provider.DataResponse{Deferred: reason}, nil
		}})
		allow := provider.Allow{Deferral: reason != ""}
		got, _ := p.ReadData(context.Background(), provider.DataRequest{Type: "x", Allow: allow})
		if got.Deferred != reason || allowed != allow {
			t.Errorf("reason %q (allowed %v) arrived as %q (allowed %v)", reason, allow, got.Deferred, allowed)
		}
	}
}

func (c Contract) functions(t *testing.T) {
	ctx := context.Background()
	var fail error
	more := map[string]*provider.Function{"more": {
		Params: []provider.Param{{Name: "a", Type: cty.String, AllowNull: true}}, Variadic: &provider.Param{Name: "b", Type: cty.Number}, Return: cty.Bool, Summary: "More",
	}}
	p := c.Open(t, &Fake{Functions: Functions{OnFunctions: func(context.Context) (map[string]*provider.Function, provider.Diags) {
		return more, provider.Diags{diag.Warningf("Careful", "These are new.")}
	}, OnCall: func(_ context.Context, name string, args []provider.Dynamic) (provider.Dynamic, error) {
		if fail != nil {
			return provider.Dynamic{}, fail
		}
		equal(t, "function", name, "reverse")
		return args[len(args)-1], nil
	}}})
	listed, ds := p.ConfiguredFunctions(ctx)
	equal(t, "functions", listed, more)
	equal(t, "diagnostics", ds, provider.Diags{diag.Warningf("Careful", "These are new.")})
	got, err := p.Call(ctx, "reverse", []provider.Dynamic{Msgpack("a"), {}, bothWays})
	equal(t, "result", got, bothWays)
	if err != nil {
		t.Error(err)
	}
	for _, want := range []*provider.CallError{
		{Text: "no argument's fault", Arg: -1}, {Text: "the first's"}, {Text: "the second's", Arg: 1},
	} {
		fail = want
		_, err := p.Call(ctx, "reverse", []provider.Dynamic{Msgpack("a"), Msgpack("b")})
		var complaint *provider.CallError
		if !errors.As(err, &complaint) || *complaint != *want {
			t.Errorf("%#v arrived as %#v", want, err)
		}
	}
}

func (c Contract) stop(t *testing.T) {
	var fail error
	far := &Fake{Ends: Ends{OnStop: func(context.Context) error { return fail }}}
	p := c.Open(t, far)
	if err := p.Stop(context.Background()); err != nil || far.Count("Stop") != 1 {
		t.Errorf("Stop: %v, %d calls", err, far.Count("Stop"))
	}
	fail = errors.New("cannot stop")
	if err := p.Stop(context.Background()); err == nil || err.Error() != "cannot stop" {
		t.Errorf("Stop: %v", err)
	}
}

// cancel checks that a call ends with an error when its context ends, and that the context of the provider ends, too.
func (c Contract) cancel(t *testing.T) {
	began, heard := make(chan struct{}), make(chan struct{})
	p := c.Open(t, &Fake{OnRead: func(ctx context.Context, _ provider.ReadRequest) (provider.ReadResponse, provider.Diags) {
		close(began)
		<-ctx.Done()
		close(heard)
		return provider.ReadResponse{}, provider.Diags{diag.Errorf("Request cancelled", "")}
	}})
	ctx, cancel := context.WithCancel(context.Background())
	go func() { <-began; cancel() }()
	_, ds := p.Read(ctx, provider.ReadRequest{Type: "x"})
	if len(ds) != 1 || ds[0].Summary != "Request cancelled" {
		t.Errorf("got %v", ds)
	}
	<-heard
}

func (c Contract) concurrent(t *testing.T) {
	p := c.Open(t, &Fake{})
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			want := Msgpack(string(rune('a' + i)))
			for range 10 {
				got, ds := p.Read(context.Background(), provider.ReadRequest{Type: "x", State: want})
				if ds != nil || string(got.State.Msgpack) != string(want.Msgpack) {
					t.Errorf("asked for %v, got %v, %v", want, got.State, ds)
				}
			}
		})
	}
	wg.Wait()
}

func (c Contract) shutdown(t *testing.T) {
	p := c.Open(t, &Fake{})
	for range 2 {
		if err := p.Shutdown(); err != nil {
			t.Error(err)
		}
	}
}
