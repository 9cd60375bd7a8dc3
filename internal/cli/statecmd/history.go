package statecmd

import (
	"bytes"
	"context"
	"fmt"
	"strconv"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/session"
	"github.com/lethe-iac/lethe/internal/cli/states"
	"github.com/lethe-iac/lethe/internal/cli/workdir"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/operation"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/view"
	"github.com/lethe-iac/lethe/internal/view/historypage"
	"github.com/lethe-iac/lethe/internal/view/stateview"
)

const noHistory = "No history of the state"

// past is the history of a workspace: the current state, and the former states that its store keeps.
type past struct {
	c         *base.Call
	states    *states.States
	store     store.Historian
	workspace string          // the name of the selected workspace
	now       *state.Snapshot // the current state
}

// pastOf opens the store of the selected workspace, to read the former states that the store keeps. The parameter now
// is the current state. pastOf reports an error and returns false if the store cannot be opened or keeps no former
// states.
func pastOf(ctx context.Context, c *base.Call, st *states.States, now *state.Snapshot) (past, bool) {
	out := past{c: c, states: st, workspace: workdir.Workspaces(c).Selected(), now: now}
	opened, ok := st.OpenStore(ctx)
	if !ok {
		return past{}, false
	}
	can := opened.Capabilities()
	switch {
	case can.History != nil:
		out.store = can.History
	case can.Service != nil && now != nil:
		v := &versions{service: can.Service, states: st, now: now, bag: &c.Bag}
		switch found, err := v.find(ctx, out.workspace); {
		case err != nil:
			c.Bag.Add(diag.Errorf("Failed to load state", "The earlier versions of the state cannot be listed: %s.", err))
		case !found:
			c.Bag.Add(diag.Errorf(noHistory, "The service of the backend keeps no earlier versions of the state. A bucket or a container keeps the versions that are written after its versions were switched on."))
		default:
			out.store = v
		}
	default:
		c.Bag.Add(diag.Errorf(noHistory, "The backend %q keeps no former states. Local states, the backend \"pg\" with layout = \"rows\", buckets with versions, and services like HCP Terraform do.", opened.Type))
	}
	return out, out.store != nil
}

// readPast reads the current state without a lock, and opens the store with its former states. If a state or the store
// cannot be read, or the store keeps no former states, it reports an error and returns false.
func readPast(ctx context.Context, c *base.Call, st *states.States) (past, bool) {
	now, ok := st.Read(ctx)
	switch {
	case !ok:
		return past{}, false
	case now == nil:
		_, problem := lost(ctx, c, st)
		c.Bag.Add(problem)
		return past{}, false
	}
	return pastOf(ctx, c, st, now)
}

// lost returns the former states of a workspace without a state, the latest first, and the error about the missing
// state. The list is empty if the store keeps no former states or cannot be read.
func lost(ctx context.Context, c *base.Call, st *states.States) ([]store.Past, diag.Diagnostic) {
	problem := noState()
	opened, ok := st.OpenStore(ctx)
	if !ok || opened.Capabilities().History == nil {
		return nil, problem
	}
	kept, err := opened.Capabilities().History.History(ctx, workdir.Workspaces(c).Selected())
	if err != nil || len(kept) == 0 {
		return nil, problem
	}
	serials := ""
	for _, p := range kept {
		serials += fmt.Sprintf(", %d", p.Serial)
	}
	problem.Detail = fmt.Sprintf("The state of the workspace is missing, but former states are kept. Their serials: %s. They lack the changes of the last command that wrote the state. To restore the latest, run: lethe state restore %d", serials[2:], kept[0].Serial)
	return kept, problem
}

// serialOf parses a serial number in an operand. It reports an error and returns false if the text is not a number.
func serialOf(c *base.Call, text string) (uint64, bool) {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		c.Bag.Add(diag.Errorf("Invalid serial", "The serial of a state is a whole number, not %q. To list the stored serials, run: lethe state history", text))
	}
	return n, err == nil
}

