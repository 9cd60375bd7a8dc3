package statecmd

import (
	"cmp"
	"context"
	"fmt"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/workdir"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/operation"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/workspace"
)

// Mv is the command `state mv`.
var Mv = &base.Command{
	Name: "state mv", Args: "SOURCE DESTINATION", Short: "Move an item in the state",
	Long: `This command will move an item matched by the address given to the
destination address. This command can also move to a destination address
in a completely different state file.

The configuration is not changed. Before the next plan, rename the block
there as well: otherwise the plan creates an object at the source address,
and destroys the moved object. A "moved" block in the configuration does
the same as this command, and a plan shows it first.`,
	Examples: [][2]string{
		{"lethe state mv aws_instance.a aws_instance.b", "Give an object another address"},
		{"lethe state mv module.a module.b.module.a", "Move a module into another"},
		{"lethe state mv -dry-run aws_instance.a 'aws_instance.b[0]'", "Show the moves without making them"},
	},
	Setup: base.Flags(func(c *base.Call, f *mvFlags) {
		c.Flags.BoolVar(&f.dryRun, "dry-run", false, "Print the moves without making them.")
		c.Flags.StringVar(&f.backupOut, "backup-out", "", "Keep the previous content of -state-out in this `file`.")
		f.VarFlags(c)
		f.LockFlags(c)
		f.StateFlags(c)
		c.RemoteFlag()
	}, runMv),
}

type mvFlags struct {
	workdir.Options
	dryRun    bool
	backupOut string
}

func runMv(ctx context.Context, c *base.Call, f *mvFlags) int {
	ends, ok := workdir.Addresses(c, "address", c.Operands, nil)
	if !ok {
		return c.UI.Fail()
	}
	out := f.StateOut // the file of the destination; StateOut is cleared, because it would otherwise select the file to which the source is written
	f.StateOut = ""
	if out != "" {
		return moveInto(ctx, c, f, ends[0], ends[1], out)
	}
	return change(ctx, c, &f.Options, operation.Move, f.within(c, ends[0], ends[1]))
}

// within returns an edit for change: a function that moves the objects at one address to another within one state, and
// prints the moves.
func (f *mvFlags) within(c *base.Call, from, to addr.Target) func(*state.Snapshot) (*state.Snapshot, bool) {
	return func(s *state.Snapshot) (*state.Snapshot, bool) {
		next, _, done, ok := s.Mv(from, to, nil, &c.Bag)
		moved(c.UI, done, ok, f.dryRun)
		return next, ok && !f.dryRun
	}
}

// moved prints the moved objects. If dryRun is true, it prints the objects that would be moved. If ok is false, a move
// has failed, and moved prints no total.
func moved(ui *base.Screen, done []state.Renaming, ok, dryRun bool) {
	word := "Move"
	if dryRun {
		word = "Would move"
	}
	for _, m := range done {
		ui.Print(fmt.Sprintf("%s %q to %q\n", word, m.From, m.To))
	}
	if ok && !dryRun {
		ui.Print(fmt.Sprintf("Successfully moved %d object(s).\n", len(done)))
	}
}

// moveInto moves objects into the state in another file (out), and returns the exit code. It writes the destination
// before the source: if the second write fails, the objects are in both states, and no object is lost. If out is also
// the file of the source, moveInto moves the objects within that state. With -dry-run, it only prints the moves.
func moveInto(ctx context.Context, c *base.Call, f *mvFlags, from, to addr.Target, out string) int {
	f.Backup = cmp.Or(f.Backup, stamped(c, f.State))
	st, source, ok := locked(ctx, c, &f.Options, operation.Move)
	if !ok {
		return c.UI.Fail()
	}
	if source.Missing() {
		c.Bag.Add(noState())
		return c.UI.Fail()
	}
	req := st.Request(operation.MoveTo)
	req.Name, req.File = store.Default, out // a state file has only the default workspace
	backup := cmp.Or(f.backupOut, stamped(c, out))
	if backup != store.NoBackup {
		backup = c.Path(backup)
	}
	if req.Store, ok = st.Backend.OpenFile(c.Path(out), backup); !ok {
		return c.UI.Fail()
	}
	env := workdir.Workspaces(c)
	if source.Place() == workspace.PlaceOf(env, req.Store, req.Name) {
		if next, ok := f.within(c, from, to)(source.Snapshot()); ok && !source.Save(next) {
			return c.UI.Fail()
		}
		return c.UI.Done(base.ExitOK)
	}
	if is := workspace.PlaceOf(env, req.Store, req.Name); workspace.BackupPlace(source) == is || workspace.BackupPlaceOf(env, req.Store, req.Name) == source.Place() {
		c.Bag.Add(diag.Errorf("Wrong combination of options", "The backup of one of the two states would replace the other state. Nothing was moved. Name other files with -state-out, -backup and -backup-out."))
		return c.UI.Fail()
	}
	target, ok := workspace.Lock(ctx, env, req)
	if !ok {
		return c.UI.Fail()
	}
	c.AtEnd(target.Unlock)
	left, grown, done, ok := source.Snapshot().Mv(from, to, target.Snapshot(), &c.Bag)
	if !ok || !f.dryRun && !target.Save(grown) {
		return c.UI.Fail()
	}
	if !f.dryRun && !source.Save(left) {
		c.Bag.Annotate(fmt.Sprintf("The file %s has the objects already, so they are in both states. Before you run the command again, remove them from one of the states with \"lethe state rm\".", out))
		return c.UI.Fail()
	}
	moved(c.UI, done, ok, f.dryRun)
	return c.UI.Done(base.ExitOK)
}
