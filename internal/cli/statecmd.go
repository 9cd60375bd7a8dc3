package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/store"
	"github.com/lethe-iac/lethe/internal/view"
	"github.com/lethe-iac/lethe/internal/workspace"
)

var stateListCommand = &Command{
	Name: "state list", Args: "[address...]", Short: "List resources in the state",
	Long: "List resources in the state. This command lists resource instances in the state;\nthe address arguments can be used to filter the instances by resource or module.",
	Flags: func(c *call) {
		c.flags.StringVar(&c.opts.state, "state", "", "Read the state from this `file`.")
		c.flags.StringVar(&c.id, "id", "", "Only objects whose attribute \"id\" is this `ID`.")
	},
	Result: true,
	Run:    runStateList,
}

func runStateList(ctx context.Context, c *call) int {
	p, s, ok := c.stateOnly(ctx)
	if !ok {
		return c.ui.fail()
	}
	defer p.close()
	targets, ok := c.addresses("address", c.operands, nil)
	if !ok || !c.anyMatch(s, targets) {
		return c.ui.fail()
	}
	var found []addr.Object
	for o, e := range s.Objects() {
		if o.IsDeposed() || len(targets) > 0 && !slices.ContainsFunc(targets, func(t addr.Target) bool { return t.Contains(o.Instance) }) {
			continue
		}
		if c.id == "" || e.ID() == c.id {
			found = append(found, o)
		}
	}
	slices.SortFunc(found, state.Listed)
	for _, o := range found {
		c.ui.print(o.String() + "\n")
	}
	return c.ui.done(exitOK)
}

// anyMatch refuses an address that nothing in the state has.
func (c *call) anyMatch(s *state.Snapshot, targets []addr.Target) bool {
	for _, t := range targets {
		if len(s.Select(t)) == 0 {
			c.bag.Add(diag.Errorf("Unknown resource", "There is no object with the address %s in the state.", t))
			return false
		}
	}
	return true
}

// stateOnly opens the working directory for a command that looks at nothing but the state.
func (c *call) stateOnly(ctx context.Context) (*project, *state.Snapshot, bool) {
	p, ok := c.open()
	if !ok {
		return nil, nil, false
	}
	s, ok := p.readState(ctx)
	if ok && s == nil {
		c.bag.Add(noState())
		ok = false
	}
	if !ok {
		p.close()
	}
	return p, s, ok
}

func noState() diag.Diagnostic {
	return diag.Errorf("No state file was found!", "State management commands require a state file. Run this command in a directory where Lethe has been run or use the -state flag to point the command to a specific state location.")
}

var stateShowCommand = &Command{
	Name: "state show", Args: "ADDRESS", Short: "Show a resource in the state",
	Long: "Shows the attributes of a resource in the Lethe state.",
	Flags: func(c *call) {
		c.jsonFlag()
		c.flags.StringVar(&c.opts.state, "state", "", "Read the state from this `file`.")
		c.flags.BoolVar(&c.opts.showSecrets, "show-sensitive", false, "Show sensitive values.")
	},
	Run: runStateShow,
}

func runStateShow(ctx context.Context, c *call) int {
	if !c.between(1, 1) {
		return c.ui.fail()
	}
	p, s, ok := c.stateOnly(ctx)
	if !ok {
		return c.ui.fail()
	}
	defer p.close()
	i, err := addr.ParseInstance(c.operands[0])
	if err != nil {
		c.bag.Add(diag.Errorf("Error parsing instance address", "%s", err))
		return c.ui.fail()
	}
	e := s.Get(i.Current())
	if e == nil {
		c.bag.Add(diag.Errorf("No instance found for the given address!", "This command requires that the address references one specific instance. To view the available instances, use \"lethe state list\". Please modify the address to reference a specific instance."))
		return c.ui.fail()
	}
	if c.opts.json {
		err = view.ObjectJSON(c.Stdout, i.Current(), e, p.schemas())
	} else {
		err = view.ObjectText(c.Stdout, i.Current(), e, p.schemas(), p.viewOptions())
	}
	if err != nil {
		c.bag.Add(diag.Errorf("Failed to show the object", "%s.", err))
	}
	return p.doneQuiet()
}

