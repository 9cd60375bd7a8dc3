package provider

import (
	"context"
	"errors"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/walk"
)

// Pool shares provider processes for the length of a command. Each provider has at most one process
// besides the configured ones. It answers calls that need no settings (Idle). The first Session takes it over and
// configures it, and it continues to answer such calls. So a provider with one configuration has one process, and
// a provider with several has one process for each.
//
// A Pool may be used from many goroutines.
type Pool struct {
	launcher Launcher
	life     context.Context // ends with Close; then starts in progress end, too
	end      context.CancelFunc
	starts   chan struct{} // a token for each start in progress
	starting sync.WaitGroup

	mu      sync.Mutex
	kinds   map[addr.Provider]*kind
	running map[Provider]*process
	closed  bool
}

// kind is the state of one provider in the pool.
type kind struct {
	addr      addr.Provider
	builtin   Provider
	face      *idle
	described atomic.Pointer[description]

	// Held under the pool's lock.
	shared   *process      // answers calls that need no settings; nil if none runs
	starting chan struct{} // closed when the current start of shared ends; nil if there is no start in progress
	failed   error         // of the last start of shared; it is not tried again
	crashes  int           // how many times shared crashed and another was started
}

// description is a provider's answer to Schemas.
type description struct {
	schemas *Schemas
	diags   Diags
	by      Provider
}

// process is a process that the pool started.
type process struct {
	Provider
	kind   *kind
	inUse  bool           // by a session; held under the pool's lock
	calls  sync.WaitGroup // by way of Idle
	primed sync.Once
}

// Primer is a Provider whose process wants to be asked for its schemas before anything else, also
// when they are known from another process.
type Primer interface {
	// Prime asks and throws the answer away.
	Prime(ctx context.Context) Diags
}

// Crasher is a Provider that reports whether its process has crashed.
type Crasher interface {
	// Crashed reports whether a call found the process gone.
	Crashed() bool
}

// maxCrashes is the number of crashes of the shared process after which it is not started again. Calls after a crash
// did not cause it and must not fail because of it. But a provider that crashes at every call must not be started for
// each of them.
const maxCrashes = 5

// releaseTime is how long Release waits for calls that share the process.
const releaseTime = 5 * time.Second

var errClosed = errors.New("the command is ending, so it starts no more providers")

// NewPool makes a pool of the processes that a launcher starts: as many at a time as there are
// processors.
func NewPool(l Launcher) *Pool {
	life, end := context.WithCancel(context.Background())
	return &Pool{
		launcher: l,
		life:     life,
		end:      end,
		starts:   make(chan struct{}, runtime.GOMAXPROCS(0)),
		kinds:    map[addr.Provider]*kind{},
		running:  map[Provider]*process{},
	}
}

// Divisible is a built-in Provider with settings, which belong to one session.
type Divisible interface {
	// Session returns a provider for one session. It is shut down at the end of the session.
	Session() Provider
}

// Builtin makes the pool use p for the provider of that address instead of starting a process, for sessions too. If p
// is Divisible, each session has a separate provider. Builtin is called before anything else.
func (pool *Pool) Builtin(a addr.Provider, p Provider) { pool.kind(a).builtin = p }

func (pool *Pool) kind(a addr.Provider) *kind {
	pool.mu.Lock()
	defer pool.mu.Unlock()
	k := pool.kinds[a]
	if k == nil {
		k = &kind{addr: a}
		k.face = &idle{pool, k}
		pool.kinds[a] = k
	}
	return k
}

// Session returns a process for the caller to configure and to Release. It is the process that Idle uses, unless that
// has a session already.
func (pool *Pool) Session(ctx context.Context, a addr.Provider) (Provider, error) {
	k := pool.kind(a)
	if d, ok := k.builtin.(Divisible); ok {
		return pool.divide(k, d)
	}
	if k.builtin != nil {
		return k.builtin, nil
	}
	p, err := pool.acquire(ctx, k)
	if err != nil {
		return nil, err
	}
	pool.prime(ctx, p)
	return p.Provider, nil
}

// divide returns the provider of a session of a built-in provider.
func (pool *Pool) divide(k *kind, d Divisible) (Provider, error) {
	if !pool.enter() {
		return nil, errClosed
	}
	defer pool.starting.Done()
	p := d.Session()
	pool.mu.Lock()
	defer pool.mu.Unlock()
	pool.running[p] = &process{Provider: p, kind: k, inUse: true}
	return p, nil
}

