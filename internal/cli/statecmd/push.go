package statecmd

import (
	"context"
	"slices"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/project"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/workspace"
)

// Push is `state push`.
var Push = &base.Command{
	Name: "state push", Args: "PATH", Short: "Update remote state from a local state file",
	Long: "Update remote state from a local state file at PATH. If PATH is \"-\" then\nthe state is read from standard input.",
	Examples: [][2]string{
		{"lethe state push errored.tfstate", "Store the state that could not be stored"},
	},
	Setup: base.Flags(func(c *base.Call, f *pushFlags) {
		f.VarFlags(c)
		f.LockFlags(c)
		c.Flags.BoolVar(&f.force, "force", false, "Write even if lineages differ, or the stored serial is higher, or the same of another state, or what is stored cannot be read.")
	}, runPush),
}

type pushFlags struct {
	project.Options
	force bool
}

func runPush(ctx context.Context, c *base.Call, f *pushFlags) int {
	p, ok := project.Open(c, &f.Options)
	if !ok {
		return c.UI.Fail()
	}
	pushed, ok := ReadFile(ctx, p, c.Operands[0])
	if !ok {
		return c.UI.Fail()
	}
	p.Replaces, p.Overwrites = f.force, true
	ws, ok := p.LockState(ctx, "", "state-push")
	if !ok {
		return c.UI.Fail()
	}
	if !f.force && !follows(ws, pushed, &c.Bag) || !ws.Put(pushed) {
		return c.UI.Fail()
	}
	return c.UI.Done(base.ExitOK)
}

// follows refuses to overwrite a state with one of another lineage, an older one, or one beside it. A state that has nothing
// may be overwritten by any, and a state without a lineage is compared with none: older programs wrote such states.
func follows(ws *workspace.State, pushed *state.Snapshot, bag *diag.Bag) bool {
	have := ws.Snapshot()
	switch {
	case have == nil || have.Len() == 0 && len(have.Outputs) == 0:
	case have.Lineage == "" || pushed.Lineage == "":
	case have.Lineage != pushed.Lineage:
		bag.Add(diag.Errorf("Failed to write state", "Cannot import state with lineage %q over unrelated state with lineage %q, which may be that of another configuration. To replace that one all the same, use -force.", pushed.Lineage, have.Lineage))
		return false
	case pushed.Serial < have.Serial:
		bag.Add(diag.Errorf("Failed to write state", "Cannot import state with serial %d over newer state with serial %d: the changes made since then would be lost. To replace the newer one all the same, use -force.", pushed.Serial, have.Serial))
		return false
	case pushed.Serial == have.Serial && !sameObjects(have, pushed) && !goesOn(ws, pushed):
		bag.Add(diag.Errorf("Failed to write state", "Cannot overwrite existing state with serial %d with a different state that has the same serial: each was written without the other. Compare them: \"lethe state pull\" shows the one that is there, and -force replaces it.", have.Serial))
		return false
	}
	return true
}

// sameObjects reports whether two states differ in outputs and check results at most, as that of a run which could not
// write it does from what is recovered from its journal. Those are worked out again by the next run.
func sameObjects(have, pushed *state.Snapshot) bool {
	head := have.Edit().Head()
	head.Outputs, head.Checks = pushed.Outputs, pushed.Checks
	return state.Equal(head, pushed)
}

// goesOn reports whether a state has all that this command has recovered of lost runs: it is then that of such a run, which
// could not write the state and not all of its journal either.
func goesOn(ws *workspace.State, pushed *state.Snapshot) bool {
	restored := ws.Restored()
	return len(restored) > 0 && !slices.ContainsFunc(state.Differences(ws.Snapshot(), pushed), func(d state.Difference) bool { return slices.Contains(restored, d.Object) })
}