var statePullCommand = &Command{
	Name: "state pull", Short: "Pull current state and output to stdout",
	Long: "Pull the state from its location, upgrade the local copy, and output it\nto stdout.",
	Run: func(ctx context.Context, c *call) int {
		p, ok := c.open()
		if !ok {
			return c.ui.fail()
		}
		defer p.close()
		s, ok := p.readState(ctx)
		if !ok {
			return c.ui.fail()
		}
		if s == nil {
			return c.ui.done(exitOK)
		}
		if err := s.Write(c.Stdout); err != nil {
			c.bag.Add(diag.Errorf("Failed to write state", "%s.", err))
		}
		return p.doneQuiet()
	},
}

var statePushCommand = &Command{
	Name: "state push", Args: "PATH", Short: "Update remote state from a local state file",
	Long: "Update remote state from a local state file at PATH. If PATH is \"-\" then\nthe state is read from standard input.",
	Flags: func(c *call) {
		c.lockFlags()
		c.flags.BoolVar(&c.force, "force", false, "Write even if lineages differ or the stored serial is higher.")
	},
	Run: runStatePush,
}

func runStatePush(ctx context.Context, c *call) int {
	if !c.between(1, 1) {
		return c.ui.fail()
	}
	pushed, ok := c.readPushed(c.operands[0])
	if !ok {
		return c.ui.fail()
	}
	p, ok := c.open()
	if !ok {
		return c.ui.fail()
	}
	defer p.close()
	ws, ok := p.lockState(ctx, "", "state-push")
	if !ok {
		return c.ui.fail()
	}
	defer ws.Unlock()
	if !c.force && !c.follows(ws.Snapshot(), pushed) || !ws.Put(pushed) {
		return c.ui.fail()
	}
	return c.ui.done(exitOK)
}

func (c *call) readPushed(name string) (*state.Snapshot, bool) {
	var data []byte
	var err error
	if name == "-" {
		data, err = io.ReadAll(c.Stdin)
	} else {
		data, err = os.ReadFile(c.path(name))
	}
	if err != nil {
		c.bag.Add(diag.Errorf("Error reading source state", "%s.", err))
		return nil, false
	}
	return state.Read(data, &c.bag)
}

// follows refuses to overwrite a state with one of another lineage, or an older one.
func (c *call) follows(have, pushed *state.Snapshot) bool {
	switch {
	case have == nil || have.Len() == 0 && len(have.Outputs) == 0 && have.Lineage == "":
	case have.Lineage != pushed.Lineage:
		c.bag.Add(diag.Errorf("Failed to write state", "cannot import state with lineage %q over unrelated state with lineage %q", pushed.Lineage, have.Lineage))
		return false
	case pushed.Serial < have.Serial:
		c.bag.Add(diag.Errorf("Failed to write state", "cannot import state with serial %d over newer state with serial %d", pushed.Serial, have.Serial))
		return false
	}
	return true
}

var stateRmCommand = &Command{
	Name: "state rm", Args: "ADDRESS...", Short: "Remove instances from the state",
	Long: "Remove one or more items from the Lethe state, causing Lethe to\n\"forget\" those items without first destroying them in the remote system.",
	Flags: func(c *call) {
		c.flags.BoolVar(&c.dryRun, "dry-run", false, "Only say what would be removed.")
		c.lockFlags()
		c.stateFlags()
		c.remoteFlag()
	},
	Run: runStateRm,
}

func runStateRm(ctx context.Context, c *call) int {
	if !c.between(1, -1) {
		return c.ui.fail()
	}
	targets, ok := c.addresses("address", c.operands, nil)
	if !ok {
		return c.ui.fail()
	}
	return c.changeState(ctx, "state-rm", func(s *state.Snapshot) (*state.Snapshot, bool) {
		var found diag.Bag
		next, gone, ok := s.Remove(targets, &found)
		if c.dryRun && len(gone) == 0 {
			c.ui.print("Would have removed nothing.\n")
			return nil, false
		}
		c.bag.Take(&found)
		word := "Removed"
		if c.dryRun {
			word = "Would remove"
		}
		for _, o := range gone {
			c.ui.print(fmt.Sprintf("%s %s\n", word, o))
		}
		if ok && !c.dryRun {
			c.ui.print(fmt.Sprintf("Successfully removed %d resource instance(s).\n", len(gone)))
		}
		return next, ok && !c.dryRun
	})
}

