package workspace

import (
	"context"

	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/journal"
	"github.com/lethe-iac/lethe/internal/store"
)

// Read reads a state without a lock. It returns nil if the workspace has no state. The result includes the changes in
// journals of running and crashed runs, in the directory and in the store. Journals that cannot be read, or that do not
// belong to the state, are omitted without an error. If the state cannot be read, Read reports an error and returns
// false.
func Read(ctx context.Context, env *Env, st store.Store, name string) (*state.Snapshot, bool) {
	s, v, ok := read(ctx, env, Request{Store: st, Name: name}, nil)
	if !ok {
		return nil, false
	}
	found := v != ""
	var here runs
	if r, err := journal.RecoverRest(env.FS, journalFile(env, st, name), s, sealing(st), already(ctx, st, name)); err == nil && r != nil {
		s, found, here = r.Snapshot, true, runs{r.Header}
	}
	stored, _ := store.OrphanedJournals(ctx, st, name)
	for _, j := range stored {
		if r, err := journal.Replay(j.Data, s, sealing(st)); err == nil && !here.same(r.Header) {
			s, found = r.Snapshot, true
		}
	}
	if !found {
		return nil, true
	}
	return withoutTransferred(ctx, env, st, name, s)
}
