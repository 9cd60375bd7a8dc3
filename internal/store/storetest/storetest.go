// Package storetest tests the contract of store.Store: the behavior of Get, Put, Delete, List and Lock. The test of an
// implementation calls Run with a function that opens the store.
//
//	storetest.go         Run, with the list of tests
//	states.go            tests of states and workspaces
//	locks.go             tests of locks
//	races.go             several writers at the same time
//	members.go           RunMembers, for stores in which several runs work on parts of one state
//	redirect.go          Redirects, for clients of HTTP services
//	suite.go             helpers of the tests
//	divided.go, http.go  a store in memory and a server, for tests of other packages
//	interrupt.go         handlers that break connections, and RunInterrupted
package storetest

import (
	"context"
	"testing"

	"github.com/lethe-iac/lethe/internal/store"
)

// Run tests a store. fresh creates a new, empty place for states, and returns a function that opens stores on this
// place. Each opened store represents another process.
func Run(t *testing.T, fresh func(t *testing.T) (open func() store.Store)) {
	run(t, fresh, (*suite).unchanged)
}

// RunChosen is Run for a store whose service chooses the IDs of locks, and keeps only the operation and the owner of a
// lock.
func RunChosen(t *testing.T, fresh func(t *testing.T) (open func() store.Store)) {
	run(t, fresh, (*suite).chosen)
}

// run tests a store. known returns the description of a lock of the default workspace as other processes receive it.
func run(t *testing.T, fresh func(t *testing.T) (open func() store.Store), known func(*suite, store.LockInfo) store.LockInfo) {
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
		t.Run(tt.name, func(t *testing.T) { tt.test(&suite{t, fresh(t), context.Background(), known}) })
	}
}
