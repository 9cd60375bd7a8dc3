// Package storetest tests the contract of store.Store: the behavior of its five methods. The test of an implementation
// calls Run with a function that opens the store.
package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/store"
)

// Run tests a store. fresh creates a new, empty place for states, and returns a function that opens stores on it. Each
// opened store represents another process.
func Run(t *testing.T, fresh func(t *testing.T) (open func() store.Store)) { run(t, false, fresh) }

// RunChosen is Run for a store whose service chooses the IDs of locks, and keeps only their operations and owners.
func RunChosen(t *testing.T, fresh func(t *testing.T) (open func() store.Store)) { run(t, true, fresh) }

func run(t *testing.T, chosen bool, fresh func(t *testing.T) (open func() store.Store)) {
	for _, tt := range []struct {
		name string
		test func(*suite)
	}{
		{"nothing stored", (*suite).nothing},
		{"what is put is there", (*suite).putGet},
		{"a stale put fails", (*suite).stale},
		{"bytes are copied", (*suite).copied},
		{"workspaces", (*suite).workspaces},
		{"places", (*suite).places},
		{"names", (*suite).names},
		{"deletion", (*suite).deletion},
		{"a lock excludes", (*suite).lock},
		{"a lock stores nothing", (*suite).lockStoresNothing},
		{"a lock stays over puts", (*suite).lockStays},
		{"locks of workspaces are separate", (*suite).lockSeparate},
		{"waiting for a lock", (*suite).waiting},
		{"giving up on a lock", (*suite).givingUp},
		{"breaking a lock", (*suite).breaking},
		{"a lock that was taken away", (*suite).stolen},
		{"a lock that was taken away and is free", (*suite).unlocked},
		{"no write is lost without a lock", (*suite).race},
		{"no write is lost with a lock", (*suite).lockedRace},
	} {
		t.Run(tt.name, func(t *testing.T) { tt.test(&suite{t, fresh(t), context.Background(), chosen}) })
	}
}

type suite struct {
	*testing.T
	open   func() store.Store
	ctx    context.Context
	chosen bool // see RunChosen
}

// state returns a state in the format of Terraform. The store need not understand it. Between two numbers, an output
// and one object differ, and another object is the same.
func state(n int) []byte {
	return []byte(fmt.Sprintf(`{
  "version": 4,
  "terraform_version": "1.11.4",
  "serial": %[1]d,
  "lineage": "l",
  "outputs": {
    "o": {
      "value": %[1]d,
      "type": "number"
    }
  },
  "resources": [
    {
      "mode": "managed",
      "type": "terraform_data",
      "name": "a",
      "provider": "provider[\"terraform.io/builtin/terraform\"]",
      "instances": [
        {
          "index_key": "stays",
          "schema_version": 0,
          "attributes": {
            "id": "x"
          },
          "sensitive_attributes": []
        },
        {
          "index_key": %[1]d,
          "schema_version": 0,
          "attributes": {
            "id": "y"
          },
          "sensitive_attributes": []
        }
      ]
    }
  ],
  "check_results": null
}
`, n))
}

// places checks that two processes return the same place for a state.
func (s *suite) places() {
	a, b := s.open().Capabilities().Place, s.open().Capabilities().Place
	if _, kept := s.open().(*store.Memory); kept {
		return // store.Memory has no place
	}
	if a == nil || b == nil {
		s.Fatal("it does not say where states are")
	}
	if a.Place(store.Default) != b.Place(store.Default) || !store.Single(s.ctx, s.open()) && a.Place(store.Default) == a.Place("w") {
		s.Errorf("%q, %q, and %q", a.Place(store.Default), b.Place(store.Default), a.Place("w"))
	}
}

func (s *suite) get(st store.Store, workspace string) ([]byte, store.Version) {
	s.Helper()
	data, v, err := st.Get(s.ctx, workspace)
	if err != nil {
		s.Fatalf("Get %q: %v", workspace, err)
	}
	return data, v
}

func (s *suite) put(st store.Store, workspace string, data []byte, prev store.Version) store.Version {
	s.Helper()
	v, err := st.Put(s.ctx, workspace, data, prev)
	if err != nil {
		s.Fatalf("Put %q: %v", workspace, err)
	}
	return v
}

func (s *suite) lockIt(st store.Store, workspace string) func() {
	s.Helper()
	unlock, err := st.Lock(s.ctx, workspace, store.NewLockInfo("test", "1"))
	if err != nil {
		s.Fatalf("Lock %q: %v", workspace, err)
	}
	return func() {
		s.Helper()
		if err := unlock(s.ctx); err != nil {
			s.Fatalf("unlock %q: %v", workspace, err)
		}
	}
}

// id returns the ID of a lock of the default workspace, as others know it.
func (s *suite) id(who store.LockInfo) string {
	s.Helper()
	if !s.chosen {
		return who.ID
	}
	_, err := s.open().Lock(s.ctx, store.Default, store.NewLockInfo("test", "1"))
	var held *store.LockError
	if !errors.As(err, &held) || held.Held == nil {
		s.Fatalf("a second lock: %v", err)
	}
	return held.Held.ID
}

