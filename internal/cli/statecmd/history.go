package statecmd

import (
	"context"
	"fmt"
	"strconv"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/project"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/store"
	"github.com/lethe-iac/lethe/internal/view"
	"github.com/lethe-iac/lethe/internal/view/stateview"
)

const noHistory = "No history of the state"

// past are the states of a workspace: the present one, and the former ones that its store keeps.
type past struct {
	p         *project.Project
	store     store.Historian
	workspace string
	now       *state.Snapshot
}

// pastOf opens the store in use, as one that keeps former states, for the selected workspace.
func pastOf(ctx context.Context, p *project.Project, now *state.Snapshot) (past, bool) {
	out := past{p: p, workspace: project.Workspaces(p.Call).Selected(), now: now}
	st, ok := p.OpenStore(ctx)
	if !ok {
		return past{}, false
	}
	if out.store, ok = store.As[store.Historian](st.Store); !ok {
		p.Bag.Add(diag.Errorf(noHistory, "The backend %q keeps no former states. A local state has some, and so has the backend \"pg\" with layout = \"rows\".", st.Type))
	}
	return out, ok
}

// readPast is pastOf for commands that only read.
func readPast(ctx context.Context, c *base.Call, f *project.Options) (past, bool) {
	p, now, ok := readOnly(ctx, c, f)
	if !ok {
		return past{}, false
	}
	return pastOf(ctx, p, now)
}

// serialOf reads a serial that is an operand.
func serialOf(c *base.Call, text string) (uint64, bool) {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		c.Bag.Add(diag.Errorf("Invalid serial", "%q is not the serial of a state, which is a whole number. To see those that are kept, run: lethe state history", text))
	}
	return n, err == nil
}

// at gives the state that had a serial, or has it. One that is not kept is an error.
func (t past) at(ctx context.Context, serial uint64) (*state.Snapshot, bool) {
	if serial == t.now.Serial {
		return t.now, true
	}
	return t.former(ctx, serial)
}

func (t past) former(ctx context.Context, serial uint64) (*state.Snapshot, bool) {
	data, err := t.store.Former(ctx, t.workspace, serial)
	switch {
	case err != nil:
		t.p.Bag.Add(diag.Errorf("Failed to load state", "The state with the serial %d cannot be read: %s.", serial, err))
		return nil, false
	case data == nil:
		t.p.Bag.Add(diag.Errorf("No state with that serial", "No state with the serial %d is kept. To see those that are, run: lethe state history", serial))
		return nil, false
	}
	return t.p.OpenState(ctx, data, fmt.Sprintf("The state is the former one with the serial %d.", serial))
}

// History is `state history`.
var History = &base.Command{
	Name: "state history", Short: "List the states that are kept",
	Long: "Lists the present state and the former ones that the backend keeps, the latest first:\nwhen each was written, by whom and for what, as far as that is known, and how many\nobjects it added, changed and removed.",
	Examples: [][2]string{
		{"lethe state history", "List the states that are kept"},
	},
	Setup: base.Flags(func(c *base.Call, f *project.Options) {
		c.JSONFlag()
		f.VarFlags(c)
		f.StateFlag(c)
	}, runHistory),
	Result: true,
}

func runHistory(ctx context.Context, c *base.Call, f *project.Options) int {
	t, ok := readPast(ctx, c, f)
	if !ok {
		return c.UI.Fail()
	}
	states, err := t.store.History(ctx, t.workspace)
	if err != nil {
		c.Bag.Add(diag.Errorf("Failed to load state", "The former states cannot be listed: %s.", err))
		return c.UI.Fail()
	}
	t.count(ctx, states)
	if c.View.JSON {
		err = stateview.HistoryJSON(c.Stdout, states)
	} else {
		err = stateview.HistoryText(c.Stdout, states)
	}
	if err != nil {
		c.Bag.Add(diag.Errorf("Failed to show the history", "%s.", err))
	}
	return t.p.UI.DoneQuiet()
}

// count compares each state with the one before it, where the store has not. Of those that cannot be read, as under a
// former key, a user is told once: they are there all the same.
func (t past) count(ctx context.Context, states []store.Past) {
	bag, aside := t.p.Bag, &diag.Bag{}
	t.p.Bag = aside
	defer func() { t.p.Bag = bag }()
	unread := ""
	after := t.now
	for i := 0; i+1 < len(states) && states[i].Counts == nil; i++ { // a store counts all that can be
		before, ok := t.former(ctx, states[i+1].Serial)
		if !ok {
			unread += fmt.Sprintf(", %d", states[i+1].Serial)
		}
		if ok && after != nil {
			n := store.Counts{}
			n.Added, n.Changed, n.Removed = view.NewStateDifference(before, after).Counts()
			states[i].Counts = &n
		}
		after = before
	}
	if problems := aside.List(); len(problems) > 0 {
		bag.Add(diag.Warningf("Former states not counted", "What changed with these states is not known, because they, or those before them, cannot be read. Their serials: %s. %s", unread[2:], problems[0].Detail))
	}
}