// at returns the state with a serial number. If the store does not keep this state, it adds an error and returns false.
func (t past) at(ctx context.Context, serial uint64) (*state.Snapshot, bool) {
	if serial == t.now.Serial {
		return t.now, true
	}
	return t.former(ctx, serial, &t.c.Bag)
}

// former returns the former state with a serial number. If the store does not keep the state, or cannot read it, former
// adds an error to bag and returns false.
func (t past) former(ctx context.Context, serial uint64, bag *diag.Bag) (*state.Snapshot, bool) {
	data, err := t.store.Former(ctx, t.workspace, store.Past{Serial: serial})
	switch {
	case err != nil:
		bag.Add(diag.Errorf("Failed to load state", "The state with the serial %d cannot be read: %s.", serial, err))
		return nil, false
	case data == nil:
		bag.Add(diag.Errorf("No state with that serial", "No state with the serial %d is stored. To list the stored serials, run: lethe state history", serial))
		return nil, false
	}
	return t.states.OpenState(ctx, data, fmt.Sprintf("The state is the former state with the serial %d.", serial), bag)
}

// History is the command `state history`.
var History = &base.Command{
	Name: "state history", Short: "List former states",
	Long: "Lists the current state and the former states that the backend keeps, newest first.\nFor each state it shows the time, the writer and the command, if they are known, and\nthe number of objects that were added, changed and removed.",
	Examples: [][2]string{
		{"lethe state history", "List former states"},
		{"lethe state history -html=history.html", "Write who changed what and when as a page"},
	},
	Setup: base.Flags(func(c *base.Call, f *historyFlags) {
		c.Flags.StringVar(&f.page, "html", "", "Write the history as a page without values to this `file`, with the objects that each state changed.")
		c.JSONFlag()
		f.VarFlags(c)
		f.StateFlag(c)
	}, runHistory),
	Result: true,
}

type historyFlags struct {
	workdir.Options
	page string
}

func runHistory(ctx context.Context, c *base.Call, f *historyFlags) int {
	if f.page != "" && c.View.JSON {
		c.Bag.Add(diag.Errorf("Wrong combination of options", "The options -html and -json cannot be used together."))
		return c.UI.Fail()
	}
	if err := disk.MayReplace(c.Path(f.page)); f.page != "" && err != nil {
		c.Bag.Add(unwritten(f.page, err))
		return c.UI.Fail()
	}
	st, ok := states.Open(c, &f.Options)
	if !ok {
		return c.UI.Fail()
	}
	t, ok := readPast(ctx, c, st)
	if !ok {
		return c.UI.Fail()
	}
	kept, err := t.store.History(ctx, t.workspace)
	if err != nil {
		c.Bag.Add(diag.Errorf("Failed to load state", "The former states cannot be listed: %s.", err))
		return c.UI.Fail()
	}
	if f.page != "" {
		t.page(ctx, f.page, kept)
		return c.UI.DoneDocument()
	}
	t.count(ctx, kept)
	if c.View.JSON {
		err = stateview.HistoryJSON(c.Stdout, kept)
	} else {
		err = stateview.HistoryText(c.Stdout, kept)
	}
	if err != nil {
		c.Bag.Add(diag.Errorf("Failed to show the history", "%s.", err))
	}
	return c.UI.DoneDocument()
}

// overriddenStates is the maximum number of states that count reads to find objects whose prevent_destroy was
// overridden, if the store counts the changes itself. Otherwise count reads all states.
const overriddenStates = 20

// read returns the state with a serial number. It returns false, without an error in the bag of the command, if the
// store does not keep this state or cannot read it.
func (t past) read(ctx context.Context, serial uint64) (*state.Snapshot, bool) {
	if serial == t.now.Serial {
		return t.now, true
	}
	return t.former(ctx, serial, &diag.Bag{})
}

func unwritten(file string, err error) diag.Diagnostic {
	return diag.Errorf("Failed to write the page", "The page of the history cannot be written to %s: %s.", file, disk.Reason(err))
}

