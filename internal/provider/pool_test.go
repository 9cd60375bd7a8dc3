package provider_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/provider/providertest"
	"github.com/lethe-iac/lethe/internal/schema"
)

var (
	one = addr.Provider{Host: addr.DefaultHost, Namespace: "acme", Type: "one"}
	two = addr.Provider{Host: addr.DefaultHost, Namespace: "acme", Type: "two"}
	bg  = context.Background()
)

// stage is a provider.Launcher whose processes are fakes. It keeps the fakes, in the order of their starts.
type stage struct {
	before func(ctx context.Context) error // is called in each start of a provider
	make   func() *providertest.Fake       // makes the provider of a process; nil makes a default fake

	mu    sync.Mutex
	fakes []*providertest.Fake
}

func (s *stage) Start(ctx context.Context, a addr.Provider) (provider.Provider, error) {
	if s.before != nil {
		if err := s.before(ctx); err != nil {
			return nil, err
		}
	}
	f := &providertest.Fake{}
	if s.make != nil {
		f = s.make()
	}
	f.Address = a
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fakes = append(s.fakes, f)
	return f, nil
}

func (s *stage) started() []*providertest.Fake {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*providertest.Fake(nil), s.fakes...)
}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func validate(t *testing.T, p provider.Provider) {
	t.Helper()
	if ds := p.Validate(bg, addr.Managed, "x", provider.Dynamic{}); ds != nil {
		t.Fatal(ds)
	}
}

// TestOneProcessPerConfiguration checks that one process answers all calls without settings, from any number of
// callers. The first session uses that process, and each further session starts a process.
func TestOneProcessPerConfiguration(t *testing.T) {
	s := &stage{}
	pool := provider.NewPool(s)
	defer pool.Close()
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			p, err := pool.Idle(bg, one)
			if err != nil {
				t.Error(err)
				return
			}
			p.Validate(bg, addr.Managed, "x", provider.Dynamic{})
			pool.Schemas(bg, one)
		})
	}
	wg.Wait()
	if n := len(s.started()); n != 1 {
		t.Fatalf("%d processes", n)
	}
	first := must[provider.Provider](t)(pool.Session(bg, one))
	if n := len(s.started()); n != 1 || first != provider.Provider(s.started()[0]) {
		t.Fatalf("the first session has a process of its own: %d", n)
	}
	second := must[provider.Provider](t)(pool.Session(bg, one))
	if n := len(s.started()); n != 2 || second == first {
		t.Fatalf("the second session shares the first's process: %d", n)
	}
	must[provider.Provider](t)(pool.Session(bg, two))
	if n := len(s.started()); n != 3 {
		t.Fatalf("another provider shares a process: %d", n)
	}
	validate(t, must[provider.Provider](t)(pool.Idle(bg, one)))
	if n := s.started()[0].Count("Validate managed x"); n != 21 || len(s.started()) != 3 {
		t.Errorf("%d validations by the first process, %d processes", n, len(s.started()))
	}
}

// TestSessionsAtOnce checks that sessions requested at the same time get one process each.
func TestSessionsAtOnce(t *testing.T) {
	s := &stage{}
	pool := provider.NewPool(s)
	defer pool.Close()
	got := make([]provider.Provider, 10)
	var wg sync.WaitGroup
	for i := range got {
		wg.Go(func() { got[i], _ = pool.Session(bg, one) })
	}
	wg.Wait()
	seen := map[provider.Provider]bool{}
	for _, p := range got {
		seen[p] = true
	}
	if len(seen) != len(got) || len(s.started()) != len(got) || seen[nil] {
		t.Errorf("%d sessions have %d processes of %d", len(got), len(seen), len(s.started()))
	}
}

// TestReleaseOfShared checks that Idle continues to work after the session whose process it used has ended.
func TestReleaseOfShared(t *testing.T) {
	s := &stage{}
	pool := provider.NewPool(s)
	defer pool.Close()
	idle := must[provider.Provider](t)(pool.Idle(bg, one))
	first := must[provider.Provider](t)(pool.Session(bg, one))
	second := must[provider.Provider](t)(pool.Session(bg, one))
	pool.Release(first)
	validate(t, idle)
	if f := s.started(); len(f) != 2 || f[0].Count("Shutdown") != 1 || f[1].Count("Validate managed x") != 1 {
		t.Fatalf("%d processes; the first %v, the second %v", len(f), f[0].Calls(), f[1].Calls())
	}
	pool.Release(second)
	pool.Release(second) // a second Release of a session has no effect
	validate(t, idle)
	if f := s.started(); len(f) != 3 || f[1].Count("Shutdown") != 1 || f[2].Count("Validate managed x") != 1 {
		t.Fatalf("%d processes", len(f))
	}
	if must[provider.Provider](t)(pool.Session(bg, one)) != provider.Provider(s.started()[2]) {
		t.Error("the session does not take over the new process")
	}
}