// Diff is `state diff`.
var Diff = &base.Command{
	Name: "state diff", Args: "SERIAL [SERIAL]", Short: "Show what two states differ in",
	Long: "Shows the objects and outputs that differ between the state with the first serial\nand that with the second, or the present one. What is sensitive is hidden, as in\n\"state show\"; with -json it is in the document, with what is sensitive in it.",
	Examples: [][2]string{
		{"lethe state diff 12", "Show what changed since the state with the serial 12"},
		{"lethe state diff 12 15", "Compare two states"},
	},
	Setup: base.Flags(func(c *base.Call, f *project.Options) {
		c.JSONFlag()
		f.VarFlags(c)
		f.StateFlag(c)
		c.SensitiveFlag()
	}, runDiff),
	Result: true,
}

func runDiff(ctx context.Context, c *base.Call, f *project.Options) int {
	var serials []uint64
	for _, text := range c.Operands {
		n, ok := serialOf(c, text)
		if !ok {
			return c.UI.Fail()
		}
		serials = append(serials, n)
	}
	t, ok := readPast(ctx, c, f)
	if !ok {
		return c.UI.Fail()
	}
	sides := []*state.Snapshot{nil, t.now}
	for i, n := range serials {
		if sides[i], ok = t.at(ctx, n); !ok {
			return c.UI.Fail()
		}
	}
	diff := view.NewStateDifference(sides[0], sides[1])
	var err error
	if c.View.JSON {
		err = diff.JSON(c.Stdout, t.p.Schemas())
	} else {
		err = diff.Text(c.Stdout, t.p.Schemas(), c.ViewOptions())
	}
	if err != nil {
		c.Bag.Add(diag.Errorf("Failed to show the difference", "%s.", err))
	}
	return t.p.UI.DoneQuiet()
}

// Restore is `state restore`.
var Restore = &base.Command{
	Name: "state restore", Args: "SERIAL", Short: "Make a former state the present one",
	Long: "Writes the content of the state with that serial again, under the next serial.\nReal objects are not touched: what was created since is no longer managed, and what was\ndestroyed since is found to be missing when the next plan looks.",
	Examples: [][2]string{
		{"lethe state restore 12", "Put the state back that had the serial 12"},
	},
	Setup: base.Flags(func(c *base.Call, f *restoreFlags) {
		c.Flags.BoolVar(&f.autoApprove, "auto-approve", false, "Skip interactive approval.")
		c.Flags.BoolVar(&f.autoApprove, "force", false, "Skip interactive approval.")
		f.VarFlags(c)
		f.LockFlags(c)
		f.StateFlag(c)
	}, runRestore),
}

type restoreFlags struct {
	project.Options
	autoApprove bool
}

func runRestore(ctx context.Context, c *base.Call, f *restoreFlags) int {
	serial, ok := serialOf(c, c.Operands[0])
	if !ok {
		return c.UI.Fail()
	}
	p, ok := project.Open(c, &f.Options)
	if !ok {
		return c.UI.Fail()
	}
	ws, ok := p.LockState(ctx, "", "state-restore")
	if !ok {
		return c.UI.Fail()
	}
	if ws.Missing() {
		c.Bag.Add(noState())
		return c.UI.Fail()
	}
	now := ws.Snapshot()
	t, ok := pastOf(ctx, p, now)
	if !ok {
		return c.UI.Fail()
	}
	then, ok := t.at(ctx, serial)
	if !ok {
		return c.UI.Fail()
	}
	if then.Lineage != now.Lineage {
		c.Bag.Add(diag.Errorf("State of another lineage", "The state with the serial %d has the lineage %q, and the present one has %q: it is the state of other objects.", serial, then.Lineage, now.Lineage))
		return c.UI.Fail()
	}
	diff := view.NewStateDifference(now, then)
	if diff.Empty() {
		c.UI.Print(fmt.Sprintf("The state is what it was with the serial %d. Nothing was written.\n", serial))
		return c.UI.Done(base.ExitOK)
	}
	if !agreed(c, diff, serial, f.autoApprove) || !ws.Save(then) {
		return c.UI.Fail()
	}
	c.UI.Print(fmt.Sprintf("The state with the serial %d was restored. It has the serial %d now.\n", serial, ws.Snapshot().Serial))
	return c.UI.Done(base.ExitOK)
}

// agreed says what is about to happen, and asks.
func agreed(c *base.Call, diff *view.StateDifference, serial uint64, approved bool) bool {
	c.UI.Print(c.Renamed(fmt.Sprintf("Lethe will put back the state with the serial %d:\n\n", serial)))
	for _, d := range diff.Objects {
		switch {
		case d.Before == nil:
			c.UI.Print(fmt.Sprintf("  + %s is in the state again\n", d.Object))
		case d.After == nil:
			c.UI.Print(fmt.Sprintf("  - %s is no longer managed\n", d.Object))
		default:
			c.UI.Print(fmt.Sprintf("  ~ %s is recorded as it was\n", d.Object))
		}
	}
	if n := len(diff.Outputs); n > 0 {
		c.UI.Print(fmt.Sprintf("  ~ outputs: %d\n", n))
	}
	c.UI.Print(c.Renamed("\nReal objects are not touched. Run \"lethe plan\" afterwards, to see how they differ\nfrom the state.\n"))
	return c.Approve(base.Approval{Given: approved, Title: "Do you want to restore this state?", Use: "-auto-approve", Refused: "Cancelled restoring the state."})
}