// page writes the history as a page to a file. The page shows no changes for the oldest state, and for a state if this
// state, or the state before it, cannot be read. page reports an error if the page cannot be written.
func (t past) page(ctx context.Context, file string, kept []store.Past) {
	var list []historypage.Writing
	var aside diag.Bag
	after := t.now
	for i, p := range kept {
		w := historypage.Writing{Past: p}
		if i+1 < len(kept) {
			before, ok := t.former(ctx, kept[i+1].Serial, &aside)
			if ok && after != nil {
				w.Changes = view.NewStateDifference(before, after)
			}
			after = before
		}
		list = append(list, w)
	}
	var b bytes.Buffer
	err := historypage.Write(&b, list, historypage.Options{Workspace: t.workspace, Scrub: t.c.Secrets.Scrub})
	text, ok := t.c.Guarded(b.Bytes(), "<!doctype html>")
	if err == nil && ok {
		err = disk.Replace(t.c.FS(), t.c.Path(file), text)
	}
	switch {
	case err != nil:
		t.c.Bag.Add(unwritten(file, err))
	case ok:
		t.c.UI.Line("Wrote the history of the state to " + file + ".")
	}
}

// count compares each state in kept with the state before it, and sets the counts of changes in kept. It does not
// compare states if the store has set the counts. It also sets the objects whose prevent_destroy was overridden. One
// warning lists the states that cannot be read, for example because a former key encrypts them.
func (t past) count(ctx context.Context, kept []store.Past) {
	var aside diag.Bag
	missingText := ""
	after := t.now
	for i := 0; i < min(len(kept), overriddenStates) && kept[i].Counts != nil; i++ {
		if s, ok := t.read(ctx, kept[i].Serial); ok {
			kept[i].Overridden = s.Overridden()
		}
	}
	// If the store has set the counts of the newest state, the loop ends at once: the other states have no counts because
	// the store could not compare them.
	for i := 0; i+1 < len(kept) && kept[i].Counts == nil; i++ {
		before, ok := t.former(ctx, kept[i+1].Serial, &aside)
		if !ok {
			missingText += fmt.Sprintf(", %d", kept[i+1].Serial)
		}
		if ok && after != nil {
			n := store.Counts{}
			n.Added, n.Changed, n.Removed = view.NewStateDifference(before, after).Counts()
			kept[i].Counts = &n
		}
		kept[i].Overridden, kept[i+1].Overridden = after.Overridden(), before.Overridden()
		after = before
	}
	if problems := aside.List(); len(problems) > 0 {
		t.c.Bag.Add(diag.Warningf("Former states not counted", "These states, or their predecessors, cannot be read, so their changes are not counted. Serials: %s. %s", missingText[2:], problems[0].Detail))
	}
}

// Diff is the command `state diff`.
var Diff = &base.Command{
	Name: "state diff", Args: "SERIAL [SERIAL]", Short: "Show the differences between two states",
	Long: "Compares the state with the first serial with the state with the second serial, or\nwith the current state, and shows the objects and outputs that differ. Sensitive\nvalues are hidden, as in \"state show\". With -json, the document contains them.\n\nLocal states, states in rows, in buckets that keep versions and in services like\nHCP Terraform have former states. For other backends, download a former version with\nthe tool of the service.",
	Examples: [][2]string{
		{"lethe state diff 12", "Show the changes since the state with the serial 12"},
		{"lethe state diff 12 15", "Compare two states"},
	},
	Setup: base.Flags(func(c *base.Call, f *workdir.Options) {
		c.JSONFlag()
		f.VarFlags(c)
		f.StateFlag(c)
		c.SensitiveFlag()
	}, runDiff),
	Result: true,
}

func runDiff(ctx context.Context, c *base.Call, f *workdir.Options) int {
	var serials []uint64
	for _, text := range c.Operands {
		n, ok := serialOf(c, text)
		if !ok {
			return c.UI.Fail()
		}
		serials = append(serials, n)
	}
	opened, ok := session.Open(c, f, operation.None)
	if !ok {
		return c.UI.Fail()
	}
	t, ok := readPast(ctx, c, opened.States)
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
		err = diff.JSON(c.Stdout, opened.Schemas())
	} else {
		err = diff.Text(c.Stdout, opened.Schemas(), c.ViewOptions())
	}
	if err != nil {
		c.Bag.Add(diag.Errorf("Failed to show the difference", "%s.", err))
	}
	return c.UI.DoneDocument()
}

