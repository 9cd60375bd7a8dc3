package secretscmd

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lethe-iac/lethe/internal/audit"
	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/savedplan"
	"github.com/lethe-iac/lethe/internal/cli/session"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/operation"
	"github.com/lethe-iac/lethe/internal/view"
	"github.com/lethe-iac/lethe/internal/view/stateview"
)

// Scrub is the command `secrets scrub`.
var Scrub = &base.Command{
	Name: "secrets scrub", Args: "[plan-file...]", Short: "Remove former secrets from copies of the state",
	Long: `Removes the values of secrets that the state no longer stores from its copies:
backups, earlier versions, journals, and states that could not be stored. Plan
files of the directory that contain such a value are deleted. Earlier versions
can still be restored: their attributes are null in place of the values.

A value is removed if the state stores neither the attribute nor the value, in any
encoded form. If no other copy of a value is known, the command refuses to remove
it, unless -last-copy is given. The value of a root variable counts as a copy.

Versions that the service of a backend keeps by itself, such as the versions of a
bucket, cannot be rewritten. The command prints the commands that delete them, and
-versions deletes them.

At its end, the command lists the secrets to rotate, the time since when each was
readable, and the places that Lethe cannot clean.`,
	Examples: [][2]string{
		{"lethe secrets scrub -dry-run", "List the copies that would be changed, without a lock"},
		{"lethe secrets scrub", "Remove former secrets, after approval"},
		{"lethe secrets scrub -versions", "Delete versions of the bucket that contain them, too"},
		{"lethe secrets scrub -last-copy", "Remove values of which no other copy is known, too"},
	},
	Setup: base.Flags(func(c *base.Call, f *scrubFlags) {
		c.Flags.BoolVar(&f.autoApprove, "auto-approve", false, "Skip interactive approval.")
		c.Flags.BoolVar(&f.dryRun, "dry-run", false, "Only list the copies that would be changed.")
		c.Flags.BoolVar(&f.lastCopy, "last-copy", false, "Remove values of which no other copy is known, too.")
		c.Flags.BoolVar(&f.versions, "versions", false, "Delete versions that the service of the backend keeps by itself, too.")
		c.DocumentFlags()
		f.VarFlags(c)
		f.LockFlags(c)
		f.StateFlag(c)
	}, runScrub),
	Result: true,
}

func runScrub(ctx context.Context, c *base.Call, f *scrubFlags) int {
	if c.View.JSON && !f.autoApprove && !f.dryRun {
		c.Bag.Add(diag.Errorf("Wrong combination of options", "The option -json needs -auto-approve or -dry-run, because no question can be asked."))
		return c.UI.Fail()
	}
	if !f.Lock && !f.dryRun {
		c.Bag.Add(diag.Errorf("Wrong combination of options", "The command rewrites copies of the state, so it must hold the lock: leave out -lock=false, or give -dry-run."))
		return c.UI.Fail()
	}
	s, ok := session.Open(c, &f.Options, operation.Scrub)
	if !ok {
		return c.UI.Fail()
	}
	if !f.dryRun {
		if _, ok := s.Lock(ctx, nil); !ok {
			return c.UI.Fail()
		}
		disk.SweepAll(c.FS(), c.Dir) // killed processes may have left parts of plans and states in c.Dir
	}
	x := &scrubbing{collection: collection{session: s, plans: savedplan.New(s)}, flags: f}
	if !x.examine(ctx, c.Operands) {
		return c.UI.Fail()
	}
	outcome := x.scrub(ctx)
	return x.done(ctx, outcome)
}

