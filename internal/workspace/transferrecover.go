package workspace

import (
	"context"
	"fmt"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/operation"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/journal"
	"github.com/lethe-iac/lethe/internal/state/parts"
	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/transfer"
)

// transfer finishes or undoes an unfinished transfer, if a record exists. After an error, it reports the error and
// returns false.
func (rc *recovery) transfer(ctx context.Context) bool {
	env, file := rc.env, recordFile(rc.env, rc.req.Store, rc.req.Name)
	if rc.req.Operation.Policy().ReadOnly || !rc.lock.held() {
		s, ok := withoutTransferred(ctx, env, rc.req.Store, rc.req.Name, rc.doc.snapshot)
		if ok {
			rc.doc.snapshot = s
		}
		return ok
	}
	r, err := transferRecord(ctx, env, rc.req.Store, rc.req.Name)
	switch {
	case err != nil:
		env.Bag.Add(unreadableRecord(env, file, err))
		return false
	case r == nil:
		return true
	case !r.Concerns(rc.doc.snapshot):
		aside, err := journal.Aside(env.FS, file)
		if err != nil {
			aside = file
		}
		env.Bag.Add(diag.Warningf("Record of another state", "The record of an unfinished transfer does not belong to the state, which was replaced. It was not used. It is kept as %s.", relative(env, aside)))
		return true
	case r.Role == transfer.Target:
		return rc.finishSource(ctx, r, file)
	}
	return rc.finish(ctx, r, file)
}

// finishSource finishes the transfer for a command in the target directory: it recovers the state of the source, and
// removes the record of the target. If that fails, it reports an error and returns false.
func (rc *recovery) finishSource(ctx context.Context, r *transfer.Record, file string) bool {
	there, st, ok := other(ctx, rc.env, r, file)
	if !ok {
		return false
	}
	if ok := rc.take(ctx, there, Request{
		Store: st, Name: r.Source.Workspace, Operation: operation.Transfer, Lock: true, Timeout: rc.req.Timeout, Waiting: rc.req.Waiting, Releasing: rc.req.Releasing,
		arrived: &arrived{r.ID, rc.doc.snapshot},
	}); !ok {
		rc.env.Bag.Add(unreachable(rc.env, r, file, sentences(there.Bag)))
		there.Bag.Clear()
		return false
	}
	rc.env.Bag.Move(there.Bag)
	if left, err := ownRecord(there, r, string(r.Source.File)); err != nil || left {
		rc.env.Bag.Add(unreachable(rc.env, r, file, fmt.Sprintf("The directory uses another state than at the time of the transfer: its record %s remains.", r.Source.File)))
		return false
	}
	return rc.removed(removeRecord(rc.env.FS, file))
}

// finish finishes the transfer for a command in the source directory: if the target has the objects, finish removes
// them from the source state. If that fails, it reports an error and returns false.
func (rc *recovery) finish(ctx context.Context, r *transfer.Record, file string) bool {
	var there *state.Snapshot
	ok := true
	if known := rc.req.arrived; known != nil && known.id == r.ID {
		there = known.target
	} else if there, ok = target(ctx, rc.env, r, file); !ok {
		return false
	}
	if r.Arrived(there, rc.doc.snapshot) {
		if ok := rc.lose(ctx, r); !ok {
			return false
		}
		rc.env.Bag.Add(diag.Warningf("Finished an interrupted transfer", "A transfer of %s to %s was interrupted after the state there was written. It is finished now.", diag.Counted(len(r.Objects), "object", "objects"), r.Target.Dir))
	} else {
		rc.env.Bag.Add(diag.Warningf("Interrupted transfer had no effect", "A transfer of %s from %s to %s was interrupted before a state was written. Nothing was moved.", diag.Counted(len(r.Objects), "object", "objects"), r.Source.Dir, r.Target.Dir))
	}
	err := removeOther(rc.env, r, string(r.Target.File)) // first, so that the source has its record whenever the target has its record
	if err == nil {
		err = removeRecord(rc.env.FS, file)
	}
	return rc.removed(err)
}

// lose removes the transferred objects from the source state, and writes that state. After an error, it reports the
// error and returns false.
func (rc *recovery) lose(ctx context.Context, r *transfer.Record) bool {
	left, gone := r.Left(rc.doc.snapshot)
	if len(gone) == 0 {
		return true
	}
	if rc.lock.shared() {
		p := store.Parts{}
		for _, o := range gone {
			parts.Change(p, o.Instance)
		}
		done, ok := rc.claimParts(ctx, p)
		defer done()
		if !ok {
			return false
		}
		left, _ = r.Left(rc.doc.snapshot)
	}
	next, changed := state.Next(rc.doc.snapshot, left, rc.env.Version)
	if changed && !rc.put(next) {
		return false
	}
	return rc.doc.load(ctx)
}

// removed returns true if err is nil. Otherwise it reports err, the error of removing records of a transfer.
func (rc *recovery) removed(err error) bool {
	if err != nil {
		rc.env.Bag.Add(diag.Errorf("Transfer not finished", "The record of a transfer cannot be removed: %s.", disk.Reason(err)))
	}
	return err == nil
}

// removeRecord removes the record of a transfer durably. A missing record is no error.
func removeRecord(fsys disk.FS, file string) error { return journal.Remove(fsys, file) }

// ownRecord reports whether the file in the other directory has the record of the transfer r. A record that cannot be
// decrypted with the settings of this directory counts as that record.
func ownRecord(env *Env, r *transfer.Record, file string) (bool, error) {
	data, err := disk.Read(env.FS, file)
	if err != nil || data == nil {
		return false, err
	}
	found, err := transfer.Parse(data)
	return err != nil || found.ID == r.ID, nil
}

// removeOther removes the record of the transfer r in the other directory. If the file has the record of another
// transfer, it does nothing.
func removeOther(env *Env, r *transfer.Record, file string) error {
	own, err := ownRecord(env, r, file)
	if err != nil || !own {
		return err
	}
	return removeRecord(env.FS, file)
}
