package workspace

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/operation"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/journal"
	"github.com/lethe-iac/lethe/internal/state/parts"
	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/store/storetest"
)

// counting is a store in memory that counts the calls of Get.
type counting struct {
	store.Memory
	gets int
}

func (c *counting) Get(ctx context.Context, name string) ([]byte, store.Version, error) {
	c.gets++
	return c.Memory.Get(ctx, name)
}

// uses returns the parts of commands that change objects.
func uses(t *testing.T, objects ...string) store.Parts {
	p := store.Parts{}
	for _, a := range objects {
		parts.Change(p, object(t, a).Instance)
	}
	return p
}

// reread returns a snapshot as a store returns it.
func reread(t *testing.T, s *state.Snapshot) *state.Snapshot {
	data, err := s.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	var bag diag.Bag
	out, ok := state.Read(data, &bag)
	if !ok {
		t.Fatal(bag.List())
	}
	return out
}

func TestLockIsReleasedOnce(t *testing.T) {
	b := newBench(t)
	l := lock{env: b.Env, req: &Request{Store: b.store, Name: store.Default}}
	if l.unlock(); l.held() || l.shared() || l.claimed() != nil {
		t.Error("a lock that was not taken is held")
	}
	if !l.acquire(ctx) || !l.held() || l.shared() {
		t.Fatal(b.Bag.List())
	}
	other := lock{env: b.Env, req: l.req}
	if other.acquire(ctx) || other.held() {
		t.Error("two commands hold the lock")
	}
	b.reported("Error acquiring the state lock")
	l.unlock()
	if l.unlock(); l.held() || !other.acquire(ctx) {
		t.Error("the lock is still held")
	}
	other.unlock()
	b.reported()
}

func TestClaimsOfAMemberAddUp(t *testing.T) {
	m := newTeam(t, "x_a.a")
	r, other := m.run(m.bench()), m.run(m.bench())
	defer r.s.Unlock()
	defer other.s.Unlock()
	for _, a := range []string{"x_a.a", "x_b.b"} {
		if err := r.s.lock.claim(ctx, uses(t, a), 0); err != nil {
			t.Fatal(err)
		}
	}
	for _, a := range []string{"x_a.a", "x_b.b"} {
		if !parts.Changes(r.s.lock.claimed(), object(t, a).Instance) {
			t.Errorf("%s is not claimed: %v", a, r.s.lock.claimed())
		}
	}
	free, held := uses(t, "x_c.c"), uses(t, "x_a.a")
	if refused := other.s.lock.claimAvailable([]store.Parts{free, held}); intersects(free, refused) || !intersects(held, refused) {
		t.Errorf("refused: %v", refused)
	}
}

func TestPresentStateIsNotReadAgainIfItsVersionIsTheSame(t *testing.T) {
	b := newBench(t)
	st := &counting{}
	d := document{env: b.Env, req: &Request{Store: st, Name: store.Default}}
	if !d.load(ctx) || d.version != "" || d.snapshot == nil {
		t.Fatal(b.Bag.List())
	}
	data, err := with(t, d.snapshot, "x_a.a").Bytes()
	if err != nil {
		t.Fatal(err)
	}
	if d.version, err = d.put(data); err != nil || d.snapshot.Len() != 0 {
		t.Errorf("put changes the snapshot: %v", err)
	}
	if !d.load(ctx) || d.snapshot.Len() != 1 {
		t.Fatal(b.Bag.List())
	}
	reads := st.gets
	now, version, ok := d.present(ctx)
	if !ok || version != d.version || st.Capabilities().Versioner != nil && (now != d.snapshot || st.gets != reads) {
		t.Errorf("read %d times", st.gets-reads)
	}
	if _, err := st.Put(ctx, store.Default, []byte(strings.Replace(string(data), "x_a", "x_b", 1)), d.version); err != nil {
		t.Fatal(err)
	}
	if now, _, ok := d.present(ctx); !ok || now.Get(object(t, "x_a.a")) != nil || d.snapshot.Get(object(t, "x_a.a")) == nil {
		t.Error("the former state is present, or the document has changed")
	}
}

