package secretscmd

import (
	"context"
	"strings"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/session"
	"github.com/lethe-iac/lethe/internal/cli/workdir"
	"github.com/lethe-iac/lethe/internal/config/rewrite"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/vet"
	"github.com/lethe-iac/lethe/internal/operation"
	"github.com/lethe-iac/lethe/internal/view"
)

// Move is the command `secrets move`.
var Move = &base.Command{
	Name: "secrets move", Args: "[ADDRESS.ATTRIBUTE]", Short: "Edit the configuration so that a secret is not stored", Makes: true,
	Long: `Edits the configuration so that the state stores a secret no longer, and shows the
plan that follows. An argument becomes a write-only argument with a version. A
variable that feeds only such arguments, providers and provisioners becomes
ephemeral, and a data source becomes an ephemeral resource. The value of a
generator such as random_password moves only if a secret manager stores it.

The command first prints where the value is afterwards. It refuses a move after
which the value would be nowhere. If the plan replaces an object, the move needs
-replace-ok. Either all files are edited or none. Nothing is applied. Test files are
not edited: a warning lists the places in them that do not fit afterwards.

With -all, it moves all secrets of the state. It skips secrets that it cannot move,
and arguments for which a provider has a known defect, and prints the reasons.`,
	Examples: [][2]string{
		{"lethe secrets move aws_ssm_parameter.db.value", "Move one secret"},
		{"lethe secrets move -all -dry-run", "Show the edits for all secrets, and the plan"},
		{"lethe secrets move -replace-ok=aws_secretsmanager_secret_version.db aws_secretsmanager_secret_version.db.secret_string", "Permit the replacement of an object"},
	},
	Setup: base.Flags(func(c *base.Call, f *moveFlags) {
		c.Flags.BoolVar(&f.all, "all", false, "Move all secrets that the state stores.")
		c.Flags.BoolVar(&f.dryRun, "dry-run", false, "Show the edits and the plan, and change no file.")
		c.Flags.Var(&f.replaceOK, "replace-ok", "Permit the plan to replace the object at this `address`. May be given many times.")
		c.SensitiveFlag()
		f.VarFlags(c)
		f.LockFlags(c)
		f.StateFlag(c)
		f.TestsFlag(c)
	}, runMove),
}

func runMove(ctx context.Context, c *base.Call, f *moveFlags) int {
	if f.all == (len(c.Operands) == 1) {
		c.Bag.Add(diag.Errorf("Wrong combination of options", "Give either one ADDRESS.ATTRIBUTE, or -all."))
		return c.UI.Fail()
	}
	permitted, ok := workdir.Addresses(c, "replace-ok", f.replaceOK, nil)
	if !ok {
		return c.UI.Fail()
	}
	s, ok := session.Open(c, &f.Options, operation.Plan)
	if !ok {
		return c.UI.Fail()
	}
	x := &moving{session: s, flags: f, permitted: permitted, skipped: map[string]string{}, numbers: map[string]bool{}, known: map[block]bool{}}
	if !x.open(ctx) || !x.find(ctx) {
		return c.UI.Fail()
	}
	if len(x.targets) == 0 {
		c.UI.Print("The state stores no secret that the configuration could move.\n")
		x.printSkipped()
		return c.UI.Done(base.ExitOK)
	}
	return x.run(ctx)
}

// open loads and compiles the configuration, locks the state and reads it. It returns false after an error.
func (x *moving) open(ctx context.Context) bool {
	s := x.session
	if !s.Loader.Load() || !s.Loader.RequireFiles("This command edits the configuration, but the directory has no configuration files. Change to the right directory.") || !s.States.Ready() {
		return false
	}
	if !s.Loader.Vars.Collect() || !s.Loader.Vars.AskAll() || !s.Compile(ctx, vet.CheckOptions{}) {
		return false
	}
	ws, ok := s.Lock(ctx, nil)
	if ok {
		x.snapshot, x.tree = ws.Snapshot(), s.Loader.Tree
		x.texts, x.places, x.tests = rewrite.Parse(x.tree), x.filePlaces(), x.readTests()
	}
	return ok
}

