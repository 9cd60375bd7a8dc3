package planning

import (
	"sync"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/engine/run"
	"github.com/lethe-iac/lethe/internal/object"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state"
)

// refreshedState is the prior state with the results of a plan: refreshed and imported objects, and results of data
// sources. The methods may be called concurrently.
type refreshedState struct {
	prior   *state.Snapshot
	hosts   run.Hosts
	holders *holders // the objects of the prior state by their names

	mu     sync.Mutex
	found  map[addr.Object]object.Current // refreshed and imported objects; a nil entry if the object no longer exists
	edit   *state.Edit
	drift  []*plan.Change
	doubts map[addr.Object]bool                  // see doubt
	misses map[addr.Object]addr.ProviderInstance // see miss
}

func newRefreshedState(prior *state.Snapshot, hosts run.Hosts) *refreshedState {
	return &refreshedState{prior: prior, hosts: hosts, found: map[addr.Object]object.Current{}, edit: prior.Edit()}
}

// get returns the current object. seen is false if the walk has not refreshed or imported the object, or has failed to
// do so. An object that was refreshed and no longer exists is seen, and has a nil entry.
func (s *refreshedState) get(o addr.Object) (cur object.Current, seen bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	cur, seen = s.found[o]
	return cur, seen
}

// unseen reports whether the prior state has an object that the walk has not refreshed.
func (s *refreshedState) unseen(o addr.Object) bool {
	_, seen := s.get(o)
	return !seen && s.prior.Get(o) != nil
}

// refresh records the current value of a stored object. stored is its entry in the prior state.
func (s *refreshedState) refresh(o addr.Object, cur object.Current, stored *state.Entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.found[o] = cur
	if cur.Entry != stored {
		s.edit.Put(o, cur.Entry)
	}
}

// adopt records an object that the plan imports. It does not add the object to the refreshed state, because apply adds
// it.
func (s *refreshedState) adopt(o addr.Object, cur object.Current) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.found[o] = cur
}

// put records the result of a data source in the refreshed state. If e is nil, put removes the result.
func (s *refreshedState) put(o addr.Object, e *state.Entry) {
	e = s.hosts.Hosted(o, e)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.edit.Put(o, e)
}

// doubt records that a later round (a further plan and apply) must decide about the object or data source o again: this
// walk knows o only from the state, or has used provider settings that a later round replaces.
func (s *refreshedState) doubt(o addr.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.doubts == nil {
		s.doubts = map[addr.Object]bool{}
	}
	s.doubts[o] = true
}

// miss records that a provider instance does not find an object.
func (s *refreshedState) miss(o addr.Object, by addr.ProviderInstance) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.misses == nil {
		s.misses = map[addr.Object]addr.ProviderInstance{}
	}
	s.misses[o] = by
}

// missed reports whether a provider instance was asked for an object and did not find it.
func (s *refreshedState) missed(o addr.Object, by addr.ProviderInstance) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.misses[o] == by
}

// drifted adds a change that was made outside of Lethe.
func (s *refreshedState) drifted(c *plan.Change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drift = append(s.drift, c)
}
