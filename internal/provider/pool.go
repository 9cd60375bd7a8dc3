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

// Pool shares provider processes during a command. A process of each provider answers calls that need no settings
// (Idle). The first Session takes this process and configures it, and the process continues to answer such calls. So a
// provider with one configuration has one process, and a provider with several configurations has one process for each.
//
// The methods of a Pool may be called concurrently.
type Pool struct {
	launcher Launcher
	life     context.Context // ends with Close; a start in progress ends with it
	end      context.CancelFunc
	starts   chan struct{} // has a token for each start in progress
	starting sync.WaitGroup

	mu      sync.Mutex
	kinds   map[addr.Provider]*kind
	running map[Provider]*process
	closed  bool
}

// kind is the pool's data of one provider.
type kind struct {
	addr      addr.Provider
	builtin   Provider
	face      *idle
	described atomic.Pointer[description]

	// The fields below are guarded by the pool's lock.
	shared   *process      // answers calls that need no settings; nil if none runs
	starting chan struct{} // closed when the running start of shared ends; nil if no start is running
	failed   error         // error of the last start of shared, which is not repeated
	crashes  int           // number of crashes of shared after which another process was started
}

// description is a provider's answer to Schemas, and the process that gave it.
type description struct {
	schemas *Schemas
	diags   Diags
	by      Provider
}

// process is a provider process that the pool started.
type process struct {
	Provider
	kind   *kind
	inUse  bool           // a session (a caller with settings for the process) has the process; guarded by the pool's lock
	calls  sync.WaitGroup // the running calls that callers make through the result of Idle and that the pool has sent to this process
	primed sync.Once
}

// Primer is a Provider whose process must receive a request for its schemas before any other call. The request is
// necessary even if the schemas are known from another process.
type Primer interface {
	// Prime requests the schemas and drops the answer.
	Prime(ctx context.Context) Diags
}

// Crasher is a Provider that reports whether its process has crashed.
type Crasher interface {
	// Crashed reports whether a call failed because the process had ended.
	Crashed() bool
}

// maxCrashes is the number of crashes after which the shared process, which answers calls without settings, is not
// started again. A call after a crash is usually not the cause of the crash, so a new process should answer it. But a
// provider that crashes at every call must not be started again for each call.
const maxCrashes = 5

// releaseTime is the time that Release gives a process to answer the calls that the pool has sent to it for users of
// Idle. After this time, Release ends the process although calls are running.
const releaseTime = 5 * time.Second

var errClosed = errors.New("the command is ending, so it starts no more providers")

// NewPool returns a pool whose processes l starts. As many starts may run concurrently as there are processors.
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

// Divisible is a built-in Provider that has settings. Each session (a caller with settings) has a separate copy of the
// settings.
type Divisible interface {
	// Session returns a provider for one session. Its Shutdown is called at the end of the session.
	Session() Provider
}

// Builtin makes the pool use p for the provider a, also for sessions, and start no process. If p is Divisible, each
// session has a separate provider. Builtin must be called before Idle, Session and Schemas.
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

// Session returns a process that the caller configures and later passes to Release. The process is the process that
// answers the calls of Idle, or a new process if another session has that process. For a built-in provider, Session
// returns that provider, or a separate provider if it is Divisible.
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

// divide returns a separate provider for a session of a built-in provider. It returns an error if the pool is closed.
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

// acquire returns a process that no session uses, and marks it as used by a session. It starts a process if necessary.
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

// share returns the process that answers calls without settings, and starts it if necessary. The caller must call
// calls.Done after its call.
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
			continue // another caller may have given up the start, so check its result again
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

// forgetCrashed removes the shared process, which answers calls without settings, if it has crashed. So the next use
// starts a new process. It does nothing after maxCrashes crashes. Close ends the remains of the crashed process.
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

// start starts a process. It first waits until fewer starts are running than the maximum. taken is true if a session
// will use the process.
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
	pool.running[started] = p // even if the pool is closed now: Close waits for this start and ends the process
	if pool.closed {
		return nil, errClosed
	}
	return p, nil
}

// enter registers a start, so that Close waits for it. It returns false if the pool is closed.
func (pool *Pool) enter() bool {
	pool.mu.Lock()
	defer pool.mu.Unlock()
	if !pool.closed {
		pool.starting.Add(1)
	}
	return !pool.closed
}

// prime requests the schemas of p if p needs this request before other calls (Primer). The first process of a provider
// has received the request before. prime ignores an error, because the next call fails with the same error.
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

// Schemas returns the schemas of a provider. It requests them only once in a command, although the provider may have
// several processes.
func (pool *Pool) Schemas(ctx context.Context, a addr.Provider) (*Schemas, Diags) {
	d := pool.describe(ctx, pool.kind(a))
	return d.schemas, d.diags
}

// Lookup returns the schemas of a provider, or nil if they are not available.
type Lookup func(addr.Provider) *Schemas

// Lookup returns a function that requests the schemas of a provider when they are needed. If the request fails, the
// function adds the provider's diagnostics to bag and returns nil.
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

// Know makes the pool use the schemas s for the provider a, instead of requesting them. It must be called before Idle,
// Session and Schemas.
func (pool *Pool) Know(a addr.Provider, s *Schemas) {
	pool.kind(a).described.Store(&description{schemas: s})
}

// Known returns the schemas that were requested or set before, by provider. It sends no request.
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
		d = k.described.Load() // another caller requested the schemas concurrently: all callers get the same schemas
	}
	return d
}

// Release ends the process of a session. If Idle uses the process, Idle then uses the process of another session, or
// starts a new process for the next call. Release does not end a built-in provider that several sessions share.
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
	_ = session.Shutdown() // ignore the error: no caller can handle it
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

// Close ends all processes and built-in providers. No process can be started afterwards.
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

// all returns the running processes and the built-in providers.
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

// Fault converts an error of a Launcher or a Pool to a diagnostic for users.
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

// idle is the result of Pool.Idle. It sends each call to the process that currently answers calls without settings. A
// session may take over this process and end it at any time. The next call then goes to another process.
type idle struct {
	pool *Pool
	kind *kind
}