func (s *suite) wantStale(_ store.Version, err error) {
	s.Helper()
	var stale *store.StaleError
	if !errors.As(err, &stale) {
		s.Fatalf("the error is %v, not a StaleError", err)
	}
}

// kept returns the workspaces that the store supports: all of them, the workspaces whose names its service accepts, or
// only the default one.
func (s *suite) kept(workspaces ...string) []string {
	s.Helper()
	st := s.open()
	return slices.DeleteFunc(workspaces, func(w string) bool {
		_, _, err := st.Get(s.ctx, w)
		return errors.Is(err, store.ErrOnly) || errors.Is(err, store.ErrName)
	})
}

func (s *suite) nothing() {
	st := s.open()
	for _, ws := range s.kept(store.Default, "other") {
		if data, v := s.get(st, ws); data != nil || v != "" {
			s.Errorf("%q has %q of version %q", ws, data, v)
		}
	}
	if names, err := st.List(s.ctx); err != nil || !slices.Equal(names, []string{store.Default}) {
		s.Errorf("List: %v, %v", names, err)
	}
}

func (s *suite) putGet() {
	a, b := s.open(), s.open()
	v := s.put(a, store.Default, state(1), "")
	data, seen := s.get(b, store.Default)
	if !bytes.Equal(data, state(1)) || seen != v || v == "" {
		s.Fatalf("%q of version %q, put as %q", data, seen, v)
	}
	v2 := s.put(b, store.Default, state(2), seen)
	if data, seen = s.get(a, store.Default); !bytes.Equal(data, state(2)) || seen != v2 || v2 == v {
		s.Fatalf("%q of version %q, put as %q", data, seen, v2)
	}
	size := 3 << 20
	if os.Getenv("LETHE_LONG") != "" {
		size = 50 << 20
	}
	large := append(state(3), bytes.Repeat([]byte(" "), size)...)
	s.put(a, store.Default, large, v2)
	if data, _ = s.get(b, store.Default); !bytes.Equal(data, large) {
		s.Fatalf("%d bytes came back of %d", len(data), len(large))
	}
}

func (s *suite) stale() {
	a, b := s.open(), s.open()
	s.wantStale(a.Put(s.ctx, store.Default, state(1), "nonsense"))
	if data, _ := s.get(b, store.Default); data != nil {
		s.Fatalf("a refused Put stored %q", data)
	}
	first := s.put(a, store.Default, state(1), "")
	s.wantStale(b.Put(s.ctx, store.Default, state(9), ""))
	second := s.put(b, store.Default, state(2), first)
	s.wantStale(a.Put(s.ctx, store.Default, state(9), first))
	if data, v := s.get(a, store.Default); !bytes.Equal(data, state(2)) || v != second {
		s.Fatalf("after a refused Put there is %q of version %q", data, v)
	}
}

func (s *suite) copied() {
	st := s.open()
	data := state(1)
	s.put(st, store.Default, data, "")
	data[0] = 'x'
	got, _ := s.get(st, store.Default)
	if !bytes.Equal(got, state(1)) {
		s.Fatalf("the stored bytes change with the caller's bytes: %q", got)
	}
	got[0] = 'y'
	if again, _ := s.get(st, store.Default); !bytes.Equal(again, state(1)) {
		s.Fatalf("the stored bytes change with the returned bytes: %q", again)
	}
}

func (s *suite) workspaces() {
	a, b := s.open(), s.open()
	all := s.kept("zeta", "alpha", store.Default, "a+b")
	for i, ws := range all {
		s.put(a, ws, state(i), "")
	}
	names, err := b.List(s.ctx)
	if want := s.kept(store.Default, "a+b", "alpha", "zeta"); err != nil || !slices.Equal(names, want) {
		s.Errorf("List: %v, %v", names, err)
	}
	for i, ws := range all {
		if data, _ := s.get(b, ws); !bytes.Equal(data, state(i)) {
			s.Errorf("%q has %q", ws, data)
		}
	}
}

func (s *suite) names() {
	st := s.open()
	for _, ws := range []string{"", ".", "..", "a/b", "../a", "a b", "é", "a\\b", "a\x00"} {
		if _, _, err := st.Get(s.ctx, ws); err == nil {
			s.Errorf("Get of %q", ws)
		}
		if _, err := st.Put(s.ctx, ws, state(1), ""); err == nil {
			s.Errorf("Put to %q", ws)
		}
		if err := st.Delete(s.ctx, ws); err == nil {
			s.Errorf("Delete of %q", ws)
		}
		if _, err := st.Lock(s.ctx, ws, store.NewLockInfo("test", "1")); err == nil {
			s.Errorf("Lock of %q", ws)
		}
	}
}

