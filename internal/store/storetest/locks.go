package storetest

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/lethe-iac/lethe/internal/store"
)

func (s *suite) lock() {
	a, b := s.open(), s.open()
	s.put(a, store.Default, state(1), "")
	who := store.NewLockInfo("OperationTypeApply", "1.2.3")
	unlock, err := a.Lock(s.ctx, store.Default, who)
	if err != nil {
		s.Fatal(err)
	}
	for _, st := range []store.Store{a, b} {
		_, err = st.Lock(s.ctx, store.Default, store.NewLockInfo("other", "1"))
		var held *store.LockError
		if !errors.As(err, &held) || held.Held == nil {
			s.Fatalf("a second lock: %v", err)
		}
		h, want := held.Held, s.known(s, who)
		if h.ID != want.ID || h.Who != want.Who || h.Operation != want.Operation || h.Version != want.Version || !h.Created.Equal(want.Created) || h.Path == "" {
			s.Errorf("the holder is %+v, should be %+v", h, want)
		}
	}
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	if err := unlock(ctx); err != nil {
		s.Fatalf("unlock after the end of its context: %v", err)
	}
	s.lockIt(b, store.Default)()
	s.lockIt(a, store.Default)()
	if data, _ := s.get(b, store.Default); !bytes.Equal(data, state(1)) {
		s.Errorf("locking changed the state: %q", data)
	}
}

func (s *suite) lockStoresNothing() {
	a, b := s.open(), s.open()
	for _, ws := range s.kept(store.Default, "w") {
		unlock := s.lockIt(a, ws)
		for _, st := range []store.Store{a, b} {
			if data, v := s.get(st, ws); data != nil || v != "" {
				s.Errorf("%q, locked, has %q", ws, data)
			}
			if names, _ := st.List(s.ctx); !slices.Equal(names, []string{store.Default}) {
				s.Errorf("List with %q locked: %v", ws, names)
			}
		}
		unlock()
		if data, _ := s.get(b, ws); data != nil {
			s.Errorf("%q, unlocked, has %q", ws, data)
		}
		unlock = s.lockIt(b, ws)
		s.put(b, ws, state(1), "")
		unlock()
		if data, _ := s.get(a, ws); !bytes.Equal(data, state(1)) {
			s.Errorf("%q, stored under the lock, has %q", ws, data)
		}
	}
}

func (s *suite) lockStays() {
	a, b := s.open(), s.open()
	unlock := s.lockIt(a, store.Default)
	v := store.Version("")
	for i := range 3 {
		v = s.put(a, store.Default, state(i), v)
		if _, err := b.Lock(s.ctx, store.Default, store.NewLockInfo("other", "1")); err == nil {
			s.Fatalf("after Put %d the lock is free", i)
		}
		if data, seen := s.get(b, store.Default); !bytes.Equal(data, state(i)) || seen != v {
			s.Fatalf("after Put %d there is %q", i, data)
		}
	}
	unlock()
	s.lockIt(b, store.Default)()
}

func (s *suite) lockSeparate() {
	var unlocks []func()
	for _, ws := range s.kept("w1", "w2", store.Default) {
		s.put(s.open(), ws, state(1), "")
	}
	for _, ws := range s.kept("w1", "w2", store.Default) {
		unlocks = append(unlocks, s.lockIt(s.open(), ws))
	}
	for _, unlock := range unlocks {
		unlock()
	}
}

func (s *suite) waiting() {
	a, b := s.open(), s.open()
	unlock := s.lockIt(a, store.Default)
	reported := make(chan *store.LockError, 9)
	go func() {
		<-reported
		v := s.put(a, store.Default, state(1), "")
		_ = s.put(a, store.Default, state(2), v)
		unlock()
	}()
	got, err := store.Acquire(s.ctx, b, store.Default, store.NewLockInfo("second", "1"), 30*time.Second, func(e *store.LockError) { reported <- e })
	if err != nil {
		s.Fatal(err)
	}
	if data, _ := s.get(b, store.Default); !bytes.Equal(data, state(2)) {
		s.Errorf("the second holder sees %q", data)
	}
	if _, err := a.Lock(s.ctx, store.Default, store.NewLockInfo("third", "1")); err == nil {
		s.Error("the lock is free again")
	}
	if err := got(s.ctx); err != nil {
		s.Error(err)
	}
}