// Restore is the command `state restore`.
var Restore = &base.Command{
	Name: "state restore", Args: "SERIAL", Short: "Restore a former state",
	Long: "Writes the content of a former state again, under the next serial. Real objects are\nnot touched. Objects that were created since are no longer managed. Objects that were\ndestroyed since are found missing by the next plan.",
	Examples: [][2]string{
		{"lethe state restore 12", "Restore the state that had the serial 12"},
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
	workdir.Options
	autoApprove bool
}

func runRestore(ctx context.Context, c *base.Call, f *restoreFlags) int {
	serial, ok := serialOf(c, c.Operands[0])
	if !ok {
		return c.UI.Fail()
	}
	st, ws, ok := locked(ctx, c, &f.Options, operation.Restore)
	if !ok {
		return c.UI.Fail()
	}
	var kept []store.Past
	if ws.Missing() {
		var problem diag.Diagnostic
		if kept, problem = lost(ctx, c, st); len(kept) == 0 {
			c.Bag.Add(problem)
			return c.UI.Fail()
		}
	}
	now := ws.Snapshot()
	t, ok := pastOf(ctx, c, st, now)
	if !ok {
		return c.UI.Fail()
	}
	then, ok := t.at(ctx, serial)
	if !ok {
		return c.UI.Fail()
	}
	if !ws.Missing() && then.Lineage != now.Lineage {
		c.Bag.Add(diag.Errorf("State of another lineage", "The state with the serial %d has the lineage %q, but the current state has %q. It describes other objects and cannot be restored here.", serial, then.Lineage, now.Lineage))
		return c.UI.Fail()
	}
	diff := view.NewStateDifference(now, then)
	if diff.Empty() {
		c.UI.Print(fmt.Sprintf("The state equals the state with the serial %d. Nothing was written.\n", serial))
		return c.UI.Done(base.ExitOK)
	}
	write := ws.Save
	if ws.Missing() { // the missing state had a later serial than its former states
		e := then.WithOverridden(nil).Edit()
		e.Head().Serial, e.Head().Version = kept[0].Serial+2, base.Version
		then, write = e.Done(), ws.Put
	}
	if !agreed(c, diff, serial, f.autoApprove) || !write(then) {
		return c.UI.Fail()
	}
	c.UI.Print(fmt.Sprintf("The state with the serial %d was restored. It has the serial %d now.\n", serial, ws.Snapshot().Serial))
	return c.UI.Done(base.ExitOK)
}

// agreed prints the changes of a restore to the state with this serial, asks for approval, and reports whether the user
// approved. approved is true with -auto-approve: then agreed does not ask.
func agreed(c *base.Call, diff *view.StateDifference, serial uint64, approved bool) bool {
	c.UI.Print(c.Renamed(fmt.Sprintf("Lethe will restore the state with the serial %d:\n\n", serial)))
	for _, d := range diff.Objects {
		switch {
		case d.Before == nil:
			c.UI.Print(fmt.Sprintf("  + %s returns to the state\n", d.Object))
		case d.After == nil:
			c.UI.Print(fmt.Sprintf("  - %s is no longer managed\n", d.Object))
		default:
			c.UI.Print(fmt.Sprintf("  ~ %s returns to its former attributes\n", d.Object))
		}
	}
	if n := len(diff.Outputs); n > 0 {
		c.UI.Print(fmt.Sprintf("  ~ outputs: %d\n", n))
	}
	c.UI.Print(c.Renamed("\nReal objects are not touched. Run \"lethe plan\" afterwards, to see how they differ\nfrom the state.\n"))
	return c.Approve(base.Approval{Given: approved, Title: "Do you want to restore this state?", Use: "-auto-approve", Refused: "Cancelled restoring the state."})
}