func (s *suite) deletion() {
	a, b := s.open(), s.open()
	for _, w := range s.kept("w") {
		v := s.put(a, w, state(1), "")
		if err := b.Delete(s.ctx, w); err != nil {
			s.Fatal(err)
		}
		if data, v := s.get(a, w); data != nil || v != "" {
			s.Errorf("a deleted workspace has %q", data)
		}
		if names, _ := a.List(s.ctx); !slices.Equal(names, []string{store.Default}) {
			s.Errorf("List: %v", names)
		}
		s.wantStale(a.Put(s.ctx, w, state(2), v))
		s.put(a, w, state(2), "")
		unlock := s.lockIt(b, w)
		if err := b.Delete(s.ctx, w); err != nil {
			s.Errorf("deleting under the lock: %v", err)
		}
		unlock()
		s.lockIt(a, w)()
		if names, _ := a.List(s.ctx); !slices.Equal(names, []string{store.Default}) {
			s.Errorf("List after a deletion under the lock: %v", names)
		}
		if err := b.Delete(s.ctx, "never"); err != nil {
			s.Errorf("deleting what is not there: %v", err)
		}
	}
	s.put(a, store.Default, state(1), "")
	if err := b.Delete(s.ctx, store.Default); err == nil {
		s.Error("the default workspace was deleted")
	}
}

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
		h := held.Held
		if s.chosen {
			h.Version, h.Created = who.Version, who.Created
		}
		if h.ID != s.id(who) || h.Who != who.Who || h.Operation != who.Operation || h.Version != who.Version || !h.Created.Equal(who.Created) || h.Path == "" {
			s.Errorf("the holder is %+v, should be %+v", h, who)
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

// stolen checks that the former holder of a broken lock cannot overwrite a newer state, because of its version.
func (s *suite) stolen() {
	a, b := s.open(), s.open()
	br := b.Capabilities().Breaker
	if br == nil || b.Capabilities().Files != nil {
		s.Skip("locks of this store end with their process")
	}
	v := s.put(a, store.Default, state(1), "")
	who := store.NewLockInfo("first", "1")
	unlock, err := a.Lock(s.ctx, store.Default, who)
	if err != nil {
		s.Fatal(err)
	}
	if err := br.Break(s.ctx, store.Default, s.id(who)); err != nil {
		s.Fatalf("breaking: %v", err)
	}
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

// unlocked checks that the former holder of a broken lock can write the state if nobody has written it since.
func (s *suite) unlocked() {
	a, b := s.open(), s.open()
	br := b.Capabilities().Breaker
	if br == nil || b.Capabilities().Files != nil {
		s.Skip("locks of this store end with their process")
	}
	v := store.Version("")
	for n := range 2 {
		who := store.NewLockInfo("first", "1")
		unlock, err := a.Lock(s.ctx, store.Default, who)
		if err != nil {
			s.Fatal(err)
		}
		if err := br.Break(s.ctx, store.Default, s.id(who)); err != nil {
			s.Fatalf("breaking: %v", err)
		}
		v = s.put(a, store.Default, state(n+1), v)
		if data, _ := s.get(b, store.Default); !bytes.Equal(data, state(n+1)) {
			s.Errorf("there is %q", data)
		}
		_ = unlock(s.ctx) // some stores have taken the lock again
		s.lockIt(b, store.Default)()
	}
}

const writers, writes = 5, 4

// count adds one to the number in the state. It returns false if the Put was stale, so that the caller repeats it.
func (s *suite) count(st store.Store) (done bool) {
	data, v, err := st.Get(s.ctx, store.Default)
	if err != nil {
		s.Errorf("Get: %v", err)
		return true
	}
	n, err := strconv.Atoi(string(bytes.TrimSpace(data)))
	if err != nil && data != nil {
		s.Errorf("half a state was read: %q", data)
		return true
	}
	_, err = st.Put(s.ctx, store.Default, []byte(strconv.Itoa(n+1)), v)
	var stale *store.StaleError
	if err != nil && !errors.As(err, &stale) {
		s.Errorf("Put: %v", err)
	}
	return err == nil
}

func (s *suite) total() {
	s.Helper()
	if data, _ := s.get(s.open(), store.Default); string(data) != strconv.Itoa(writers*writes) {
		s.Errorf("%d writes made it %q", writers*writes, data)
	}
}

func (s *suite) race() {
	var wg sync.WaitGroup
	for range writers {
		st := s.open()
		wg.Go(func() {
			for range writes {
				for !s.count(st) {
				}
			}
		})
	}
	wg.Wait()
	s.total()
}

func (s *suite) lockedRace() {
	var wg sync.WaitGroup
	for range writers {
		st := s.open()
		wg.Go(func() {
			for range writes {
				unlock, err := store.Acquire(s.ctx, st, store.Default, store.NewLockInfo("test", "1"), time.Minute, nil)
				if err != nil {
					s.Errorf("Acquire: %v", err)
					return
				}
				if !s.count(st) {
					s.Error("a Put under the lock was stale")
				}
				if err := unlock(s.ctx); err != nil {
					s.Errorf("unlock: %v", err)
				}
			}
		})
	}
	wg.Wait()
	s.total()
}