// changeState locks the state, changes it and writes it back.
func (c *call) changeState(ctx context.Context, operation string, change func(*state.Snapshot) (*state.Snapshot, bool)) int {
	p, ok := c.open()
	if !ok {
		return c.ui.fail()
	}
	defer p.close()
	ws, ok := p.lockState(ctx, "", operation)
	if !ok {
		return c.ui.fail()
	}
	defer ws.Unlock()
	if ws.Missing() && operation != "taint" { // of which the peers say that there is no such object
		c.bag.Add(noState())
		return c.ui.fail()
	}
	next, ok := change(ws.Snapshot())
	if ok && !ws.Save(next) {
		return c.ui.fail()
	}
	return c.ui.done(exitOK)
}

var stateMvCommand = &Command{
	Name: "state mv", Args: "SOURCE DESTINATION", Short: "Move an item in the state",
	Long: "This command will move an item matched by the address given to the\ndestination address. This command can also move to a destination address\nin a completely different state file.",
	Flags: func(c *call) {
		c.flags.BoolVar(&c.dryRun, "dry-run", false, "Only say what would be moved.")
		c.flags.StringVar(&c.backupOut, "backup-out", "", "Keep the previous content of -state-out in this `file`.")
		c.lockFlags()
		c.stateFlags()
		c.remoteFlag()
	},
	Run: runStateMv,
}

func runStateMv(ctx context.Context, c *call) int {
	if !c.between(2, 2) {
		return c.ui.fail()
	}
	ends, ok := c.addresses("address", c.operands, nil)
	if !ok {
		return c.ui.fail()
	}
	out := c.opts.stateOut // here it is where to, not another name for the same state
	c.opts.stateOut = ""
	if out != "" && out != c.opts.state {
		return c.moveInto(ctx, ends[0], ends[1], out)
	}
	return c.changeState(ctx, "state-mv", func(s *state.Snapshot) (*state.Snapshot, bool) {
		next, _, done, ok := s.Mv(ends[0], ends[1], nil, &c.bag)
		c.moved(done, ok)
		return next, ok && !c.dryRun
	})
}

// moved says what was moved, or would be.
func (c *call) moved(done []state.Renaming, ok bool) {
	word := "Move"
	if c.dryRun {
		word = "Would move"
	}
	for _, m := range done {
		c.ui.print(fmt.Sprintf("%s %q to %q\n", word, m.From, m.To))
	}
	if ok && !c.dryRun {
		c.ui.print(fmt.Sprintf("Successfully moved %d object(s).\n", len(done)))
	}
}

// moveInto moves into the state of another file. That is written first: should the second writing
// fail, the objects are in both states, and in none never.
func (c *call) moveInto(ctx context.Context, from, to addr.Target, out string) int {
	p, ok := c.open()
	if !ok {
		return c.ui.fail()
	}
	defer p.close()
	source, ok := p.lockState(ctx, "", "state-mv")
	if !ok {
		return c.ui.fail()
	}
	defer source.Unlock()
	if source.Missing() {
		c.bag.Add(noState())
		return c.ui.fail()
	}
	file := store.NewLocal(store.LocalOptions{Dir: p.dir, FS: p.files(), Path: p.path(out), Backup: p.path(c.backupOut)})
	req := p.lockRequest("state-mv")
	req.Store, req.Name = file, store.Default
	target, ok := workspace.Lock(ctx, p.workspaces(), req)
	if !ok {
		return c.ui.fail()
	}
	defer target.Unlock()
	left, grown, done, ok := source.Snapshot().Mv(from, to, target.Snapshot(), &c.bag)
	if !ok || !c.dryRun && !(target.Save(grown) && source.Save(left)) {
		return c.ui.fail()
	}
	c.moved(done, ok)
	return c.ui.done(exitOK)
}