func TestPlanIsOutdatedIfAnotherRunChangedItsParts(t *testing.T) {
	base := reread(t, with(t, &state.Snapshot{}, "x_a.a"))
	refreshed := with(t, base, "x_b.b")
	replaced := base.Edit()
	replaced.Head().Lineage = "other"
	for name, tt := range map[string]struct {
		now, fresh *state.Snapshot
		use        []string
		want       string
	}{
		"the same state":                      {base, nil, []string{"x_a.a"}, ""},
		"another object":                      {with(t, base, "x_b.b"), nil, []string{"x_a.a"}, ""},
		"a claimed object":                    {with(t, base, "x_b.b"), nil, []string{"x_b.b"}, "\n  x_b.b"},
		"a change that the plan has seen":     {refreshed, refreshed, []string{"x_b.b"}, ""},
		"a change that the plan has not seen": {with(t, base, "x_c.c"), refreshed, []string{"x_c.c"}, "\n  x_c.c"},
		"another lineage":                     {replaced.Done(), nil, []string{"x_a.a"}, "its lineage"},
	} {
		c := Claim{Base: base, Refreshed: tt.fresh, Parts: uses(t, tt.use...), Of: of}
		d := c.outdated(ctx, &store.Memory{}, store.Default, reread(t, tt.now))
		if (d != nil) != (tt.want != "") || d != nil && !strings.Contains(d.Detail, tt.want) {
			t.Errorf("%s: %v", name, d)
		}
	}
}

func TestRecoveryWritesUnlessTheOperationIsReadOnly(t *testing.T) {
	for _, of := range []operation.Operation{operation.Plan, operation.Apply} {
		b := newBench(t)
		s := b.lock(Request{Operation: operation.Apply})
		change(t, s, "x_a.a")
		die(t, s)
		n := newState(b.Env, Request{Store: b.store, Name: store.Default, Lock: true, Operation: of})
		if !n.lock.acquire(ctx) || !n.doc.load(ctx) {
			t.Fatal(b.Bag.List())
		}
		n.record = newRecorder(b.Env, n.req)
		if !n.recovery.local(ctx) || n.doc.snapshot.Len() != 1 {
			t.Errorf("not recovered: %v", b.Bag.List())
		}
		writes := !of.Policy().ReadOnly
		if writes != (n.doc.version != "") || writes != slices.Contains(n.recovery.restored, object(t, "x_a.a")) || writes == b.journals() {
			t.Errorf("%v: version %q, restored %v, a journal is left: %t", of, n.doc.version, n.recovery.restored, b.journals())
		}
		if len(n.recovery.replayed) != 1 {
			t.Errorf("replayed: %v", n.recovery.replayed)
		}
		n.Unlock()
	}
}

func TestOrphanedJournalsAreUnknownWithoutTheLock(t *testing.T) {
	m := newTeam(t, "x_a.a")
	n := newState(m.bench().Env, Request{Store: m.store, Name: store.Default})
	if all, err := n.recovery.orphans(ctx); len(all) > 0 || err != nil {
		t.Errorf("%v, %v", all, err)
	}
}

func TestRecorderOfAReadOnlyCommandWithoutLockWritesNoJournal(t *testing.T) {
	b := newBench(t)
	for _, tt := range []struct {
		of     operation.Operation
		lock   bool
		silent bool
	}{{operation.Plan, false, true}, {operation.Plan, true, false}, {operation.Apply, false, false}} {
		if r := newRecorder(b.Env, Request{Store: b.store, Name: store.Default, Lock: tt.lock, Operation: tt.of}); r.silent != tt.silent || r.journal != nil {
			t.Errorf("%+v", tt)
		}
	}
}

