package statecmd

import (
	"context"
	"slices"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/states"
	"github.com/lethe-iac/lethe/internal/cli/workdir"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/operation"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/workspace"
)

// Push is the command `state push`.
var Push = &base.Command{
	Name: "state push", Args: "PATH", Short: "Update remote state from a local state file",
	Long: "Update remote state from a local state file at PATH. If PATH is \"-\" then\nthe state is read from standard input.",
	Examples: [][2]string{
		{"lethe state push errored.tfstate", "Store the state that a failed run saved in this file"},
	},
	Setup: base.Flags(func(c *base.Call, f *pushFlags) {
		f.VarFlags(c)
		f.LockFlags(c)
		c.Flags.BoolVar(&f.force, "force", false, "Write even if the lineages differ, the stored serial is not lower, or the stored state cannot be read.")
	}, runPush),
}

type pushFlags struct {
	workdir.Options
	force bool
}

func runPush(ctx context.Context, c *base.Call, f *pushFlags) int {
	st, ok := states.Open(c, &f.Options)
	if !ok {
		return c.UI.Fail()
	}
	pushed, notes, ok := ReadFile(ctx, c, st, c.Operands[0])
	if !ok {
		return c.UI.Fail()
	}
	of := operation.Push
	if f.force {
		of = operation.ForcePush
	}
	l, ok := st.Lock(ctx, states.Locking{Operation: of})
	if !ok {
		return c.UI.Fail()
	}
	ws := l.State
	if !f.force && !follows(ws, pushed, &c.Bag) || !ws.Put(pushed) {
		return c.UI.Fail()
	}
	ws.Note(ws.Notes().Join(notes))
	return c.UI.Done(base.ExitOK)
}

// follows adds an error and returns false if the pushed state would replace a state of another lineage, a newer state,
// or a state with the same serial and other objects; goesOn permits some differences of the objects. An empty state may
// always be replaced. If a state has no lineage, the lineages are not compared: old programs write states without a
// lineage, and "state pull" prints such a state, with the serial 0, for a workspace without a state.
func follows(ws *workspace.State, pushed *state.Snapshot, bag *diag.Bag) bool {
	have := ws.Snapshot()
	switch {
	case have == nil || have.Len() == 0 && len(have.Outputs) == 0:
	case have.Lineage != "" && pushed.Lineage != "" && have.Lineage != pushed.Lineage:
		bag.Add(diag.Errorf("Failed to write state", "Cannot import state with lineage %q over unrelated state with lineage %q, which may belong to another configuration. To replace it anyway, use -force.", pushed.Lineage, have.Lineage))
		return false
	case pushed.Serial < have.Serial:
		bag.Add(diag.Errorf("Failed to write state", "Cannot import state with serial %d over newer state with serial %d: the newer changes would be lost. To replace it anyway, use -force.", pushed.Serial, have.Serial))
		return false
	case pushed.Serial == have.Serial && !sameObjects(have, pushed) && !goesOn(ws, pushed):
		bag.Add(diag.Errorf("Failed to write state", "Cannot overwrite existing state with serial %d with a different state that has the same serial. Compare it with the output of \"lethe state pull\". To replace the existing state anyway, use -force.", have.Serial))
		return false
	}
	return true
}

// sameObjects reports whether two states differ at most in outputs and check results. If a run could not write its
// state, its errored.tfstate differs in this way from the state that was recovered from the journal of the run (the
// file that records its changes). The next run computes outputs and checks again.
func sameObjects(have, pushed *state.Snapshot) bool {
	head := have.Edit().Head()
	head.Outputs, head.Checks = pushed.Outputs, pushed.Checks
	return state.Equal(head, pushed)
}

// goesOn reports whether this command has recovered changes of objects from journals, and the pushed state differs from
// the state of ws at most in these objects. Then the pushed state comes from the interrupted run, which could write
// neither the state nor its whole journal.
func goesOn(ws *workspace.State, pushed *state.Snapshot) bool {
	restored := ws.Restored()
	return len(restored) > 0 && !slices.ContainsFunc(state.Differences(ws.Snapshot(), pushed), func(d state.Difference) bool { return slices.Contains(restored, d.Object) })
}