// acquire finds or starts a process that has no session, and marks it as having one.
func (pool *Pool) acquire(ctx context.Context, k *kind) (*process, error) {
	for {
		pool.mu.Lock()
		k.forgetCrashed()
		switch {
		case k.starting != nil:
			done := k.starting
			pool.mu.Unlock()
			if err := wait(ctx, done); err != nil {
				return nil, err
			}
		case k.shared == nil:
			pool.mu.Unlock()
			p, err := pool.share(ctx, k)
			if err != nil {
				return nil, err
			}
			p.calls.Done()
		case !k.shared.inUse:
			p := k.shared
			p.inUse = true
			pool.mu.Unlock()
			return p, nil
		default:
			pool.mu.Unlock()
			return pool.start(ctx, k, true)
		}
	}
}

// share returns the process that answers calls without settings, and starts one if none runs. The caller calls
// calls.Done when it has its answer.
func (pool *Pool) share(ctx context.Context, k *kind) (*process, error) {
	for {
		pool.mu.Lock()
		k.forgetCrashed()
		if p := k.shared; p != nil {
			p.calls.Add(1)
			pool.mu.Unlock()
			return p, nil
		}
		if err := k.failed; err != nil {
			pool.mu.Unlock()
			return nil, err
		}
		if done := k.starting; done != nil {
			pool.mu.Unlock()
			if err := wait(ctx, done); err != nil {
				return nil, err
			}
			continue // check the result of the start; if another caller gave up, this caller does not
		}
		done := make(chan struct{})
		k.starting = done
		pool.mu.Unlock()
		p, err := pool.start(ctx, k, false)
		pool.mu.Lock()
		if k.starting = nil; err == nil {
			k.shared = p
			p.calls.Add(1)
		} else if ctx.Err() == nil {
			k.failed = err
		}
		pool.mu.Unlock()
		close(done)
		return p, err
	}
}

// forgetCrashed replaces a crashed process by a new one at the next use. Close ends the rest of the crashed one.
func (k *kind) forgetCrashed() {
	if k.shared == nil || k.crashes == maxCrashes {
		return
	}
	if c, ok := k.shared.Provider.(Crasher); ok && c.Crashed() {
		k.shared = nil
		k.crashes++
	}
}

