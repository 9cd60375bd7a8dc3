package storetest

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/store"
)

// RunMembers tests a store in which several runs work on parts of one state (store.ConcurrentStore). open creates a
// new, empty place for states, and returns a function that opens a store on this place, as another process would. A run
// that has joined is called a member.
func RunMembers(t *testing.T, open func(t *testing.T) func() store.Store) {
	for name, run := range map[string]func(*membership){
		"lock": (*membership).lock, "claims": (*membership).claims, "more claims": (*membership).more, "turns": (*membership).turns, "none": (*membership).none, "versions": (*membership).versions, "break": (*membership).broken,
	} {
		t.Run(name, func(t *testing.T) { run(&membership{t, open(t)}) })
	}
}

type membership struct {
	*testing.T
	open func() store.Store
}

func (s *membership) state() {
	s.Helper()
	if _, err := s.open().Put(context.Background(), store.Default, []byte("1"), ""); err != nil {
		s.Fatal(err)
	}
}

func (s *membership) try(name string) (store.Participant, error) {
	s.Helper()
	d := s.open().Capabilities().Concurrent
	if d == nil {
		s.Fatal("the store is not divisible")
	}
	return d.Join(context.Background(), store.Default, store.NewLockInfo(name, "1"))
}

func (s *membership) join(name string) store.Participant {
	s.Helper()
	m, err := s.try(name)
	if err != nil {
		s.Fatal(err)
	}
	return m
}

// held checks that err is a *store.LockError, and that the holder of the lock runs the operation in the argument by. It
// returns the name of the conflicting part, or "".
func (s *membership) held(err error, by string) string {
	s.Helper()
	var held *store.LockError
	var part *store.PartError
	if !errors.As(err, &held) || held.Held == nil || held.Held.Operation != by {
		s.Errorf("the error is %v, and not that %q has it", err, by)
	}
	if errors.As(err, &part) {
		return part.Part
	}
	return ""
}

func (s *membership) ok(err error) {
	s.Helper()
	if err != nil {
		s.Error(err)
	}
}

// lock checks that an exclusive lock and runs that have joined exclude each other.
func (s *membership) lock() {
	s.state()
	ctx := context.Background()
	a, b := s.join("a"), s.join("b")
	_, err := s.open().Lock(ctx, store.Default, store.NewLockInfo("c", "1"))
	var held *store.LockError
	if !errors.As(err, &held) || held.Held == nil {
		s.Fatalf("locked beside members: %v", err)
	}
	s.ok(a.Leave(ctx))
	_, err = s.open().Lock(ctx, store.Default, store.NewLockInfo("c", "1"))
	s.held(err, "b")
	s.ok(b.Leave(ctx))
	unlock, err := s.open().Lock(ctx, store.Default, store.NewLockInfo("c", "1"))
	if err != nil {
		s.Fatal(err)
	}
	_, err = s.try("d")
	s.held(err, "c")
	s.ok(unlock(ctx))
	s.ok(s.join("d").Leave(ctx))
}

// claims checks in which ways two members can use one part at the same time.
func (s *membership) claims() {
	s.state()
	ctx := context.Background()
	uses := []store.Use{store.Needs, store.Within, store.Changes, store.Needs | store.Within}
	beside := [][]bool{{true, false, false, false}, {false, true, false, false}, {false, false, false, false}, {false, false, false, false}}
	for i, u := range uses {
		for j, v := range uses {
			a, b := s.join("a"), s.join("b")
			s.ok(a.Claim(ctx, store.Parts{"x": store.Changes, "y": u}))
			err := b.Claim(ctx, store.Parts{"y": v, "z": store.Changes})
			if (err == nil) != beside[i][j] {
				s.Errorf("%d beside %d: %v", v, u, err)
			}
			if err != nil {
				if part := s.held(err, "a"); part != "y" {
					s.Errorf("the part is %q", part)
				}
				s.ok(a.Claim(ctx, store.Parts{"z": store.Changes})) // succeeds, because b has claimed nothing
			}
			s.ok(a.Leave(ctx))
			s.ok(b.Claim(ctx, store.Parts{"x": store.Changes, "y": v}))
			s.ok(b.Leave(ctx))
		}
	}
}

// more checks that a later claim adds to the earlier claims of a member.
func (s *membership) more() {
	s.state()
	ctx := context.Background()
	a, b := s.join("a"), s.join("b")
	s.ok(a.Claim(ctx, store.Parts{"x": store.Needs, "y": store.Within}))
	s.ok(a.Claim(ctx, store.Parts{"x": store.Changes}))
	s.held(b.Claim(ctx, store.Parts{"x": store.Needs}), "a")
	s.held(b.Claim(ctx, store.Parts{"y": store.Needs}), "a")
	s.ok(b.Claim(ctx, store.Parts{"y": store.Within}))
	s.held(a.Claim(ctx, store.Parts{"z": store.Changes, "y": store.Changes}), "b")
	s.ok(b.Claim(ctx, store.Parts{"z": store.Changes}))
	s.ok(a.Leave(ctx))
	s.ok(b.Leave(ctx))
}

// turns checks that no two members have the turn to write at the same time.
func (s *membership) turns() {
	s.state()
	ctx := context.Background()
	var wg sync.WaitGroup
	var inside, all atomic.Int64
	for range 6 {
		m := s.join("m")
		wg.Go(func() {
			for range 5 {
				done, err := m.Turn(ctx)
				if err != nil {
					s.Error(err)
					return
				}
				if inside.Add(1) != 1 {
					s.Error("two have a turn at once")
				}
				time.Sleep(time.Millisecond)
				inside.Add(-1)
				all.Add(1)
				s.ok(done(ctx))
			}
			s.ok(m.Leave(ctx))
		})
	}
	wg.Wait()
	if all.Load() != 30 {
		s.Errorf("%d turns", all.Load())
	}
}

// versions checks that Versioner, if the store has it, returns the same version as Get.
func (s *membership) versions() {
	ctx := context.Background()
	st := s.open()
	v := st.Capabilities().Versioner
	if v == nil {
		return
	}
	for n := range 3 {
		_, want, err := st.Get(ctx, store.Default)
		s.ok(err)
		got, err := v.Version(ctx, store.Default)
		s.ok(err)
		if got != want || (n == 0) != (got == "") {
			s.Errorf("%q instead of %q", got, want)
		}
		_, err = s.open().Put(ctx, store.Default, []byte{byte('1' + n)}, want)
		s.ok(err)
	}
}

// none checks that a run cannot join a state that does not exist.
func (s *membership) none() {
	if _, err := s.try("a"); !errors.Is(err, store.ErrNotPartial) {
		s.Errorf("joined where there is no state: %v", err)
	}
}

// broken checks that the lock of a member can be broken by its ID.
func (s *membership) broken() {
	s.state()
	ctx := context.Background()
	a, b := s.join("a"), s.join("b")
	s.ok(b.Claim(ctx, store.Parts{"x": store.Changes}))
	breaker := s.open().Capabilities().Breaker
	if breaker == nil {
		return
	}
	var held *store.LockError
	err := a.Claim(ctx, store.Parts{"x": store.Changes})
	if !errors.As(err, &held) || held.Held == nil {
		s.Fatal(err)
	}
	if err := breaker.Break(ctx, store.Default, held.Held.ID); err != nil {
		s.Fatal(err)
	}
	s.ok(a.Claim(ctx, store.Parts{"x": store.Changes}))
	if err := b.Claim(ctx, store.Parts{"x": store.Needs}); err == nil {
		s.Error("it still has what was taken away")
	}
	s.ok(a.Leave(ctx))
}