// TestReleaseWaitsForCalls checks that Release waits for the calls in progress.
func TestReleaseWaitsForCalls(t *testing.T) {
	began, end := make(chan struct{}), make(chan struct{})
	var down atomic.Bool
	s := &stage{make: func() *providertest.Fake {
		return &providertest.Fake{
			OnValidate: func(context.Context, addr.Mode, string, provider.Dynamic) provider.Diags {
				close(began)
				<-end
				if down.Load() {
					return provider.Diags{diag.Errorf("shut down in the middle", "")}
				}
				return nil
			},
			Ends: providertest.Ends{OnShutdown: func() error { down.Store(true); return nil }},
		}
	}}
	pool := provider.NewPool(s)
	defer pool.Close()
	idle := must[provider.Provider](t)(pool.Idle(bg, one))
	session := must[provider.Provider](t)(pool.Session(bg, one))
	done := make(chan provider.Diags)
	go func() { done <- idle.Validate(bg, addr.Managed, "x", provider.Dynamic{}) }()
	<-began
	time.AfterFunc(20*time.Millisecond, func() { close(end) })
	pool.Release(session)
	if ds := <-done; ds != nil {
		t.Error(ds)
	}
	if !down.Load() {
		t.Error("the process runs")
	}
}

// TestIdleHasNoSettings checks that Idle refuses calls that need a session.
func TestIdleHasNoSettings(t *testing.T) {
	s := &stage{}
	pool := provider.NewPool(s)
	defer pool.Close()
	p := must[provider.Provider](t)(pool.Idle(bg, one))
	var got []provider.Diags
	add := func(_ any, ds provider.Diags) { got = append(got, ds) }
	got = append(got, p.Configure(bg, provider.Dynamic{}, provider.Allow{}), p.CloseLease(bg, "x", nil))
	add(p.Read(bg, provider.ReadRequest{}))
	add(p.Plan(bg, provider.PlanRequest{}))
	add(p.Apply(bg, provider.ApplyRequest{}))
	add(p.Import(bg, provider.ImportRequest{}))
	add(p.ReadData(bg, provider.DataRequest{}))
	add(p.Open(bg, provider.OpenRequest{}))
	add(p.Renew(bg, "x", nil))
	for i, ds := range got {
		if len(ds) != 1 || ds[0].Summary != "Provider not configured" || !strings.Contains(ds[0].Detail, one.String()) {
			t.Errorf("call %d: %v", i, ds)
		}
	}
	if calls := s.started()[0].Calls(); len(calls) != 0 {
		t.Errorf("the process saw %v", calls)
	}
	if p.Shutdown() != nil || s.started()[0].Count("Shutdown") != 0 {
		t.Error("the process was shut down")
	}
}

// TestIdleCalls checks that the provider of Idle forwards calls that need no settings, and returns their answers.
func TestIdleCalls(t *testing.T) {
	s := &stage{}
	pool := provider.NewPool(s)
	defer pool.Close()
	p := must[provider.Provider](t)(pool.Idle(bg, one))
	if p.Addr() != one {
		t.Error(p.Addr())
	}
	want := providertest.Msgpack("v")
	if got, ds := p.ValidateConfig(bg, want); ds != nil || string(got.Msgpack) != "v" {
		t.Error(got, ds)
	}
	if got, ds := p.Upgrade(bg, provider.UpgradeRequest{Type: "x", JSON: []byte("{}")}); ds != nil || string(got.State.JSON) != "{}" {
		t.Error(got, ds)
	}
	if got, ds := p.Move(bg, provider.MoveRequest{Type: "x", SourceJSON: []byte("{}")}); ds != nil || string(got.State.JSON) != "{}" {
		t.Error(got, ds)
	}
	if got, ds := p.UpgradeIdentity(bg, "x", 1, []byte("{}")); ds != nil || string(got.JSON) != "{}" {
		t.Error(got, ds)
	}
	if got, err := p.Call(bg, "f", []provider.Dynamic{want}); err != nil || string(got.Msgpack) != "v" {
		t.Error(got, err)
	}
	if sch, ds := p.Schemas(bg); sch == nil || ds != nil {
		t.Error(sch, ds)
	}
	if err := p.Stop(bg); err != nil || s.started()[0].Count("Stop") != 1 {
		t.Error(err, s.started()[0].Calls())
	}
}

