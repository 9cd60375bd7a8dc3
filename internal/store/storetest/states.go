package storetest

import (
	"bytes"
	"os"
	"slices"

	"github.com/lethe-iac/lethe/internal/store"
)

// places checks that two processes return the same place for a state.
func (s *suite) places() {
	a, b := s.open().Capabilities().Place, s.open().Capabilities().Place
	if _, kept := s.open().(*store.Memory); kept {
		return // store.Memory has no place, because it keeps states in memory
	}
	if a == nil || b == nil {
		s.Fatal("it does not say where states are")
	}
	if a.Place(store.Default) != b.Place(store.Default) || !store.Single(s.ctx, s.open()) && a.Place(store.Default) == a.Place("w") {
		s.Errorf("%q, %q, and %q", a.Place(store.Default), b.Place(store.Default), a.Place("w"))
	}
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
