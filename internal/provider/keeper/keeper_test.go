//go:build unix

package keeper

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/provider/launch"
	"github.com/lethe-iac/lethe/internal/provider/providertest"
	"github.com/lethe-iac/lethe/internal/provider/wire/wiretest"
	"github.com/lethe-iac/lethe/internal/secret"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/journal"
	"github.com/lethe-iac/lethe/internal/subprocess/waittest"
)

// world holds an engine and its keeper in one process, and a provider that listens on a socket.
type world struct {
	t        *testing.T
	fake     *providertest.Fake
	server   *wiretest.Server // the provider's server, which passes the calls to fake
	keeper   *Keeper
	provider provider.Provider
	journal  *journal.Writer
	path     string
	stop     chan os.Signal
	done     chan struct{} // is closed when the keeper has ended
	failures atomic.Int32  // the number of keepers that the engine lost

	mu       sync.Mutex
	asked    []string // the notes that recoveredAnswer was asked to record
	refuse   bool     // recoveredAnswer refuses to record any note
	recorded []string // the notes that were recorded while the keeper knew the secret
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, path: filepath.Join(t.TempDir(), "journal"), stop: make(chan os.Signal)}
	w.fake = &providertest.Fake{
		OnOpen: func(_ context.Context, r provider.OpenRequest) (provider.OpenResponse, provider.Diags) {
			return provider.OpenResponse{Private: []byte("private of " + r.Type)}, nil
		},
		OnApply: func(_ context.Context, r provider.ApplyRequest) (provider.ApplyResponse, provider.Diags) {
			return provider.ApplyResponse{State: r.Planned}, nil
		},
	}
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	w.server = &wiretest.Server{Major: 6, Provider: w.fake}
	w.server.Start(l)
	t.Cleanup(w.server.Kill)
	w.keeper = New(Options{Spawn: w.spawn, Secrets: &secret.Set{}, Failed: func(error) { w.failures.Add(1) }})
	processes := &launch.Processes{
		Through:  w.keeper.Start,
		Reattach: map[addr.Provider]launch.Reattach{addr.Default("x"): {Major: 6, Addr: l.Addr()}},
	}
	if w.provider, err = processes.Start(context.Background(), addr.Default("x")); err != nil {
		t.Fatal(err)
	}
	h := journal.About(nil, "lineage", "run", "test")
	h.Keeper = os.Getpid()
	if w.journal, err = journal.Create(w.path, h, journal.Options{Opened: func(path string, key []byte) { w.keeper.JournalOpened(path, key, nil, false) }, Recorded: w.keeper.Recorded}); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) spawn() (*Process, error) {
	ours, theirs, err := pair()
	if err != nil {
		return nil, err
	}
	defer ours.Close()
	defer theirs.Close()
	engine, err := net.FileConn(ours)
	if err != nil {
		return nil, err
	}
	keeper, err := net.FileConn(theirs)
	done := make(chan struct{})
	w.done = done
	go func() {
		defer close(done)
		_ = Serve(keeper, func(_ provider.Provider, s *secret.Set) Recorder { return recoveredAnswer{w, s} }, w.stop)
		keeper.Close()
	}()
	return &Process{Conn: engine, ID: os.Getpid(), Ended: done}, err
}

// recoveredAnswer decodes an answer that arrived after the engine's crash. It records that the object named by the note
// exists.
type recoveredAnswer struct {
	w       *world
	secrets *secret.Set
}

func (l recoveredAnswer) Record(_ context.Context, note, _, _ []byte) ([]journal.Change, bool) {
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	l.w.asked = append(l.w.asked, string(note))
	if l.secrets.Has("a-secret-of-the-run") {
		l.w.recorded = append(l.w.recorded, string(note))
	}
	return []journal.Change{{Object: object(string(note)), Entry: entry}}, !l.w.refuse
}

func (l recoveredAnswer) Learn(context.Context, []byte, []byte) bool { return true }

var entry = &state.Entry{Attrs: []byte("{}"), Provider: addr.ProviderInstance{ProviderConfig: addr.ProviderConfig{Provider: addr.Default("x")}}}

func object(name string) addr.Object {
	return addr.Resource{Mode: addr.Managed, Type: "x", Name: name}.In(addr.ModuleInstance{}).Instance(addr.NoKey).Current()
}