// primer is a provider that counts calls of Prime.
type primer struct {
	*providertest.Fake
	primed atomic.Int32
}

func (p *primer) Prime(context.Context) provider.Diags { p.primed.Add(1); return nil }

type launcher func(context.Context, addr.Provider) (provider.Provider, error)

func (l launcher) Start(ctx context.Context, a addr.Provider) (provider.Provider, error) {
	return l(ctx, a)
}

// TestSchemasOncePerCommand checks that the schemas are read once. A further process gets a call for its schemas only
// if the provider needs this call before other calls (SchemaOptional is false). Lethe does not read the answer to this call.
func TestSchemasOncePerCommand(t *testing.T) {
	for _, optional := range []bool{false, true} {
		describe := func() (*provider.Schemas, provider.Diags) {
			s := provider.NewSchemas(&schema.Schema{Block: &schema.Block{}})
			s.Capabilities.SchemaOptional = optional
			return s, nil
		}
		var all []*primer
		pool := provider.NewPool(launcher(func(context.Context, addr.Provider) (provider.Provider, error) {
			p := &primer{Fake: &providertest.Fake{Describe: describe}}
			all = append(all, p)
			return p, nil
		}))
		first := must[provider.Provider](t)(pool.Session(bg, one))
		must[provider.Provider](t)(pool.Session(bg, one))
		a, _ := pool.Schemas(bg, one)
		pool.Release(first)
		idle := must[provider.Provider](t)(pool.Idle(bg, one))
		validate(t, idle)
		validate(t, idle)
		if b, _ := idle.Schemas(bg); a == nil || a != b {
			t.Error("not the same schemas")
		}
		want := int32(1)
		if optional {
			want = 0
		}
		if len(all) != 2 || all[0].Count("Schemas") != 1 || all[1].Count("Schemas") != 0 || all[0].primed.Load() != 0 || all[1].primed.Load() != want {
			t.Errorf("optional %v: %v, primed %d; %v, primed %d", optional, all[0].Calls(), all[0].primed.Load(), all[1].Calls(), all[1].primed.Load())
		}
		pool.Close()
	}
}

// TestSchemaFailures checks that a failure to read the schemas is remembered.
func TestSchemaFailures(t *testing.T) {
	fail := provider.Diags{diag.Errorf("no schemas", "")}
	s := &stage{make: func() *providertest.Fake {
		return &providertest.Fake{Describe: func() (*provider.Schemas, provider.Diags) { return nil, fail }}
	}}
	pool := provider.NewPool(s)
	defer pool.Close()
	for range 3 {
		if got, ds := pool.Schemas(bg, one); got != nil || len(ds) != 1 {
			t.Error(got, ds)
		}
	}
	if n := s.started()[0].Count("Schemas"); n != 1 {
		t.Errorf("asked %d times", n)
	}
	if _, err := pool.Session(bg, one); err != nil {
		t.Error(err)
	}
}

// TestStartFailures checks that a provider that fails to start is started once.
func TestStartFailures(t *testing.T) {
	var n atomic.Int32
	broken := errors.New("broken")
	pool := provider.NewPool(&stage{before: func(context.Context) error { n.Add(1); return broken }})
	defer pool.Close()
	for range 3 {
		if _, err := pool.Idle(bg, one); err != broken {
			t.Error(err)
		}
		if _, err := pool.Session(bg, one); err != broken {
			t.Error(err)
		}
		if s, ds := pool.Schemas(bg, one); s != nil || len(ds) != 1 || ds[0].Summary != "Failed to start provider" || !strings.Contains(ds[0].Detail, "broken") {
			t.Error(s, ds)
		}
	}
	if n.Load() != 1 {
		t.Errorf("started %d times", n.Load())
	}
}