// scrub removes the secrets in x.removal from the copies, unless the user does not approve or a value would be lost. It
// returns the outcome for the report.
func (x *scrubbing) scrub(ctx context.Context) stateview.ScrubOutcome {
	c := x.session.Dir.Call
	if len(x.removal.Secrets) == 0 {
		x.say("No copy contains the value of a secret that the state no longer stores.\n")
		x.printKept()
		return stateview.NothingFound
	}
	x.announce()
	switch {
	case x.flags.dryRun:
		x.say("Nothing was changed.\n")
		return stateview.DryRun
	case x.work() > 0 && !x.flags.lastCopy && x.refuse():
		return stateview.Refused
	case x.work() > 0 && !c.Approve(base.Approval{Given: x.flags.autoApprove, Title: "Do you want to remove these values from the copies?", Use: "-auto-approve", Refused: "Nothing was changed."}):
		return stateview.Refused
	}
	x.change(ctx)
	x.rotate()
	if ctx.Err() != nil {
		return stateview.Interrupted
	}
	return stateview.Changed
}

// list prints an indented line, without output for -json. It escapes control characters.
func (x *scrubbing) list(format string, a ...any) {
	x.say("  %s\n", view.EscapeLine(fmt.Sprintf(format, a...)))
}

// examine reads the state and all its copies, and determines the values to remove. It returns false after an error.
func (x *scrubbing) examine(ctx context.Context, plans []string) bool {
	x.begin(ctx)
	if !x.state(ctx, false) || !x.savedPlans(ctx, plans) {
		return false
	}
	c := x.session.Dir.Call
	if x.current == nil {
		c.Bag.Add(diag.Errorf("No state file was found!", "Without a state it is not known which values are no longer stored. Run the command where Lethe has been applied, or name a state file with -state."))
		return false
	}
	others := x.findPlans(ctx, plans)
	r, ok := x.report(ctx)
	if !ok {
		return false
	}
	x.places = r.Places
	x.removal = r.Removal(x.current, x.variables())
	x.planned = x.withValues(append(plans[:len(plans):len(plans)], others...), r)
	x.findVersions()
	return true
}

// findVersions finds the versions in the service of the backend that contain a value to remove. A version that stays,
// because -versions is not set, counts as a further copy of the value.
func (x *scrubbing) findVersions() {
	for i := range x.removal.Secrets {
		s := &x.removal.Secrets[i]
		for _, p := range s.Copies {
			v := x.versions[p]
			if v == nil {
				continue
			}
			s.Last = s.Last && x.flags.versions
			if !slices.Contains(x.doomed, v) {
				x.doomed = append(x.doomed, v)
			}
		}
	}
	if len(x.removal.Secrets) > 0 {
		x.doomed = append(x.doomed, x.pieces...)
	}
}

// work returns the number of places (copies of the state) that the command would change.
func (x *scrubbing) work() int {
	places := map[*audit.Place]bool{}
	for _, s := range x.removal.Secrets {
		for _, p := range s.Copies {
			if x.versions[p] == nil || x.flags.versions {
				places[p] = true
			}
		}
	}
	return len(places) + len(x.planned)
}

// announce prints the values to remove, as labels such as #3, and the copies that contain the values.
func (x *scrubbing) announce() {
	x.say("These copies contain secrets that the state no longer stores:\n\n")
	for _, s := range x.removal.Secrets {
		alone := ""
		if s.Alone {
			alone = " (only there: the value is too short or too common to be removed from other texts)"
		}
		x.list("#%d of %s, in %s%s", s.Label, strings.Join(s.Stored, " and "), strings.Join(names(s.Copies), ", "), alone)
	}
	if len(x.planned) > 0 {
		x.say("\nThese plan files will be deleted: %s\n", view.EscapeLine(strings.Join(x.planned, ", ")))
	}
	if len(x.doomed) > 0 && x.flags.versions {
		x.say("\nThe service of the backend keeps %s with them. They will be deleted.\n", diag.Counted(len(x.doomed), "version", "versions"))
	}
	x.say("\n")
	x.printKept()
}

// names returns the names of places, and one text with the number of earlier versions, which have no names.
func names(places []*audit.Place) []string {
	var out []string
	versions := 0
	for _, p := range places {
		if p.Kind == audit.Version {
			versions++
			continue
		}
		out = append(out, p.Name)
	}
	if versions > 0 {
		out = append(out, diag.Counted(versions, "earlier version", "earlier versions"))
	}
	return out
}