func wait(ctx context.Context, done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// start starts a process as soon as fewer than the maximum number of starts are in progress.
func (pool *Pool) start(ctx context.Context, k *kind, taken bool) (*process, error) {
	if !pool.enter() {
		return nil, errClosed
	}
	defer pool.starting.Done()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(pool.life, func() { cancel(errClosed) })()
	select {
	case pool.starts <- struct{}{}:
		defer func() { <-pool.starts }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	started, err := pool.launcher.Start(ctx, k.addr)
	if err != nil {
		return nil, err
	}
	p := &process{Provider: started, kind: k, inUse: taken}
	pool.mu.Lock()
	defer pool.mu.Unlock()
	pool.running[started] = p // also if the pool is closed by now: Close waits for us, and ends it
	if pool.closed {
		return nil, errClosed
	}
	return p, nil
}

// enter makes Close wait for the start that begins; false if the pool is closed.
func (pool *Pool) enter() bool {
	pool.mu.Lock()
	defer pool.mu.Unlock()
	if !pool.closed {
		pool.starting.Add(1)
	}
	return !pool.closed
}

// prime asks p for its schemas if it relies on that: the first process of a provider is asked
// anyway, for the answer. An error will come again in the next call, which reports it.
func (pool *Pool) prime(ctx context.Context, p *process) {
	p.primed.Do(func() {
		first := pool.describe(ctx, p.kind)
		if first.schemas == nil || first.schemas.Capabilities.SchemaOptional || first.by == p.Provider {
			return
		}
		if q, ok := p.Provider.(Primer); ok {
			q.Prime(ctx)
		} else {
			p.Provider.Schemas(ctx)
		}
	})
}

// Schemas returns the schemas of a provider. It asks once in a command, for any number of processes.
func (pool *Pool) Schemas(ctx context.Context, a addr.Provider) (*Schemas, Diags) {
	d := pool.describe(ctx, pool.kind(a))
	return d.schemas, d.diags
}

// Lookup returns the schemas of a provider, nil if they are not available.
type Lookup func(addr.Provider) *Schemas

// Lookup returns a function that asks for schemas when they are needed, and reports the provider's diagnostics to bag.
func (pool *Pool) Lookup(ctx context.Context, bag *diag.Bag) Lookup {
	return func(a addr.Provider) *Schemas {
		schemas, ds := pool.Schemas(ctx, a)
		bag.Add(ds...)
		if ds.HasErrors() {
			return nil
		}
		return schemas
	}
}

// Know makes the pool use schemas that are known from elsewhere. It is called before anything else.
func (pool *Pool) Know(a addr.Provider, s *Schemas) {
	pool.kind(a).described.Store(&description{schemas: s})
}

// Known returns the schemas that are known already. It asks no provider.
func (pool *Pool) Known() map[addr.Provider]*Schemas {
	pool.mu.Lock()
	defer pool.mu.Unlock()
	out := map[addr.Provider]*Schemas{}
	for a, k := range pool.kinds {
		if d := k.described.Load(); d != nil && d.schemas != nil {
			out[a] = d.schemas
		}
	}
	return out
}

func (pool *Pool) describe(ctx context.Context, k *kind) *description {
	if d := k.described.Load(); d != nil {
		return d
	}
	from := k.builtin
	if from == nil {
		p, err := pool.share(ctx, k)
		if err != nil {
			return &description{diags: Diags{Fault(k.addr, err)}}
		}
		defer p.calls.Done()
		from = p.Provider
	}
	schemas, diags := from.Schemas(ctx)
	d := &description{schemas, diags, from}
	if (schemas != nil || ctx.Err() == nil) && !k.described.CompareAndSwap(nil, d) {
		d = k.described.Load() // another caller asked at the same time: all get the same
	}
	return d
}

// Release ends the process of a session. If Idle uses it, the process of another session takes its place, or a new
// process is started at the next use. Built-in providers are not ended.
func (pool *Pool) Release(session Provider) {
	pool.mu.Lock()
	p := pool.running[session]
	if p == nil {
		pool.mu.Unlock()
		return
	}
	delete(pool.running, session)
	if p.kind.shared == p {
		p.kind.shared = pool.other(p.kind)
	}
	pool.mu.Unlock()

	done := make(chan struct{})
	go func() { p.calls.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(releaseTime):
	}
	_ = session.Shutdown() // no caller is left who could act on its error
}

// other returns a running process of the kind; nil if no process runs.
func (pool *Pool) other(k *kind) *process {
	for _, p := range pool.running {
		if p.kind == k {
			return p
		}
	}
	return nil
}

// Close ends all processes. No other can be started afterwards.
func (pool *Pool) Close() error {
	pool.mu.Lock()
	pool.closed = true
	pool.mu.Unlock()
	pool.end()
	pool.starting.Wait()
	all := pool.all()
	errs := make([]error, len(all))
	walk.Each(len(all), func(i int) { errs[i] = all[i].Shutdown() })
	if l, ok := pool.launcher.(io.Closer); ok {
		errs = append(errs, l.Close())
	}
	return errors.Join(errs...)
}

// all are the running processes and the built-in providers.
func (pool *Pool) all() []Provider {
	pool.mu.Lock()
	defer pool.mu.Unlock()
	var out []Provider
	for p := range pool.running {
		out = append(out, p)
	}
	for _, k := range pool.kinds {
		if k.builtin != nil {
			out = append(out, k.builtin)
		}
	}
	return out
}

// Fault is an error of a Launcher or a Pool as a user must read it.
func Fault(a addr.Provider, err error) diag.Diagnostic {
	var d diag.Diagnostic
	if errors.As(err, &d) {
		return d
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return diag.Errorf("Request cancelled", "The start of the provider %s was cancelled.", a)
	}
	return diag.Errorf("Failed to start provider", "The provider %s could not be started: %s.", a, err)
}

// idle is the result of Pool.Idle: a provider that sends each call to the process that answers such calls at the time.
// A session may take that process over and end it while another session validates through it; the next call then goes
// to another process.
type idle struct {
	pool *Pool
	kind *kind
}
