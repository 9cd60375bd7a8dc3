package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/disk/disktest"
	"github.com/lethe-iac/lethe/internal/operation"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/journal"
	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/store/crypt"
	"github.com/zclconf/go-cty/cty"
)

var ctx = context.Background()

// bench is a working directory for tests, with a store in it.
type bench struct {
	*testing.T
	*Env
	store store.Store
}

func newBench(t *testing.T) *bench {
	dir := t.TempDir()
	env := &Env{
		FS: disk.OS, Now: time.Now, Dir: dir, Data: filepath.Join(dir, ".terraform"), Version: "1.12.0", Bag: &diag.Bag{},
		Getenv: func(name string) string { return map[string]string{"HOME": dir, "TMPDIR": dir}[name] },
	}
	return &bench{t, env, store.NewLocal(store.LocalOptions{Dir: dir, FS: disk.OS})}
}

func (b *bench) lock(req Request) *State {
	b.Helper()
	req.Store, req.Name, req.Lock = b.store, store.Default, true
	s, ok := Lock(ctx, b.Env, req)
	if !ok {
		b.Fatal(b.Bag.List())
	}
	return s
}

// reported compares the titles of the diagnostics since the last call with the given titles.
func (b *bench) reported(titles ...string) {
	b.Helper()
	var got []string
	for _, d := range b.Bag.List() {
		got = append(got, d.Summary)
	}
	if strings.Join(got, "\n") != strings.Join(titles, "\n") {
		b.Errorf("said %q, want %q: %v", got, titles, b.Bag.List())
	}
	b.Bag.Clear()
}

func (b *bench) journals() bool {
	_, err := os.Stat(filepath.Join(b.Dir, "terraform.tfstate.journal"))
	return err == nil
}

func object(t *testing.T, a string) addr.Object {
	i, err := addr.ParseInstance(a)
	if err != nil {
		t.Fatal(err)
	}
	return i.Current()
}

var provider = addr.ProviderInstance{ProviderConfig: addr.ProviderConfig{Provider: addr.Default("x")}}

func entry(id string) *state.Entry {
	return &state.Entry{Attrs: []byte(`{"id":"` + id + `"}`), Provider: provider}
}

// with returns the snapshot with one more object. It sets a lineage if the snapshot has none.
func with(t *testing.T, s *state.Snapshot, a string) *state.Snapshot {
	e := s.Edit()
	e.Put(object(t, a), entry(a))
	if e.Head().Lineage == "" {
		e.Head().Lineage = "l"
	}
	return e.Done()
}