// TestGivingUp checks that a cancelled caller does not cancel the start for the other callers.
func TestGivingUp(t *testing.T) {
	var n atomic.Int32
	began := make(chan struct{})
	s := &stage{before: func(ctx context.Context) error {
		if n.Add(1) > 1 {
			return nil
		}
		close(began)
		<-ctx.Done()
		return ctx.Err()
	}}
	pool := provider.NewPool(s)
	defer pool.Close()
	ctx, cancel := context.WithCancel(bg)
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := pool.Idle(ctx, one); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	<-began
	impatient, stop := context.WithTimeout(bg, time.Millisecond)
	defer stop()
	if _, err := pool.Session(impatient, one); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if ds := provider.Fault(one, context.DeadlineExceeded); ds.Summary != "Request cancelled" {
		t.Error(ds)
	}
	for range 3 {
		wg.Go(func() {
			if _, err := pool.Idle(bg, one); err != nil {
				t.Error(err)
			}
		})
	}
	cancel()
	wg.Wait()
	if len(s.started()) != 1 || n.Load() != 2 {
		t.Errorf("%d processes after %d starts", len(s.started()), n.Load())
	}
}

// TestStartsAreBounded checks that at most GOMAXPROCS processes start at the same time.
func TestStartsAreBounded(t *testing.T) {
	var now, most atomic.Int32
	s := &stage{before: func(context.Context) error {
		if n := now.Add(1); n > most.Load() {
			most.Store(n)
		}
		time.Sleep(2 * time.Millisecond) // starts that take no time do not run in parallel
		now.Add(-1)
		return nil
	}}
	pool := provider.NewPool(s)
	defer pool.Close()
	var wg sync.WaitGroup
	for range 12 {
		wg.Go(func() { pool.Session(bg, one) })
	}
	wg.Wait()
	if int(most.Load()) > runtime.GOMAXPROCS(0) || len(s.started()) != 12 {
		t.Errorf("%d at a time, %d in all", most.Load(), len(s.started()))
	}
}

// TestBuiltin checks that all callers share a built-in provider, and that Release does not end it.
func TestBuiltin(t *testing.T) {
	s := &stage{}
	pool := provider.NewPool(s)
	f := &providertest.Fake{}
	a := addr.Builtin("lethe")
	pool.Builtin(a, f)
	for range 2 {
		p := must[provider.Provider](t)(pool.Session(bg, a))
		if p != provider.Provider(f) || must[provider.Provider](t)(pool.Idle(bg, a)) != p {
			t.Error("it is another one")
		}
		pool.Release(p)
		if got, ds := pool.Schemas(bg, a); got == nil || ds != nil {
			t.Error(got, ds)
		}
	}
	if len(s.started()) != 0 || f.Count("Shutdown") != 0 || f.Count("Schemas") != 1 {
		t.Errorf("%d processes, %v", len(s.started()), f.Calls())
	}
	if pool.Close() != nil || f.Count("Shutdown") != 1 {
		t.Error(f.Calls())
	}
}

// TestClose checks that Close shuts down all processes and returns their errors.
func TestClose(t *testing.T) {
	s := &stage{make: func() *providertest.Fake {
		return &providertest.Fake{
			Ends: providertest.Ends{OnShutdown: func() error { return errors.New("cannot end") }},
		}
	}}
	pool := provider.NewPool(s)
	for range 2 {
		must[provider.Provider](t)(pool.Session(bg, one))
	}
	must[provider.Provider](t)(pool.Idle(bg, two))
	if err := pool.Close(); err == nil || strings.Count(err.Error(), "cannot end") != 3 {
		t.Error(err)
	}
	if _, err := pool.Session(bg, one); err == nil {
		t.Error("a session after the end")
	}
	if _, err := pool.Idle(bg, addr.Builtin("other")); err == nil {
		t.Error("a start after the end")
	}
	if len(s.started()) != 3 {
		t.Errorf("%d processes", len(s.started()))
	}
}

// TestCloseDuringStart checks that Close cancels a start and leaves no process running.
func TestCloseDuringStart(t *testing.T) {
	for _, stubborn := range []bool{false, true} {
		began := make(chan struct{})
		s := &stage{before: func(ctx context.Context) error {
			close(began)
			<-ctx.Done()
			if stubborn {
				return nil
			}
			return context.Cause(ctx)
		}}
		pool := provider.NewPool(s)
		done := make(chan error)
		go func() { _, err := pool.Session(bg, one); done <- err }()
		<-began
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
		if err := <-done; err == nil {
			t.Error("a session after the end")
		}
		for _, f := range s.started() {
			if f.Count("Shutdown") != 1 {
				t.Error("a process runs")
			}
		}
	}
}