func (w *world) intend(name string) journal.Op {
	w.t.Helper()
	op, err := w.journal.Intent(journal.Intent{Object: object(name), Action: "create", Provider: entry.Provider})
	if err != nil {
		w.t.Fatal(err)
	}
	return op
}

func (w *world) apply(op journal.Op, name string) provider.Diags {
	note := provider.Note{Call: uint64(op), Rest: func() [][]byte { return [][]byte{[]byte(name)} }}
	_, ds := w.provider.Apply(context.Background(), provider.ApplyRequest{Type: "x", Planned: provider.Dynamic{Msgpack: []byte{0x80}}, Private: []byte(name), Note: note})
	return ds
}

func (w *world) open(name string) {
	w.t.Helper()
	o := addr.Resource{Mode: addr.Ephemeral, Type: name, Name: "l"}.In(addr.ModuleInstance{}).Instance(addr.NoKey).Current()
	op, err := w.journal.Opening(o, addr.Default("x"))
	if err != nil {
		w.t.Fatal(err)
	}
	note := provider.Note{Call: uint64(op), Rest: func() [][]byte { return [][]byte{[]byte(o.String())} }}
	if _, ds := w.provider.Open(context.Background(), provider.OpenRequest{Type: name, Note: note}); ds.HasErrors() {
		w.t.Fatal(ds)
	}
}

// lose ends the connection to the engine, as a crash of the engine does.
func (w *world) lose() {
	w.keeper.now.link.conn.Close()
}