// printKept prints which secrets stay in copies and why, and which copies could not be read.
func (x *scrubbing) printKept() {
	for _, k := range x.removal.Kept {
		x.say("%s\n", view.EscapeLine(fmt.Sprintf("Kept: %s of %s: %s.", stateview.Labels(k.Labels), k.Stored, k.Why)))
	}
	for _, p := range x.places {
		if p.Problem != "" {
			x.say("%s\n", view.EscapeLine(fmt.Sprintf("Not examined: %s: %s", p.Name, strings.ReplaceAll(p.Problem, "\n", " "))))
		}
	}
}

// refuse reports an error and returns true if a value would be lost, because no other copy of it is known.
func (x *scrubbing) refuse() bool {
	var last []string
	for _, s := range x.removal.Secrets {
		if s.Last {
			last = append(last, fmt.Sprintf("#%d of %s", s.Label, strings.Join(s.Stored, " and ")))
		}
	}
	if len(last) == 0 {
		return false
	}
	x.session.Dir.Call.Bag.Add(diag.Errorf("Last copy of a secret", "Lethe knows of no other copy of these values, so they would be lost: %s.\n\nIf they are in a secret manager, or no longer in use, run the command with -last-copy. The current value of a root variable counts as a copy. Nothing was changed.", strings.Join(last, "; ")))
	return true
}

// rotate prints the removed secrets, which the user should rotate.
func (x *scrubbing) rotate() {
	x.say("\nRotate these secrets, because everyone who could read a copy knows them:\n\n")
	for _, s := range x.removal.Secrets {
		since := "an unknown time"
		if !s.Since.IsZero() {
			since = s.Since.UTC().Format(time.DateTime) + "Z or earlier"
		}
		x.list("#%d of %s, readable since %s", s.Label, strings.Join(s.Stored, " and "), since)
	}
}

// done prints the result of the command: the commands to run, and the places that Lethe cannot clean. It returns the
// exit code.
func (x *scrubbing) done(ctx context.Context, outcome stateview.ScrubOutcome) int {
	c := x.session.Dir.Call
	if outcome == stateview.Interrupted && !c.Bag.HasErrors() {
		c.Bag.Add(diag.Errorf("Not all copies were changed", "The command was interrupted. Each copy is either unchanged or complete. Run it again to change the rest."))
	}
	result := stateview.Scrub{
		Outcome: outcome, Removal: x.removal, Places: x.places, Plans: x.planned, Changed: x.changed, Commands: x.commands(),
		Unreachable: unreachable(x.at, x.hints),
	}
	alone, err := c.Document(result.JSON)
	if err != nil {
		c.Bag.Add(diag.Errorf("Failed to show the secrets", "%s.", err))
	}
	if !alone && outcome != stateview.DryRun && outcome != stateview.Refused {
		x.printRest(result)
	}
	if code := c.UI.DoneDocument(); outcome != stateview.Refused {
		return code
	}
	return base.ExitError
}

// printRest prints the commands that delete remaining versions, and the places that Lethe cannot clean.
func (x *scrubbing) printRest(r stateview.Scrub) {
	if len(r.Commands) > 0 {
		x.say("\nThe service of the backend keeps %s with these values. To delete them, run the command again with -versions -last-copy, or run:\n\n", diag.Counted(len(r.Commands), "version", "versions"))
		for _, text := range r.Commands {
			x.list("%s", text)
		}
	}
	x.say("\nLethe cannot clean these places:\n\n")
	for _, text := range r.Unreachable {
		x.list("- %s", text)
	}
}

// commands returns the commands that delete the remaining versions in the service.
func (x *scrubbing) commands() []string {
	var out []string
	for _, v := range x.doomed {
		out = append(out, x.at.DeleteCommand(*v))
	}
	return out
}
