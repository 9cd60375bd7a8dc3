package storetest

import (
	"bytes"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/lethe-iac/lethe/internal/store"
)

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