// change records the creation of an object in the journal of the run, and returns the journal.
func change(t *testing.T, s *State, a string) journal.Journal {
	j, ok := s.Record()
	if !ok {
		t.Fatal("no journal")
	}
	op, err := j.Intent(journal.Intent{Object: object(t, a), Action: "create", Provider: provider})
	if err == nil {
		result := make(chan error, 1)
		j.Later(func(err error) { result <- err }, op, journal.Change{Object: object(t, a), Entry: entry(a)})
		err = <-result
	}
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// die leaves the journal and the lock as a killed process leaves them: the system releases the lock.
func die(t *testing.T, s *State) {
	if i := s.interims; i != nil {
		close(i.end)
		<-i.ended
		s.interims = nil
	}
	if err := s.record.journal.Close(); err != nil {
		t.Fatal(err)
	}
	s.record.journal = nil
	if err := s.lock.release(ctx); err != nil {
		t.Fatal(err)
	}
	s.lock.release = nil
}

// placed is a store in memory with a place.
type placed struct {
	store.Memory
	at string
}

func (p *placed) Capabilities() store.Capabilities {
	c := p.Memory.Capabilities()
	c.Place = p
	return c
}

func (p *placed) Place(workspace string) string { return p.at + "/" + workspace }

// TestJournalOfOtherPlace checks that the journal of a killed run changes no state in another place, and is still there
// when commands use the place of the run again. Neither place has a state before, so that lineages tell nothing.
func TestJournalOfOtherPlace(t *testing.T) {
	b := newBench(t)
	dev, staging := &placed{at: "dev"}, &placed{at: "staging"}
	b.store = dev
	killed := b.lock(Request{Operation: operation.Apply})
	change(t, killed, "a.x")
	die(t, killed)
	b.store = staging
	for _, of := range []operation.Operation{operation.Plan, operation.Apply} {
		s := b.lock(Request{Operation: of})
		if s.Snapshot().Len() > 0 {
			t.Errorf("%v: the other state has the object", of)
		}
		if of == operation.Apply && !s.Save(with(t, s.Snapshot(), "a.y")) {
			t.Error("not saved")
		}
		s.Unlock()
	}
	if s, ok := Read(ctx, b.Env, staging, store.Default); !ok || s.Len() != 1 || s.Get(object(t, "a.y")) == nil {
		t.Errorf("the other state is %v", s)
	}
	b.reported()
	b.store = dev
	s := b.lock(Request{Operation: operation.Apply})
	defer s.Unlock()
	if s.Snapshot().Len() != 1 || s.Snapshot().Get(object(t, "a.x")) == nil {
		t.Error("the change of the killed run is lost")
	}
	b.reported("Recovered an interrupted run")
}

// TestJournalWithoutPlace checks that a journal under the name that older versions used is recovered.
func TestJournalWithoutPlace(t *testing.T) {
	b := newBench(t)
	b.store = &placed{at: "dev"}
	killed := b.lock(Request{Operation: operation.Apply})
	change(t, killed, "a.x")
	path := killed.record.path
	die(t, killed)
	if err := os.Rename(path, filepath.Join(b.Data, "default.journal")); err != nil {
		t.Fatal(err)
	}
	s := b.lock(Request{Operation: operation.Apply})
	defer s.Unlock()
	if s.Snapshot().Get(object(t, "a.x")) == nil {
		t.Error("the change of the killed run is lost")
	}
	b.reported("Recovered an interrupted run")
}

// TestLockedElsewhere checks the advice for a lock in a workspace that is not selected: the message names the workspace
// and the command that breaks the lock.
func TestLockedElsewhere(t *testing.T) {
	b := newBench(t)
	b.store = &store.Memory{}
	for name, equal := range map[string]bool{store.Default: false, "w1": true} {
		who := store.NewLockInfo("test", "1")
		if _, err := b.store.Lock(ctx, name, who); err != nil {
			t.Fatal(err)
		}
		if _, ok := Lock(ctx, b.Env, Request{Store: b.store, Name: name, Lock: true}); ok {
			t.Error("there is no lock")
		}
		list := b.Bag.List()
		if len(list) != 1 || strings.Contains(list[0].Detail, `the workspace "w1"`) != equal || strings.Contains(list[0].Detail, "TF_WORKSPACE to its name and run: lethe force-unlock "+who.ID) != equal {
			t.Errorf("%s: %v", name, list)
		}
		b.Bag.Clear()
	}
}

func TestSave(t *testing.T) {
	b := newBench(t)
	written := 0
	s := b.lock(Request{Written: func() { written++ }})
	if !s.Missing() || s.Stored() {
		t.Error("there is a state")
	}
	if _, ok := Lock(ctx, b.Env, Request{Store: b.store, Name: store.Default, Lock: true}); ok {
		t.Error("it is locked twice")
	}
	b.reported("Error acquiring the state lock")
	change(t, s, "a.x")
	if !b.journals() || !s.Save(with(t, s.Snapshot(), "a.x")) || !s.Save(with(t, s.Snapshot(), "a.y")) {
		t.Fatal(b.Bag.List())
	}
	s.Unlock()
	s.Unlock()
	if written != 1 || b.journals() {
		t.Errorf("written %d times; journal %t", written, b.journals())
	}
	have, ok := Read(ctx, b.Env, b.store, store.Default)
	if !ok || have.Len() != 2 || have.Serial != 2 {
		t.Errorf("%v, %t", have, ok)
	}
	b.lock(Request{}).Unlock()
	b.reported()
}

// TestKilled checks the recovery of a killed run. A plan sees the recorded change and writes nothing. A command that
// writes stores it.
func TestKilled(t *testing.T) {
	b := newBench(t)
	if has, holds, err := HasState(ctx, b.Env, b.store, store.Default); has || holds || err != nil {
		t.Error("begun before anything was done")
	}
	s := b.lock(Request{})
	j := change(t, s, "a.x")
	if _, err := j.Intent(journal.Intent{Object: object(t, "a.unknown"), Action: "create", Provider: provider}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Opening(object(t, "ephemeral.a.lease"), addr.Default("x")); err != nil {
		t.Fatal(err)
	}
	die(t, s)
	if has, holds, err := HasState(ctx, b.Env, b.store, store.Default); !has || !holds || err != nil {
		t.Error("not begun, although there is a journal")
	}
	if have, ok := Read(ctx, b.Env, b.store, store.Default); !ok || have.Len() != 1 {
		t.Errorf("read without a lock: %v, %t", have, ok)
	}
	b.reported()
	titles := []string{"Recovered an interrupted run", "Outcome unknown", "Leases left open"}
	reader := b.lock(Request{Operation: operation.Plan})
	if reader.Snapshot().Len() != 1 {
		t.Error("the change is not seen")
	}
	reader.Unlock()
	b.reported(titles...)
	if _, v, _ := b.store.Get(ctx, store.Default); v != "" || !b.journals() {
		t.Error("a command that looks has changed something")
	}
	writes := b.lock(Request{})
	b.reported(titles...)
	if writes.Snapshot().Len() != 1 || !writes.Stored() {
		t.Error("not taken in")
	}
	change(t, writes, "a.y") // the new journal contains the calls that were not answered
	die(t, writes)
	again := b.lock(Request{})
	b.reported("Recovered an interrupted run", "Outcome unknown")
	again.Unlock()
}

// TestRunBesideAnotherState checks that ReadNotes reports a run in progress and its leases, even if the state has been
// replaced by one of another lineage.
func TestRunBesideAnotherState(t *testing.T) {
	b := newBench(t)
	s := b.lock(Request{})
	if !s.Save(with(t, s.Snapshot(), "a.x")) {
		t.Fatal(b.Bag.List())
	}
	s.Unlock()
	s = b.lock(Request{})
	defer s.Unlock()
	change(t, s, "a.y")
	if _, err := s.Opening(object(t, "ephemeral.a.lease"), addr.Default("x")); err != nil {
		t.Fatal(err)
	}
	e := with(t, s.Snapshot(), "a.z").Edit()
	e.Head().Lineage = "another"
	data, err := e.Done().Bytes()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.store.Put(ctx, store.Default, data, s.doc.version); err != nil {
		t.Fatal(err)
	}
	left, ok := ReadNotes(ctx, b.Env, b.store, store.Default)
	if !ok || left.Running == "" || len(left.Leases) != 1 {
		t.Errorf("%+v %v", left, b.Bag.List())
	}
}

// TestNotes checks that the notes about crashed runs (calls without an answer, open leases) are kept until a command
// settles them.
func TestNotes(t *testing.T) {
	b := newBench(t)
	s := b.lock(Request{})
	j := change(t, s, "a.x")
	for _, a := range []string{"a.unknown", "a.other"} {
		if _, err := j.Intent(journal.Intent{Object: object(t, a), Action: "create", Provider: provider}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := j.Intent(journal.Intent{Object: object(t, "a.x"), Action: "update", Provider: provider}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Opening(object(t, "ephemeral.a.lease"), addr.Default("x")); err != nil {
		t.Fatal(err)
	}
	die(t, s)
	left, ok := ReadNotes(ctx, b.Env, b.store, store.Default)
	if !ok || len(left.Unknown) != 3 || len(left.Leases) != 1 || left.Running != "" {
		t.Errorf("%+v", left)
	}
	for n, titles := range [][]string{{"Recovered an interrupted run", "Outcome unknown", "Leases left open"}, {"Outcome unknown"}} {
		s = b.lock(Request{Operation: []operation.Operation{operation.None, operation.Refresh}[n]}) // neither command writes the state
		b.reported(titles...)
		s.Unlock()
		if left, _ := ReadNotes(ctx, b.Env, b.store, store.Default); len(left.Unknown) != 3-n || len(left.Leases) != 1 || !left.Leases[0].Named { // a command that refreshes finds the outcome of the update, so one call fewer is unknown
			t.Errorf("after command %d: %+v", n, left)
		}
	}

	s = b.lock(Request{})
	b.reported("Outcome unknown")
	if !s.Save(with(t, s.Snapshot(), "a.unknown")) { // a state with a.unknown is saved without a journal, like the command import
		t.Fatal(b.Bag.List())
	}
	s.Unlock()
	s = b.lock(Request{}) // another object at the address does not prove that the unknown create made no object
	if d := b.Bag.List(); len(d) != 1 || !strings.Contains(d[0].Detail, "a.unknown") {
		t.Error(d)
	}
	b.Bag.Clear()
	left = RunNotes{Notes: s.Notes()}
	left.Unknown = slices.DeleteFunc(left.Unknown, func(u journal.Unknown) bool { return u.Object == object(t, "a.unknown") })
	s.Note(left.Notes) // a command removes a note when it has settled the unknown call
	s.Unlock()
	s = b.lock(Request{Resolves: object(t, "a.x").Instance})
	b.reported("Outcome unknown")
	s.Unlock()
	s = b.lock(Request{Resolves: object(t, "a.other").Instance})
	b.reported() // the warning is left out, because the command itself reports the object
	change(t, s, "a.y")
	die(t, s)
	s = b.lock(Request{}) // the journal of a killed run also contains the notes
	b.reported("Recovered an interrupted run", "Outcome unknown")
	n := s.Notes()
	if len(n.Unknown) != 1 || len(n.Leases) != 1 {
		t.Errorf("%+v", n)
	}
	s.Note(journal.Notes{})
	s.Unlock()
	if b.journals() {
		t.Error("the journal stays, with nothing in it")
	}
	b.lock(Request{}).Unlock()
	b.reported()
}

// TestLostInRecovery kills a command during the recovery of a journal, once at each disk call, and checks that no
// change and no note is lost.
func TestLostInRecovery(t *testing.T) {
	for at, done := 1, false; !done; at++ {
		b := newBench(t)
		s := b.lock(Request{})
		if !s.Save(with(t, s.Snapshot(), "a.first")) {
			t.Fatal(b.Bag.List())
		}
		s.Unlock()
		s = b.lock(Request{})
		j := change(t, s, "a.x")
		if _, err := j.Intent(journal.Intent{Object: object(t, "a.unknown"), Action: "create", Provider: provider}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Opening(object(t, "ephemeral.a.lease"), addr.Default("x")); err != nil {
			t.Fatal(err)
		}
		die(t, s)

		faults := &disktest.Faults{FS: disk.OS, At: at, Err: errors.New("off"), Dead: true, Half: true}
		orphaned := *b.Env
		orphaned.FS, orphaned.Bag = faults, &diag.Bag{}
		if s, ok := Lock(ctx, &orphaned, Request{Store: store.NewLocal(store.LocalOptions{Dir: b.Dir, FS: faults}), Name: store.Default}); ok {
			s.Unlock()
		}
		done = faults.Calls() < at

		b.store = store.NewLocal(store.LocalOptions{Dir: b.Dir, FS: disk.OS})
		s = b.lock(Request{})
		if have := s.Snapshot(); have.Get(object(t, "a.first")) == nil || have.Get(object(t, "a.x")) == nil || have.Len() != 2 {
			t.Errorf("lost at call %d (%s): %v", at, faults.Last(), have)
		}
		if n := s.Notes(); len(n.Unknown) != 1 || len(n.Leases) != 1 {
			t.Errorf("lost at call %d (%s): %+v", at, faults.Last(), n)
		}
		s.Unlock()
		if done {
			t.Logf("%d calls to the disk", at-1)
		}
	}
}

// TestNothingRecorded checks that the next command that holds the lock deletes an empty journal. A run leaves such a
// journal if it is killed at its start.
func TestNothingRecorded(t *testing.T) {
	b := newBench(t)
	if err := os.WriteFile(filepath.Join(b.Dir, "terraform.tfstate.journal"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, ok := Read(ctx, b.Env, b.store, store.Default); !ok || !b.journals() {
		t.Error("removed without the lock")
	}
	b.lock(Request{}).Unlock()
	if b.reported(); b.journals() {
		t.Error("it is still there")
	}
}

// TestRepair checks that an unreadable state is replaced by the backup copy on which the journal is based, and that the
// journal is replayed.
func TestRepair(t *testing.T) {
	b := newBench(t)
	file := filepath.Join(b.Dir, "terraform.tfstate")
	request := Request{Store: b.store, Name: store.Default, Lock: true}
	for _, a := range []string{"a.w", "a.x", "a.y"} {
		s := b.lock(Request{})
		if !s.Save(with(t, s.Snapshot(), a)) {
			t.Fatal(b.Bag.List())
		}
		s.Unlock()
		b.store = store.NewLocal(store.LocalOptions{Dir: b.Dir}) // a new store, as in another process
	}
	request.Store = b.store
	x, ok := Examine(ctx, b.Env, b.store, store.Default)
	if !ok || !x.Whole() || x.State.Snapshot.Len() != 3 || x.Journal != nil || len(x.Copies) == 0 || x.Copies[0].Snapshot.Len() != 2 {
		t.Errorf("%+v", x)
	}
	r, ok := BeginRepair(ctx, b.Env, request)
	if !ok || !r.Nothing() {
		t.Errorf("%+v", r)
	}
	r.Unlock()

	s := b.lock(Request{})
	change(t, s, "a.z")
	if _, busy := BeginRepair(ctx, b.Env, request); busy {
		t.Error("repaired while a run goes on")
	}
	b.reported("Error acquiring the state lock")
	die(t, s)
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.WriteFile(file+".backup", whole, 0o600), os.WriteFile(file, whole[:len(whole)/2], 0o600)); err != nil {
		t.Fatal(err)
	}
	if x, ok = Examine(ctx, b.Env, b.store, store.Default); !ok || x.Whole() || x.Journal == nil || x.Journal.Problem == "" {
		t.Errorf("%+v", x)
	}
	b.reported()
	if r, ok = BeginRepair(ctx, b.Env, request); !ok || r.PutBack == nil || r.PutBack.Snapshot.Len() != 3 || !r.Replay || !r.Do(ctx) {
		t.Fatalf("%+v %v", r, b.Bag.List())
	}
	r.Unlock()
	b.reported("Recovered an interrupted run")
	if have, ok := Read(ctx, b.Env, b.store, store.Default); !ok || have.Len() != 4 {
		t.Errorf("%v", have)
	}
	if torn, err := os.ReadFile(file + ".unreadable"); err != nil || len(torn) != len(whole)/2 {
		t.Errorf("%q, %v", torn, err)
	}
	if x, ok = Examine(ctx, b.Env, b.store, store.Default); !ok || !x.Whole() || x.Journal != nil {
		t.Errorf("%+v", x)
	}
}

// TestManyCopies checks that Examine reads the latest 20 previous states, and more of them until it finds one that is
// not damaged.
func TestManyCopies(t *testing.T) {
	for torn, want := range map[int][2]int{0: {20, 10}, 25: {26, 4}, 30: {30, 0}} {
		b := newBench(t)
		dir := filepath.Join(b.Dir, ".terraform.tfstate.history")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		const all = 30
		for serial := 1; serial <= all+1; serial++ {
			text := fmt.Sprintf("{\"version\": 4, \"serial\": %d, \"lineage\": \"l\"}", serial)
			path := filepath.Join(dir, fmt.Sprintf("%d-%d.tfstate", serial, serial))
			switch {
			case serial > all:
				path = filepath.Join(b.Dir, "terraform.tfstate")
			case serial > all-torn:
				text = text[:len(text)-1]
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if x, ok := Examine(ctx, b.Env, b.store, store.Default); !ok || len(x.Copies) != want[0] || x.Older != want[1] {
			t.Errorf("with %d torn ones: %d, and %d older", torn, len(x.Copies), x.Older)
		}
	}
}

// TestWithoutLock checks that two runs on one state that use no lock do not replay each other's journals.
func TestWithoutLock(t *testing.T) {
	b := newBench(t)
	s := b.lock(Request{})
	change(t, s, "a.x")
	if _, ok := Lock(ctx, b.Env, Request{Store: b.store, Name: store.Default}); ok {
		t.Error("two runs change one state")
	}
	b.reported("Another run is in progress")
	reader, ok := Lock(ctx, b.Env, Request{Store: b.store, Name: store.Default, Operation: operation.Plan})
	if !ok || reader.Snapshot().Len() != 1 {
		t.Fatal(b.Bag.List())
	}
	b.reported("Another run is in progress")
	if op, err := reader.Opening(object(t, "ephemeral.a.lease"), addr.Default("x")); op != 0 || err != nil {
		t.Error("it writes into the journal of another")
	}
	reader.Unlock()
	if !b.journals() {
		t.Error("the journal of the other is gone")
	}
	s.Unlock()
}

// TestWithoutLockOther checks that a command without a lock leaves the journal of a running run in its place, although
// the journal does not continue the state: the run reads one state file and writes another, for example.
func TestWithoutLockOther(t *testing.T) {
	b := newBench(t)
	run := b.lock(Request{})
	change(t, run, "a.x")
	if _, err := b.store.Put(ctx, store.Default, []byte(`{"version":4,"serial":7,"lineage":"other","outputs":{},"resources":[]}`), ""); err != nil {
		t.Fatal(err)
	}
	reader, ok := Lock(ctx, b.Env, Request{Store: b.store, Name: store.Default, Operation: operation.Plan})
	if !ok || reader.Snapshot().Lineage != "other" {
		t.Fatal(b.Bag.List())
	}
	reader.Unlock()
	b.reported("Another run is in progress")
	if _, ok := Lock(ctx, b.Env, Request{Store: b.store, Name: store.Default}); ok {
		t.Error("two runs change one state")
	}
	b.reported("Another run is in progress")
	if !b.journals() {
		t.Error("the journal of the run was moved")
	}
	die(t, run) // on Windows, an open journal cannot be deleted
}

// TestWithoutLockKeeper checks that no run replays the journal of a crashed run while the keeper of that run (a second
// process) is still using it.
func TestWithoutLockKeeper(t *testing.T) {
	b := newBench(t)
	s := b.lock(Request{})
	change(t, s, "a.x")
	keeper, err := journal.Share(b.Env.FS, s.record.path)
	if err != nil {
		t.Fatal(err)
	}
	die(t, s)
	if _, ok := Lock(ctx, b.Env, Request{Store: b.store, Name: store.Default}); ok {
		t.Error("the journal was taken in")
	}
	b.reported("Another run is in progress")
	if err := keeper.Close(); err != nil {
		t.Fatal(err)
	}
	if s, ok := Lock(ctx, b.Env, Request{Store: b.store, Name: store.Default}); !ok || s.Snapshot().Len() != 1 {
		t.Error(b.Bag.List())
	}
	b.reported("Recovered an interrupted run")
}

// broken is a store whose Put fails. It has no capabilities.
type broken struct{ store.Store }

func (broken) Capabilities() store.Capabilities { return store.Capabilities{} }

func (broken) Put(context.Context, string, []byte, store.Version) (store.Version, error) {
	return "", errors.New("it takes nothing")
}

// TestStoreRefuses checks that a state that the store does not accept is written to a file, which the message names,
// and that the journal is kept.
func TestStoreRefuses(t *testing.T) {
	b := newBench(t)
	b.store = broken{b.store}
	s := b.lock(Request{})
	change(t, s, "a.x")
	if s.Save(with(t, s.Snapshot(), "a.x")) {
		t.Error("it was saved")
	}
	s.Unlock()
	detail := b.Bag.List()[0].Detail
	b.reported("Failed to save state")
	_, rest, _ := strings.Cut(detail, "The updated state was written to ")
	name, _, ok := strings.Cut(rest, ". To store it, run")
	data, err := os.ReadFile(name)
	if !ok || err != nil {
		t.Fatalf("%v: %s", err, detail)
	}
	if kept, ok := state.Read(data, b.Bag); !ok || kept.Len() != 1 {
		t.Errorf("the file %s has not the state: %s", name, data)
	}
	if _, err := os.Stat(journal.Path(filepath.Join(b.Data, store.Default))); err != nil {
		t.Errorf("the journal is gone: %v", err)
	}
}

// TestStoreRefusesNamedFile checks that the message about a state that a named file does not accept does not recommend
// "state push": that command would replace the state of the workspace.
func TestStoreRefusesNamedFile(t *testing.T) {
	for _, stale := range []bool{false, true} {
		b := newBench(t)
		if !stale {
			b.store = broken{b.store}
		}
		s := b.lock(Request{File: "x.tfstate"})
		change(t, s, "a.x")
		if stale {
			if _, err := b.store.Put(ctx, store.Default, []byte(`{"version":4,"serial":7,"lineage":"l","outputs":{},"resources":[]}`), ""); err != nil {
				t.Fatal(err)
			}
		}
		if s.Save(with(t, s.Snapshot(), "a.x")) {
			t.Error("it was saved")
		}
		s.Unlock()
		detail := b.Bag.List()[0].Detail
		b.reported("Failed to save state")
		if !strings.Contains(detail, "replace x.tfstate with") || strings.Contains(detail, "lethe state p") {
			t.Errorf("stale %t: %s", stale, detail)
		}
	}
}

// TestStoreRefusesEncrypted checks that the file with a state that the store does not accept, and the journal, are
// encrypted if the state would be.
func TestStoreRefusesEncrypted(t *testing.T) {
	b := newBench(t)
	kind, _ := crypt.ProviderKinds.Find("pbkdf2")
	set, err := kind.Schema.Coerce(cty.ObjectVal(map[string]cty.Value{"passphrase": cty.StringVal("correct horse battery staple"), "iterations": cty.NumberIntVal(200_000)}))
	if err != nil {
		t.Fatal(err)
	}
	keys, err := kind.Make(store.Settings{Config: set, Schema: kind.Schema})
	if err != nil {
		t.Fatal(err)
	}
	gcm, _ := crypt.MethodKinds.Find("aes_gcm")
	set, _ = gcm.Schema.Coerce(cty.EmptyObjectVal)
	method, err := gcm.Make(store.Settings{Config: set})
	if err != nil {
		t.Fatal(err)
	}
	c := &crypt.Cipher{Name: "m", Method: method, Keys: &crypt.Source{Name: "k", Meta: "k", Provider: keys}}
	target := &crypt.Target{Block: "state", Write: c, Read: []*crypt.Cipher{c}}
	b.store = crypt.Around(broken{b.store}, target)
	s := b.lock(Request{})
	change(t, s, "a.x")
	if s.Save(with(t, s.Snapshot(), "a.x")) {
		t.Error("it was saved")
	}
	s.Unlock()
	_, rest, _ := strings.Cut(b.Bag.List()[0].Detail, "The updated state was written to ")
	b.reported("Failed to save state")
	name, _, _ := strings.Cut(rest, ". To store it, run")
	data, err := os.ReadFile(name)
	if err != nil || !crypt.Sealed(data) {
		t.Fatalf("%s, %v", data, err)
	}
	plain, _, err := target.Open(ctx, data)
	if kept, ok := state.Read(plain, b.Bag); err != nil || !ok || kept.Len() != 1 {
		t.Errorf("%s, %v", plain, err)
	}
	text, err := os.ReadFile(journal.Path(filepath.Join(b.Data, store.Default)))
	if err != nil || bytes.Contains(text, []byte("lineage")) || bytes.Contains(text, []byte("a.x")) {
		t.Errorf("%q, %v", text, err)
	}
}

func TestSelected(t *testing.T) {
	b := newBench(t)
	if got := b.Selected(); got != store.Default {
		t.Error(got)
	}
	if err := b.Select("w"); err != nil || b.Selected() != "w" {
		t.Errorf("%s, %v", b.Selected(), err)
	}
	b.Getenv = func(string) string { return "of the environment" }
	if got := b.Selected(); got != "of the environment" || b.CheckName(got) || !b.CheckName("w") {
		t.Error(got)
	}
	b.reported("Invalid workspace name")
}

// TestKilledBetweenFiles checks the recovery of a killed run that read one state file and wrote another. The next
// command may read either file.
func TestKilledBetweenFiles(t *testing.T) {
	for _, in := range []string{"a", "b"} {
		for _, existing := range []bool{false, true} {
			b := newBench(t)
			files := map[string][]byte{"a": []byte(`{"version":4,"serial":7,"lineage":"l","outputs":{},"resources":[]}`)}
			if existing {
				files["b"] = []byte(`{"version":4,"serial":3,"lineage":"other","outputs":{},"resources":[]}`)
			}
			for name, text := range files {
				if err := os.WriteFile(filepath.Join(b.Dir, name), text, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			b.store = store.NewLocal(store.LocalOptions{Dir: b.Dir, In: "a", Out: "b"})
			s := b.lock(Request{Operation: operation.Apply})
			if _, err := s.Opening(object(t, "ephemeral.a.lease"), addr.Default("x")); err != nil {
				t.Fatal(err)
			}
			change(t, s, "a.x")
			die(t, s)
			if existing {
				if kept, err := os.ReadFile(filepath.Join(b.Dir, "b.backup")); err != nil || !bytes.Equal(kept, files["b"]) {
					t.Errorf("the backup is %q, %v", kept, err)
				}
			}
			b.store = store.NewLocal(store.LocalOptions{Dir: b.Dir, In: in, Out: "b"})
			for _, of := range []operation.Operation{operation.Plan, operation.Apply} {
				s = b.lock(Request{Operation: of})
				if got := s.Snapshot(); got.Lineage != "l" || got.Len() != 1 {
					t.Errorf("%s, another state %t: lineage %s, %d objects", in, existing, got.Lineage, got.Len())
				}
				s.Unlock()
				b.reported("Recovered an interrupted run", "Leases left open")
			}
		}
	}
}

// TestReaderKeepsForeignJournal checks that a command that only reads leaves the journal of another state in its place.
// Only if it needs a journal, it renames that journal, and keeps its leases in the list.
func TestReaderKeepsForeignJournal(t *testing.T) {
	b := newBench(t)
	s := b.lock(Request{Operation: operation.Apply})
	if _, err := s.Opening(object(t, "ephemeral.a.lease"), addr.Default("x")); err != nil {
		t.Fatal(err)
	}
	change(t, s, "a.x")
	die(t, s)
	file := filepath.Join(b.Dir, "terraform.tfstate")
	if err := os.WriteFile(file, []byte(`{"version":4,"serial":7,"lineage":"other","outputs":{},"resources":[]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	titles := []string{"Journal of another state", "Leases left open"}
	b.lock(Request{Operation: operation.Plan}).Unlock()
	b.reported(titles...)
	if !b.journals() {
		t.Fatal("a command that reads has moved the journal")
	}
	reader := b.lock(Request{Operation: operation.Plan})
	op, err := reader.Opening(object(t, "ephemeral.a.other"), addr.Default("x"))
	if err != nil {
		t.Fatal(err)
	}
	reader.Closed(op)
	reader.Unlock()
	b.reported(titles...)
	if _, err := os.Stat(file + ".journal.aside-1"); err != nil {
		t.Error(err)
	}
	if left, ok := ReadNotes(ctx, b.Env, b.store, store.Default); !ok || len(left.Leases) != 1 {
		t.Errorf("%+v %v", left, b.Bag.List())
	}

	// Without such a command, the journal is replayed when the state of its run is back.
	if err := errors.Join(os.Remove(file), os.Rename(file+".journal.aside-1", file+".journal")); err != nil {
		t.Fatal(err)
	}
	s = b.lock(Request{Operation: operation.Apply})
	defer s.Unlock()
	if s.Snapshot().Get(object(t, "a.x")) == nil {
		t.Error("the change of the killed run is lost")
	}
}

// TestNoCopyOfRepeatableChange checks that a command that changes only the state writes no file if the store refuses
// the result.
func TestNoCopyOfRepeatableChange(t *testing.T) {
	b := newBench(t)
	b.store = broken{b.store}
	s := b.lock(Request{Operation: operation.Move})
	if s.Save(with(t, s.Snapshot(), "a.x")) {
		t.Error("it was saved")
	}
	s.Unlock()
	detail := b.Bag.List()[0].Detail
	b.reported("Failed to save state")
	if entries, err := os.ReadDir(b.Dir); err != nil || len(entries) > 0 || !strings.Contains(detail, "has changed no real object") {
		t.Errorf("%s: files %v, %v", detail, entries, err)
	}
}

// TestEmptyJournal checks that a journal without a record, as a loss of power leaves it, prevents neither the leases of a
// plan nor an apply without a lock, and that these do not replace a journal that another run has begun meanwhile.
func TestEmptyJournal(t *testing.T) {
	for _, of := range []operation.Operation{operation.Plan, operation.Apply} {
		b := newBench(t)
		path := filepath.Join(b.Dir, "terraform.tfstate.journal")
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		lock := func() *State {
			s, ok := Lock(ctx, b.Env, Request{Store: b.store, Name: store.Default, Operation: of, Lock: of == operation.Plan})
			if !ok {
				t.Fatal(b.Bag.List())
			}
			return s
		}
		s := lock()
		op, err := s.Opening(object(t, "ephemeral.a.lease"), addr.Default("x"))
		if err != nil {
			t.Errorf("%v: %v", of, err)
		}
		s.Closed(op)
		s.Unlock()
		if b.journals() {
			t.Errorf("%v: the journal stays", of)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		s = lock()
		other, err := journal.Create(path, journal.Header{Run: "other"}, journal.Options{Replace: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := other.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Opening(object(t, "ephemeral.a.lease"), addr.Default("x")); !errors.Is(err, journal.ErrExists) {
			t.Errorf("%v: the journal of another run: %v", of, err)
		}
		s.Unlock()
		if !b.journals() {
			t.Errorf("%v: the journal of another run is gone", of)
		}
	}
}

// TestStoreReplaced checks that no command uses a state if init has set up another backend since the command opened the
// store: before the command got the lock, or before it recorded its first change.
func TestStoreReplaced(t *testing.T) {
	b := newBench(t)
	moved := false
	req := Request{Store: b.store, Name: store.Default, Lock: true, Replaced: func() (diag.Diagnostic, bool) {
		return diag.Errorf("Backend configuration changed", "It moved."), moved
	}}
	s, ok := Lock(ctx, b.Env, req)
	if !ok {
		t.Fatal(b.Bag.List())
	}
	moved = true
	if _, ok := s.Record(); ok {
		t.Error("a change is recorded in the former place")
	}
	b.reported("Backend configuration changed")
	s.Unlock()
	if _, ok := Lock(ctx, b.Env, req); ok {
		t.Error("the former place is used")
	}
	b.reported("Backend configuration changed")
	b.lock(Request{}).Unlock() // the lock was released
}

// TestSelectInPlace checks that a workspace is selected if only the file with the selection can be written, and that a
// kill at each call leaves the former or the new selection. Other users may read the file.
func TestSelectInPlace(t *testing.T) {
	b := newBench(t)
	shared := filepath.Join(b.Dir, "shared")
	if err := os.WriteFile(shared, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	b.FS = noNewFiles{disk.OS, fs.ErrPermission}
	if err := b.Select("w"); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("without a file: %v", err)
	}
	for _, names := range [][2]string{{"w", "longer"}, {"longer", "w"}} {
		for at, done := 1, false; !done; at++ {
			b.FS = disk.OS
			if err := b.Select(names[0]); err != nil {
				t.Fatal(err)
			}
			faults := &disktest.Faults{FS: noNewFiles{disk.OS, fs.ErrPermission}, At: at, Err: errors.New("off"), Dead: true}
			b.FS = faults
			err := b.Select(names[1])
			done = faults.Calls() < at
			b.FS = disk.OS
			if mode := modeOf(t, b.selection()); mode != modeOf(t, shared) {
				t.Errorf("call %d: the mode is %v", at, mode)
			}
			if now := b.Selected(); now != names[1] && (now != names[0] || err == nil) {
				t.Errorf("call %d: %q is selected, %v", at, now, err)
			}
		}
	}
}

func modeOf(t *testing.T, path string) fs.FileMode {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode()
}