// recovered waits for the end of the keeper and returns the recovered journal.
func (w *world) recovered() *journal.Recovery {
	w.t.Helper()
	select {
	case <-w.done:
	case <-time.After(time.Minute):
		w.t.Fatal("the keeper goes on")
	}
	w.journal.Close()
	if journal.Held(disk.OS, w.path) {
		w.t.Error("the journal is still held")
	}
	r, err := journal.Recover(disk.OS, w.path, nil, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// closed returns the calls of CloseLease that the provider received, in order.
func (w *world) closed() (out []string) {
	for _, c := range w.fake.Calls() {
		if strings.HasPrefix(c, "CloseLease") {
			out = append(out, c)
		}
	}
	return out
}

// TestLostEngine checks the keeper after a crash of the engine. Calls in progress end, and their changes are recorded.
// Leases are closed in reverse order, each with the private data of its last renewal.
func TestLostEngine(t *testing.T) {
	w := newWorld(t)
	release := make(chan struct{})
	made := w.fake.OnApply
	w.fake.OnApply = func(ctx context.Context, r provider.ApplyRequest) (provider.ApplyResponse, provider.Diags) {
		<-release
		return made(ctx, r)
	}
	var private []string
	w.fake.OnCloseLease = func(_ context.Context, _ string, p []byte) provider.Diags {
		private = append(private, string(p))
		return nil
	}
	w.fake.OnRenew = func(context.Context, string, []byte) (provider.RenewResponse, provider.Diags) {
		return provider.RenewResponse{Private: []byte("renewed")}, nil
	}
	w.open("one")
	w.open("two")
	w.open("three")
	if _, ds := w.provider.Renew(context.Background(), "two", []byte("private of two")); ds.HasErrors() {
		t.Fatal(ds)
	}
	if ds := w.provider.CloseLease(context.Background(), "three", []byte("private of three")); ds.HasErrors() {
		t.Fatal(ds)
	}
	w.keeper.o.Secrets.Add("a-secret-of-the-run", secret.Origin{Addr: "var.a", Kind: secret.EphemeralVariable})
	op, never := w.intend("a"), w.intend("never")
	go w.apply(op, "a")
	waittest.Until(t, "the call has begun", func() bool { return w.fake.Count("Apply x") > 0 })
	w.lose()
	close(release)
	r := w.recovered()
	if len(r.Unknown)+len(r.Leases) > 0 || r.Snapshot.Len() != 1 || r.Snapshot.Get(object("a")) == nil || never == 0 {
		t.Errorf("unknown %v, leases %v, %d objects", r.Unknown, r.Leases, r.Snapshot.Len())
	}
	if want := []string{"private of three", "renewed", "private of one"}; !slices.Equal(private, want) {
		t.Errorf("closed with %q", private)
	}
	if !slices.Equal(w.recorded, []string{"a"}) {
		t.Error("a secret that the run knew was not known when its record was made")
	}
}

// TestRecords checks that a change that the engine has recorded is not recorded again, and that a change that
// recoveredAnswer refuses stays unknown.
func TestRecords(t *testing.T) {
	w := newWorld(t)
	a, b := w.intend("a"), w.intend("b")
	for op, name := range map[journal.Op]string{a: "a", b: "b"} {
		if ds := w.apply(op, name); ds.HasErrors() {
			t.Fatal(ds)
		}
	}
	w.refuse = true
	done := make(chan error)
	w.journal.Later(func(err error) { done <- err }, a, journal.Change{Object: object("a"), Entry: entry})
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	w.lose()
	r := w.recovered()
	if !slices.Equal(w.asked, []string{"b"}) || len(r.Unknown) != 1 || r.Unknown[0].Object != object("b") || r.Snapshot.Len() != 1 {
		t.Errorf("asked for %v, unknown %v, %d objects", w.asked, r.Unknown, r.Snapshot.Len())
	}
}

// TestRecordsAtOnce checks that an answer is recorded while other calls continue, because the keeper or the provider
// may crash next.
func TestRecordsAtOnce(t *testing.T) {
	w := newWorld(t)
	first, second := make(chan struct{}), make(chan struct{})
	w.fake.OnApply = func(_ context.Context, r provider.ApplyRequest) (provider.ApplyResponse, provider.Diags) {
		if <-first; string(r.Private) == "b" {
			<-second
		}
		return provider.ApplyResponse{State: r.Planned}, nil
	}
	go w.apply(w.intend("a"), "a")
	go w.apply(w.intend("b"), "b")
	waittest.Until(t, "both calls have begun", func() bool { return w.fake.Count("Apply x") == 2 })
	w.lose()
	close(first)
	waittest.Until(t, "the first answer is recorded", func() bool {
		r, err := journal.Recover(disk.OS, w.path, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		return r.Snapshot.Get(object("a")) != nil && len(r.Unknown) == 1
	})
	close(second)
	if r := w.recovered(); len(r.Unknown) > 0 || r.Snapshot.Len() != 2 {
		t.Errorf("unknown %v, %d objects", r.Unknown, r.Snapshot.Len())
	}
}

// ignorant is a recoveredAnswer for a crashed provider, whose answers it cannot decode.
type ignorant struct{ recoveredAnswer }

func (ignorant) Learn(context.Context, []byte, []byte) bool { return false }

// TestRecordsWithoutCrashed checks that leases of a crashed process do not prevent records of changes by another
// process.
func TestRecordsWithoutCrashed(t *testing.T) {
	l := ledger{recovered: func(_ provider.Provider, s *secret.Set) Recorder { return ignorant{recoveredAnswer{&world{}, s}} }}
	crashed, good := &served{asked: &providertest.Fake{}}, &served{asked: &providertest.Fake{}}
	for p, want := range map[*served]bool{good: true, crashed: false} {
		if _, ok := l.made(context.Background(), change{p, &request{note: []byte("a")}, nil}, []*lease{{provider: crashed}}); ok != want {
			t.Errorf("recorded: %v", ok)
		}
	}
}

// TestEarlierRun checks a journal that continues the journal of an earlier run. Operations of the earlier run stay
// unknown. Both keepers may have the same process number, because numbers start from 1 in each container.
func TestEarlierRun(t *testing.T) {
	w := newWorld(t)
	w.intend("earlier")
	w.journal.Close()
	r, err := journal.Recover(disk.OS, w.path, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	o := journal.Options{Opened: func(path string, key []byte) { w.keeper.JournalOpened(path, key, nil, true) }, Recorded: w.keeper.Recorded}
	if w.journal, err = r.Continue(w.path, "later", o); err != nil {
		t.Fatal(err)
	}
	w.open("one")
	w.lose()
	if r := w.recovered(); len(r.Unknown) != 1 || len(r.Leases) != 0 {
		t.Errorf("unknown %v, leases %v", r.Unknown, r.Leases)
	}
}

// TestLeasesAlike checks leases with the same private data of two processes of one provider. A closing by a process
// ends the lease of this process. A process that replaces a crashed process closes the lease of the crashed process.
func TestLeasesAlike(t *testing.T) {
	var b book
	program := launch.Program{Provider: addr.Default("x")}
	first, second := &served{program: program}, &served{program: program}
	opened := func(p *served, op journal.Op) {
		b.note(p, &request{op: op, method: "/tfplugin6.Provider/OpenEphemeralResource", body: (&lease{typ: "x"}).closing()}, nil)
	}
	opened(first, 1)
	opened(second, 2)
	b.note(first, &request{method: "/tfplugin6.Provider/CloseEphemeralResource", body: (&lease{typ: "x"}).closing()}, nil)
	if open := b.leases(); len(open) != 1 || open[0].provider != second || !slices.Equal(b.finished, []journal.Op{1}) {
		t.Errorf("%v are over", b.finished)
	}
	again := &served{program: program} // a new process in place of the second process, which has crashed
	b.note(again, &request{method: "/tfplugin6.Provider/CloseEphemeralResource", body: (&lease{typ: "x"}).closing()}, nil)
	if len(b.leases()) != 0 {
		t.Errorf("%v are over", b.finished)
	}
}

// TestDeferredOpening checks that a deferred answer without private data opens no lease, so that nothing is closed.
func TestDeferredOpening(t *testing.T) {
	w := newWorld(t)
	w.fake.OnOpen = func(_ context.Context, r provider.OpenRequest) (provider.OpenResponse, provider.Diags) {
		out := provider.OpenResponse{Deferred: "absent_prereq"}
		if r.Type == "held" {
			out.Private = []byte("private of held")
		}
		return out, nil
	}
	w.open("none")
	w.open("held")
	if open, ok := w.keeper.Part(time.Minute); !ok || len(open) != 0 || !slices.Equal(w.closed(), []string{"CloseLease held"}) {
		t.Errorf("%q is open, %v, closed %v", open, ok, w.closed())
	}
	w.lose()
	if r := w.recovered(); len(r.Leases) != 0 {
		t.Errorf("leases %v are open", r.Leases)
	}
}

// TestAttachedEnds checks the message about a process that another program started and that has ended.
func TestAttachedEnds(t *testing.T) {
	w := newWorld(t)
	w.server.Kill()
	if ds := w.apply(w.intend("a"), "a"); !ds.HasErrors() || !strings.Contains(ds[0].Detail, "Its output is where it was started") {
		t.Error(ds)
	}
}

// TestAnyErrorCode checks that the keeper passes on errors whose code is larger than the codes of gRPC.
func TestAnyErrorCode(t *testing.T) {
	w := newWorld(t)
	w.server.Handlers = map[string]wiretest.Handler{"ApplyResourceChange": wiretest.Fail(256, "kaputt")}
	if ds := w.apply(w.intend("a"), "a"); !ds.HasErrors() || !strings.Contains(ds[0].Detail, "kaputt") {
		t.Error(ds)
	}
}

// TestAskedToEnd checks that a keeper stops waiting if it gets a signal after the engine has crashed.
func TestAskedToEnd(t *testing.T) {
	w := newWorld(t)
	w.fake.OnApply = func(ctx context.Context, r provider.ApplyRequest) (provider.ApplyResponse, provider.Diags) {
		<-ctx.Done()
		return provider.ApplyResponse{}, nil
	}
	w.open("one")
	op := w.intend("a")
	go w.apply(op, "a")
	waittest.Until(t, "the call has begun", func() bool { return w.fake.Count("Apply x") > 0 })
	w.lose()
	for ended := false; !ended; { // the signal is repeated, because signals before the crash have no effect
		select {
		case w.stop <- os.Interrupt:
		case <-w.done:
			ended = true
		}
	}
	if r := w.recovered(); len(r.Unknown) != 1 || len(r.Leases) != 0 || len(w.closed()) != 1 {
		t.Errorf("unknown %v, leases %v, closed %v", r.Unknown, r.Leases, w.closed())
	}
}

// TestPart checks that an engine that ends learns which leases could not be closed.
func TestPart(t *testing.T) {
	w := newWorld(t)
	w.fake.OnCloseLease = func(_ context.Context, typ string, _ []byte) provider.Diags {
		if typ == "two" {
			return provider.Diags{diag.Errorf("Not closed", "It stays.")}
		}
		return nil
	}
	w.open("one")
	w.open("two")
	open, ok := w.keeper.Part(time.Minute)
	if want := []string{"ephemeral.two.l"}; !ok || !slices.Equal(open, want) {
		t.Errorf("%q is open, %v", open, ok)
	}
	w.keeper.JournalOpened("", nil, nil, false)
	if err := w.keeper.Close(); err != nil {
		t.Error(err)
	}
	if w.failures.Load() != 0 {
		t.Error("it was lost")
	}
	w.recovered()
}

// TestClosingGivenUp checks that the keeper does not retry a close that the engine has cancelled, and reports the
// lease.
func TestClosingGivenUp(t *testing.T) {
	w := newWorld(t)
	w.fake.OnCloseLease = func(ctx context.Context, _ string, _ []byte) provider.Diags {
		<-ctx.Done()
		return nil
	}
	w.open("one")
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if ds := w.provider.CloseLease(ctx, "one", []byte("private of one")); !ds.HasErrors() {
		t.Error("it was closed")
	}
	open, ok := w.keeper.Part(time.Minute)
	if want := []string{"ephemeral.one.l"}; !ok || !slices.Equal(open, want) || len(w.closed()) != 1 {
		t.Errorf("%q is open, %v, closed %v", open, ok, w.closed())
	}
	w.lose()
	if r := w.recovered(); len(r.Leases) != 1 {
		t.Errorf("named are %v", r.Leases)
	}
}

// TestLostKeeper checks that a lost keeper is reported. Its calls fail like calls of a crashed provider. The next
// provider gets a new keeper.
func TestLostKeeper(t *testing.T) {
	w := newWorld(t)
	w.open("one")
	first := w.keeper.now
	w.stop = make(chan os.Signal)
	first.link.conn.(*net.UnixConn).CloseRead() // the engine reads the end of the stream, as after a crash of the keeper
	<-first.stopped
	if ds := w.apply(w.intend("a"), "a"); !ds.HasErrors() || !strings.Contains(ds[0].Detail, "The provider crashed or was killed (with the keeper process, which ran it)") {
		t.Errorf("%v", ds)
	}
	if c, ok := w.provider.(provider.Crasher); !ok || !c.Crashed() {
		t.Error("the provider is not lost")
	}
	waittest.Until(t, "the loss is reported", func() bool { return w.failures.Load() > 0 })
	if w.keeper.peer() == first || w.failures.Load() != 1 {
		t.Errorf("the same keeper goes on, %d were lost", w.failures.Load())
	}
}

// TestStartCancelled checks that the caller of a cancelled start gets the error of its context, without details of the
// keeper.
func TestStartCancelled(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.keeper.Start(ctx, launch.Program{Provider: addr.Default("x"), Path: "/nonexistent"}, nil); err != context.Canceled {
		t.Error(err)
	}
}

// TestNoProcess checks that a keeper whose process cannot be started reports the reason and has no effect.
func TestNoProcess(t *testing.T) {
	var why error
	k := New(Options{Spawn: func() (*Process, error) { return nil, fmt.Errorf("none today") }, Failed: func(err error) { why = err }})
	if k.peer() != nil || why == nil || k.peer() != nil || k.ID() != 0 || k.Close() != nil {
		t.Errorf("%v", why)
	}
}

// FuzzRequest checks that a request that was read is written back unchanged, and that short input does not cause a
// panic.
func FuzzRequest(f *testing.F) {
	r := request{provider: 7, op: 9, method: "/tfplugin6.Provider/ReadResource", note: []byte("note"), body: []byte("body")}
	whole := func(r request) string { return string(r.head(len(r.note))) + string(r.note) + string(r.body) }
	f.Add([]byte(whole(r)))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, ok := readRequest(data)
		if ok && whole(r) != string(data) {
			t.Errorf("%q is not %q", whole(r), data)
		}
		field(data, 1)
		hasError(data)
	})
}