func TestSchemasList(t *testing.T) {
	loads := 0
	s := provider.NewSchemas(nil)
	s.Add(addr.Managed, "b", func() (*schema.Schema, error) { loads++; return &schema.Schema{Version: 1}, nil })
	s.Add(addr.Managed, "a", func() (*schema.Schema, error) { return nil, errors.New("broken") })
	s.Add(addr.Data, "b", func() (*schema.Schema, error) { return &schema.Schema{Version: 2}, nil })
	s.AddIdentity("z", func() (*provider.Identity, error) { return &provider.Identity{Version: 3}, nil })
	s.AddIdentity("y", func() (*provider.Identity, error) { return nil, errors.New("broken") })
	for range 2 {
		if b, err := s.Type(addr.Managed, "b"); err != nil || b.Version != 1 {
			t.Error(b, err)
		}
		if _, err := s.Type(addr.Managed, "a"); err == nil {
			t.Error("no error")
		}
	}
	if d, _ := s.Type(addr.Data, "b"); d.Version != 2 || loads != 1 {
		t.Error(d, loads)
	}
	if got := strings.Join(s.Types(addr.Managed), " ") + "|" + strings.Join(s.Types(addr.Ephemeral), " ") + "|" + strings.Join(s.Identities(), " "); got != "a b||y z" {
		t.Error(got)
	}
	if id, err := s.Identity("z"); err != nil || id.Version != 3 {
		t.Error(id, err)
	}
	if id, err := s.Identity("none"); id != nil || err != nil {
		t.Error(id, err)
	}
	if _, err := s.Identity("y"); err == nil {
		t.Error("no error")
	}
}

// mortal is a provider that reports whether it crashed.
type mortal struct {
	*providertest.Fake
	crashed *bool
}

func (m mortal) Crashed() bool { return *m.crashed }

// TestCrashOfShared checks that a crash of the process without settings fails only the current call. If a provider
// crashes at every call, the number of restarts is limited.
func TestCrashOfShared(t *testing.T) {
	var crashed []*bool
	pool := provider.NewPool(launcher(func(context.Context, addr.Provider) (provider.Provider, error) {
		crashed = append(crashed, new(bool))
		return mortal{&providertest.Fake{Address: one}, crashed[len(crashed)-1]}, nil
	}))
	defer pool.Close()
	idle := must[provider.Provider](t)(pool.Idle(bg, one))
	validate(t, idle)
	*crashed[0] = true
	validate(t, idle)
	if session := must[provider.Provider](t)(pool.Session(bg, one)); len(crashed) != 2 || session.(mortal).Crashed() {
		t.Errorf("%d starts after a crash; the session got what crashed: %v", len(crashed), session.(mortal).Crashed())
	}
	for range 20 {
		*crashed[len(crashed)-1] = true
		validate(t, idle)
	}
	if len(crashed) > 10 {
		t.Errorf("%d starts of a provider that only crashes", len(crashed))
	}
}

// divisible is a built-in provider whose sessions are fakes.
type divisible struct {
	providertest.Fake
	sessions []*providertest.Fake
}

func (d *divisible) Session() provider.Provider {
	d.sessions = append(d.sessions, &providertest.Fake{Address: one})
	return d.sessions[len(d.sessions)-1]
}

// TestSessionsOfBuiltin checks that each session of a built-in provider with settings has a provider, which ends with
// the session, and that calls without settings go to the built-in provider.
func TestSessionsOfBuiltin(t *testing.T) {
	d := &divisible{}
	pool := provider.NewPool(&stage{})
	pool.Builtin(one, d)
	first := must[provider.Provider](t)(pool.Session(bg, one))
	second := must[provider.Provider](t)(pool.Session(bg, one))
	if first == second || len(d.sessions) != 2 {
		t.Fatalf("%d sessions", len(d.sessions))
	}
	validate(t, must[provider.Provider](t)(pool.Idle(bg, one)))
	pool.Release(first)
	pool.Release(first) // a second Release of a session has no effect
	ends := func(a, b, own int) {
		t.Helper()
		if x, y, z := d.sessions[0].Count("Shutdown"), d.sessions[1].Count("Shutdown"), d.Count("Shutdown"); x != a || y != b || z != own {
			t.Errorf("Shutdown was called %d, %d and %d times", x, y, z)
		}
	}
	ends(1, 0, 0)
	if d.Count("Validate managed x") != 1 {
		t.Error("the built-in provider did not validate")
	}
	pool.Close()
	ends(1, 1, 1)
	if _, err := pool.Session(bg, one); err == nil {
		t.Error("a closed pool has made a session")
	}
}