func (s *suite) givingUp() {
	a, b := s.open(), s.open()
	defer s.lockIt(a, store.Default)()
	var held *store.LockError
	start := time.Now()
	if _, err := store.Acquire(s.ctx, b, store.Default, store.NewLockInfo("second", "1"), 150*time.Millisecond, nil); !errors.As(err, &held) {
		s.Errorf("after the timeout: %v", err)
	}
	if took := time.Since(start); took < 150*time.Millisecond {
		s.Errorf("gave up after %v", took)
	}
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	if _, err := store.Acquire(ctx, b, store.Default, store.NewLockInfo("third", "1"), time.Hour, func(*store.LockError) { cancel() }); !errors.As(err, &held) {
		s.Errorf("after the end of the context: %v", err)
	}
}

func (s *suite) breaking() {
	a := s.open()
	br := a.Capabilities().Breaker
	if br == nil {
		s.Skip("locks of this store cannot be broken")
	}
	s.put(a, store.Default, state(1), "")
	var wrong *store.LockError
	if err := br.Break(s.ctx, store.Default, "none"); !errors.As(err, &wrong) {
		s.Errorf("breaking a lock that is not there: %v", err)
	}
	who := store.NewLockInfo("test", "1")
	unlock, err := a.Lock(s.ctx, store.Default, who)
	if err != nil {
		s.Fatal(err)
	}
	if err := s.open().Capabilities().Breaker.Break(s.ctx, store.Default, "other"); !errors.As(err, &wrong) || wrong.Held == nil || wrong.Held.ID != s.id(who) {
		s.Errorf("breaking a lock by another ID: %v", err)
	}
	if err := unlock(s.ctx); err != nil {
		s.Error(err)
	}
	if err := unlock(s.ctx); err == nil {
		s.Error("a lock was given back twice")
	}
}

// lockAndBreak locks the default workspace of a, and breaks that lock with br. It returns the function with which the
// former holder releases the lock.
func (s *suite) lockAndBreak(a store.Store, br store.Breaker) (unlock func(context.Context) error) {
	s.Helper()
	who := store.NewLockInfo("first", "1")
	unlock, err := a.Lock(s.ctx, store.Default, who)
	if err != nil {
		s.Fatal(err)
	}
	if err := br.Break(s.ctx, store.Default, s.id(who)); err != nil {
		s.Fatalf("breaking: %v", err)
	}
	return unlock
}

// stolen checks that the former holder of a broken lock cannot overwrite a newer state, because of its version.
func (s *suite) stolen() {
	a, b := s.open(), s.open()
	br := b.Capabilities().Breaker
	if br == nil || b.Capabilities().Files != nil {
		s.Skip("locks of this store end with their process")
	}
	v := s.put(a, store.Default, state(1), "")
	unlock := s.lockAndBreak(a, br)
	second := s.lockIt(b, store.Default)
	newer := s.put(b, store.Default, state(2), v)
	if _, err := a.Put(s.ctx, store.Default, state(9), v); err == nil {
		s.Error("the holder of a lock that was taken away has overwritten a newer state")
	}
	if err := unlock(s.ctx); err == nil {
		s.Error("a lock that was taken away was given back")
	}
	if data, now := s.get(b, store.Default); !bytes.Equal(data, state(2)) || now != newer {
		s.Errorf("there is %q of version %q", data, now)
	}
	if _, err := a.Lock(s.ctx, store.Default, store.NewLockInfo("third", "1")); err == nil {
		s.Error("the lock of the second is free")
	}
	second()
}

// unlocked checks that the former holder of a broken lock can write the state if it was not written since.
func (s *suite) unlocked() {
	a, b := s.open(), s.open()
	br := b.Capabilities().Breaker
	if br == nil || b.Capabilities().Files != nil {
		s.Skip("locks of this store end with their process")
	}
	v := store.Version("")
	for n := range 2 {
		unlock := s.lockAndBreak(a, br)
		v = s.put(a, store.Default, state(n+1), v)
		if data, _ := s.get(b, store.Default); !bytes.Equal(data, state(n+1)) {
			s.Errorf("there is %q", data)
		}
		_ = unlock(s.ctx) // the error is ignored, because the lock may no longer exist
		s.lockIt(b, store.Default)()
	}
}