var stateReplaceProviderCommand = &Command{
	Name: "state replace-provider", Args: "FROM_PROVIDER_FQN TO_PROVIDER_FQN", Short: "Replace provider in the state",
	Long: "Replace provider for resources in the Lethe state.",
	Flags: func(c *call) {
		c.flags.BoolVar(&c.opts.autoApprove, "auto-approve", false, "Skip interactive approval.")
		c.inputFlag()
		c.lockFlags()
		c.stateFlags()
		c.remoteFlag()
	},
	Run: runStateReplaceProvider,
}

func runStateReplaceProvider(ctx context.Context, c *call) int {
	if !c.between(2, 2) {
		return c.ui.fail()
	}
	from, err1 := addr.ParseProvider(c.operands[0])
	to, err2 := addr.ParseProvider(c.operands[1])
	for _, err := range []error{err1, err2} {
		if err != nil {
			c.bag.Add(diag.Errorf("Invalid provider source address", "%s.", err))
			return c.ui.fail()
		}
	}
	return c.changeState(ctx, "state-replace-provider", func(s *state.Snapshot) (*state.Snapshot, bool) {
		next, changed := s.ReplaceProvider(from, to)
		if len(changed) == 0 {
			c.ui.print("No matching resources found.\n")
			return nil, false
		}
		c.ui.print(fmt.Sprintf("Lethe will perform the following actions:\n\n  ~ Updating provider:\n    - %s\n    + %s\n\nChanging %d resources:\n\n", from, to, len(changed)))
		for _, r := range changed {
			c.ui.print("  " + r.String() + "\n")
		}
		if !c.opts.autoApprove {
			yes, answered := c.ui.confirm("Do you want to make these changes?", "")
			if !answered && !c.cutShort() {
				c.bag.Add(notApproved("-auto-approve"))
				return nil, false
			}
			if !yes {
				c.ui.print("Cancelled replacing providers.\n")
				return nil, false
			}
		}
		c.ui.print(fmt.Sprintf("\nSuccessfully replaced provider for %d resources.\n", len(changed)))
		return next, true
	})
}

var taintCommand = &Command{
	Name: "taint", Args: "ADDRESS", Short: "Mark a resource instance as not fully functional",
	Long:  "Lethe uses the term \"tainted\" to describe a resource instance which may\nnot be fully functional, either because its creation partially failed or\nbecause you've manually marked it as such using this command.",
	Flags: taintFlags, Run: func(ctx context.Context, c *call) int { return runTaint(ctx, c, true) },
}

var untaintCommand = &Command{
	Name: "untaint", Args: "ADDRESS", Short: "Remove the 'tainted' state from a resource instance",
	Long:  "Removes the \"tainted\" state from a resource instance, so that it is not\nreplaced by the next plan.",
	Flags: taintFlags, Run: func(ctx context.Context, c *call) int { return runTaint(ctx, c, false) },
}

func taintFlags(c *call) {
	c.flags.BoolVar(&c.allowMissing, "allow-missing", false, "Succeed even if there is no such object.")
	c.lockFlags()
	c.stateFlags()
	c.remoteFlag()
}

func runTaint(ctx context.Context, c *call, taint bool) int {
	if !c.between(1, 1) {
		return c.ui.fail()
	}
	i, err := addr.ParseInstance(c.operands[0])
	if err != nil {
		c.bag.Add(diag.Errorf("Invalid resource instance address", "%s.", err))
		return c.ui.fail()
	}
	return c.changeState(ctx, "taint", func(s *state.Snapshot) (*state.Snapshot, bool) {
		if s.Get(i.Current()) == nil && c.allowMissing {
			c.bag.Add(diag.Warningf("No such resource instance", "Resource instance %s was not found, but this is not an error because -allow-missing was set.", i))
			return nil, false
		}
		change, text := s.Untaint, "Resource instance %s has been successfully untainted.\n"
		if taint {
			change, text = s.Taint, "Resource instance %s has been marked as tainted.\n"
		}
		next, ok := change(i, &c.bag)
		if ok {
			c.ui.print(fmt.Sprintf(text, i))
		}
		return next, ok
	})
}
