package workspace

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/transfer"
)

// Transfer is a transfer of objects from one locked state to another.
type Transfer struct {
	Source, Target         *State
	NextSource, NextTarget *state.Snapshot
	Record                 *transfer.Record
}

// Write writes the record of the transfer to both directories, and then the target state and the source state. If it is
// interrupted, the next command in one of the directories finishes or undoes the transfer. After an error, it reports
// the error to the bag of the source and returns false.
func (t *Transfer) Write(ctx context.Context) bool {
	bag := t.Source.env.Bag
	for _, x := range t.sides() {
		next := x.state.following(x.next, t.Record.ID)
		data, err := next.Bytes()
		if err != nil {
			bag.Add(diag.Errorf("Failed to save state", "%s. Nothing was moved.", err))
			return false
		}
		*x.side = x.state.side()
		x.side.Before = transfer.VersionOf(x.state.Snapshot(), x.state.Snapshot().Digest())
		x.side.After = transfer.VersionOf(next, state.DigestOf(data))
		*x.to = next
	}
	// Write the record of the source first, so that the source has a record whenever the target has one.
	for _, x := range slices.Backward(t.sides()) {
		if err := x.state.writeRecord(ctx, t.Record, x.role); err != nil {
			t.remove()
			bag.Add(Problem(err, diag.Errorf("Failed to save state", "The record of the transfer cannot be written to %s: %s. Nothing was moved.", x.side.File, disk.Reason(err))))
			return false
		}
	}
	if _, err := t.Target.write(t.NextTarget); err != nil {
		return t.targetFailed(ctx, err)
	}
	if _, err := t.Source.write(t.NextSource); err != nil {
		bag.Add(unfinished("The state of the target %s was written and has the objects, but the state of the source %s could not be written: %s", t.Record, err))
		return false
	}
	if err := t.remove(); err != nil {
		bag.Add(diag.Warningf("Record of a transfer not removed", "All objects were moved, but the record of the transfer cannot be removed: %s. The next command removes it.", disk.Reason(err)))
	}
	return true
}

func unfinished(format string, r *transfer.Record, err error) diag.Diagnostic {
	return diag.Errorf("Transfer not finished", format+" The next command that changes one of the states finishes the transfer. Until then, commands that read show each object in one state.", r.Target.Dir, r.Source.Dir, sentence(err))
}

// targetFailed reports that the write of the target state failed, and returns false. It first reads the target state,
// because the store may have written it nevertheless.
func (t *Transfer) targetFailed(ctx context.Context, why error) bool {
	s := t.Target
	data, _, err := s.req.Store.Get(context.WithoutCancel(ctx), s.req.Name)
	var now *state.Snapshot
	if err == nil && len(data) > 0 {
		var bag diag.Bag
		if read, ok := state.Read(data, &bag); ok {
			now = read
		} else {
			err = errors.New("it cannot be read")
		}
	}
	if err == nil && !slices.Contains(now.Transfers(), t.Record.ID) {
		err = t.remove()
		if err == nil {
			t.Source.env.Bag.Add(diag.Errorf("Failed to save state", "The state of the target %s could not be written: %s Nothing was moved.", t.Record.Target.Dir, sentence(why)))
			return false
		}
	}
	t.Source.env.Bag.Add(unfinished("The state of the target %s was perhaps not written, and the state of the source %s is unchanged: %s", t.Record, why))
	return false
}

// remove removes the records in both directories, first the record of the target. If that fails, the record of the
// source stays.
func (t *Transfer) remove() error {
	if err := removeRecord(t.Target.env.FS, string(t.Record.Target.File)); err != nil {
		return err
	}
	return removeRecord(t.Source.env.FS, string(t.Record.Source.File))
}

// transferSide has the data of one side of a transfer. The fields to and side point to the fields of Transfer for this
// side.
type transferSide struct {
	role  transfer.Role
	state *State
	next  *state.Snapshot
	to    **state.Snapshot
	side  *transfer.Side
}

func (t *Transfer) sides() []transferSide {
	return []transferSide{
		{transfer.Target, t.Target, t.NextTarget, &t.NextTarget, &t.Record.Target},
		{transfer.Source, t.Source, t.NextSource, &t.NextSource, &t.Record.Source},
	}
}

// following returns next with the serial and the lineage for a write after the present state. Its list of transfers has
// id.
func (s *State) following(next *state.Snapshot, id string) *state.Snapshot {
	next = next.WithTransfer(id)
	if next.Lineage == "" && s.doc.snapshot.Lineage == "" { // the journal has the same new lineage
		e := next.Edit()
		e.Head().Lineage = s.record.lineage
		next = e.Done()
	}
	out, _ := state.Next(s.doc.snapshot, next, s.env.Version)
	return out
}

// side returns the directory, workspace and record file of a state.
func (s *State) side() transfer.Side {
	return transfer.Side{Dir: transfer.Path(s.env.Dir), Workspace: s.req.Name, File: transfer.Path(recordFile(s.env, s.req.Store, s.req.Name))}
}

// writeRecord writes the record of a transfer beside the journal. If the state is encrypted, the record is encrypted,
// too.
func (s *State) writeRecord(ctx context.Context, r *transfer.Record, role transfer.Role) error {
	data := r.For(role)
	if seal := s.req.Store.Capabilities().Sealer; seal != nil && seal.Encrypts() {
		var err error
		if data, err = seal.Seal(ctx, data); err != nil {
			return err
		}
	}
	file := recordFile(s.env, s.req.Store, s.req.Name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return disk.Replace(s.env.FS, file, data)
}

// Place returns a text that identifies the state on this machine: two states with the same text are the same state. It
// returns "" if the store cannot identify the state.
func (s *State) Place() string { return PlaceOf(s.env, s.req.Store, s.req.Name) }

// BackupPlace returns the place of the backup of a state in the form of Place, or "" if the store writes no backup.
func BackupPlace(s *State) string { return BackupPlaceOf(s.env, s.req.Store, s.req.Name) }