func TestRecorderKeepsTheJournalOfUnsavedChanges(t *testing.T) {
	for _, keep := range []bool{true, false} {
		b := newBench(t)
		r := newRecorder(b.Env, Request{Store: b.store, Name: store.Default, Operation: operation.Apply})
		if err := r.begin(&state.Snapshot{}); err != nil {
			t.Fatal(err)
		}
		r.keep = keep
		r.close(&state.Snapshot{}, b.store)
		if b.journals() != keep {
			t.Errorf("unsaved changes %t: the journal exists: %t", keep, b.journals())
		}
		r.notes = journal.Notes{}
		b.reported()
	}
}

// noNewFiles is a file system in which files can be overwritten, but not created. err is the reason.
type noNewFiles struct {
	disk.FS
	err error
}

func (n noNewFiles) OpenFile(name string, flag int, mode fs.FileMode) (disk.File, error) {
	if flag&os.O_CREATE != 0 {
		return nil, &fs.PathError{Op: "open", Path: name, Err: n.err}
	}
	return n.FS.OpenFile(name, flag, mode)
}

// TestNoPlaceForJournal checks the advice if a run cannot keep a journal in a read-only data directory.
func TestNoPlaceForJournal(t *testing.T) {
	b := newBench(t)
	b.store, b.FS = &store.Memory{}, noNewFiles{disk.OS, syscall.EROFS}
	s := b.lock(Request{Operation: operation.Apply})
	defer s.Unlock()
	if _, ok := s.Record(); ok {
		t.Error("a journal was begun")
	}
	list := b.Bag.List()
	if len(list) != 1 || !strings.Contains(list[0].Detail, "set TF_DATA_DIR to a writable directory") {
		t.Errorf("%v", list)
	}
}

// unusable is a participant whose Claim or Turn fails.
type unusable struct {
	store.Participant
	claim, turn error
}

func (u unusable) Claim(ctx context.Context, p store.Parts) error {
	return cmp.Or(u.claim, u.Participant.Claim(ctx, p))
}

func (u unusable) Turn(ctx context.Context) (func(context.Context) error, error) {
	if u.turn != nil {
		return nil, u.turn
	}
	return u.Participant.Turn(ctx)
}

// journalless is a divided store whose journals cannot be read.
type journalless struct {
	*storetest.Divided
	slowJournals
}

func (u *journalless) Capabilities() store.Capabilities {
	c := u.Divided.Capabilities()
	c.Journals = u
	return c
}

func (*journalless) Orphaned(context.Context, string) ([]store.OrphanedJournal, error) {
	return nil, errors.New("unreachable")
}

// TestJournalOfUsedPartsIsLeftToTheirRun checks that a journal in the store is left alone only if another run uses its
// parts. Each other error is reported, and the lock fails.
func TestJournalOfUsedPartsIsLeftToTheirRun(t *testing.T) {
	m := newTeam(t, "x_a.a")
	lost := m.run(m.bench())
	if !lost.claim("x_n.n") {
		t.Fatal(lost.Bag.List())
	}
	change(t, lost.s, "x_n.n")
	path := lost.s.record.path
	die(t, lost.s)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	down := errors.New("unreachable")
	for _, tt := range []struct {
		about       string
		claim, turn error
		ok          bool
		reported    []string
	}{
		{"used", &store.LockError{Err: &store.PartError{Part: "x_n.n"}}, nil, true, nil},
		{"no claim", down, nil, false, []string{"Error acquiring the state lock"}},
		{"no turn", nil, down, false, []string{"Error acquiring the state lock"}},
		{"no journals", nil, nil, false, []string{"Failed to read the journal"}},
	} {
		t.Run(tt.about, func(t *testing.T) {
			b := m.bench()
			b.T = t
			s := m.run(b).s
			defer s.Unlock()
			s.lock.share.participant = unusable{s.lock.share.participant, tt.claim, tt.turn}
			s.recovery.req.Store = &journalless{Divided: m.store}
			if ok := s.recovery.storedOne(ctx, store.OrphanedJournal{Run: "lost", Data: data}); ok != tt.ok {
				t.Errorf("storedOne returns %t", ok)
			}
			b.reported(tt.reported...)
		})
	}
}