// run edits the configuration, makes a plan with the edited configuration, and writes the files. It returns the exit
// code.
func (x *moving) run(ctx context.Context) int {
	c := x.session.Dir.Call
	for {
		edited := x.edit(ctx)
		if len(edited.moves) == 0 {
			return x.nothing(edited)
		}
		planned, ok := x.plan(ctx, edited)
		switch {
		case ctx.Err() != nil:
			return c.UI.Fail()
		case !ok && x.retries(ctx, edited):
			continue
		}
		replaced, lost := x.replaced(edited, planned), edited.lost(planned)
		if ok && x.flags.all && (x.leaveOut(replaced) || x.leaveOutLost(lost)) {
			continue
		}
		x.announce(edited)
		if planned != nil {
			c.UI.Plan(planned.Plan, view.PlanOptions{Applying: true, Schemas: x.session.Schemas()})
		}
		if !ok {
			c.Bag.Add(notMoved("The plan with the edited configuration has errors, see above. No file was changed."))
			return c.UI.Fail()
		}
		if x.refuses(replaced) {
			return c.UI.Fail()
		}
		if len(lost) > 0 {
			c.Bag.Add(notMoved("%s No file was changed.", lost[0].why))
			return c.UI.Fail()
		}
		return x.finish(ctx, edited, planned)
	}
}

// nothing ends the command if no edit was made. It returns the exit code: success if it could print edits for the user
// to make by hand, and otherwise failure.
func (x *moving) nothing(edited *edition) int {
	c := x.session.Dir.Call
	if x.printByHand(edited) {
		x.printSkipped()
		return c.UI.Done(base.ExitOK)
	}
	if !x.flags.all {
		for _, why := range x.skipped {
			c.Bag.Add(notMoved("%s", why))
		}
		return c.UI.Fail()
	}
	x.printSkipped()
	c.Bag.Add(notMoved("No secret can be moved, for the reasons above. No file was changed."))
	return c.UI.Fail()
}

// printSkipped prints the targets (secrets) that are not moved, with the reasons.
func (x *moving) printSkipped() {
	if len(x.order) == 0 {
		return
	}
	c := x.session.Dir.Call
	c.UI.Print("\nNot moved:\n")
	for _, name := range x.order {
		c.UI.Print("\n  " + view.EscapeLine(name) + "\n")
		c.UI.Print("    " + view.EscapeLine(x.skipped[name]) + "\n")
	}
	c.UI.Print("\n")
}

// printByHand prints the edits that the user must make. It returns false if there are no such edits.
func (x *moving) printByHand(edited *edition) bool {
	c := x.session.Dir.Call
	for _, m := range edited.byHand {
		c.UI.Print(view.EscapeLine(m.target.name) + " was not moved. " + view.EscapeLine(strings.Join(m.result.Notes, " ")) + "\nMake this edit yourself:\n\n")
		c.UI.Print(indented(edited.draft.Conceal(m.result.Advice)))
		for _, f := range m.result.ByHand {
			c.UI.Print(indented(edited.draft.Difference(f)))
		}
		c.UI.Print("\n")
	}
	return len(edited.byHand) > 0
}

// announce prints where each moved secret value will be after the next apply, and the differences of the edited files.
func (x *moving) announce(edited *edition) {
	c := x.session.Dir.Call
	for _, m := range edited.moves {
		c.UI.Print(view.EscapeLine(m.target.name) + "\n")
		for _, text := range m.result.Lives {
			c.UI.Print("  The value is afterwards " + view.EscapeLine(text) + ".\n")
		}
		if len(m.result.Callers) > 0 {
			c.UI.Print("  These must pass it at apply: " + view.EscapeLine(strings.Join(m.result.Callers, ", ")) + ".\n")
		}
		for _, text := range m.result.Notes {
			c.UI.Print("  " + view.EscapeLine(text) + "\n")
		}
	}
	c.UI.Print("\n")
	edited.draft.Each(func(f rewrite.File) {
		c.UI.Print(indented(edited.draft.Difference(f)) + "\n")
	})
	x.printByHand(edited)
	x.printSkipped()
	if broken := edited.draft.Broken(); len(broken) > 0 {
		c.Bag.Add(diag.Warningf("Test files do not fit the edited configuration", "This command does not edit test files. Edit these places:\n  %s", strings.Join(broken, "\n  ")))
	}
}

// indented returns a text with two spaces before each line.
func indented(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString("  " + view.EscapeLine(strings.TrimSuffix(line, "\n")) + "\n")
	}
	return b.String()
}
