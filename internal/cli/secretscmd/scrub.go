package secretscmd

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/lethe-iac/lethe/internal/audit"
	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/savedplan"
	"github.com/lethe-iac/lethe/internal/cli/session"
	"github.com/lethe-iac/lethe/internal/cli/workdir"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/operation"
	"github.com/lethe-iac/lethe/internal/view"
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

At its end, the command lists the secrets to rotate, the time since when each was
readable, and the places that Lethe cannot clean.`,
	Examples: [][2]string{
		{"lethe secrets scrub -dry-run", "List the copies that would be changed"},
		{"lethe secrets scrub", "Remove former secrets, after approval"},
		{"lethe secrets scrub -last-copy", "Remove values of which no other copy is known, too"},
	},
	Setup: base.Flags(func(c *base.Call, f *scrubFlags) {
		c.Flags.BoolVar(&f.autoApprove, "auto-approve", false, "Skip interactive approval.")
		c.Flags.BoolVar(&f.dryRun, "dry-run", false, "Only list the copies that would be changed.")
		c.Flags.BoolVar(&f.lastCopy, "last-copy", false, "Remove values of which no other copy is known, too.")
		f.VarFlags(c)
		f.LockFlags(c)
		f.StateFlag(c)
	}, runScrub),
}

type scrubFlags struct {
	workdir.Options
	autoApprove, dryRun, lastCopy bool
}

func runScrub(ctx context.Context, c *base.Call, f *scrubFlags) int {
	s, ok := session.Open(c, &f.Options, operation.Scrub)
	if !ok {
		return c.UI.Fail()
	}
	if _, ok := s.Lock(ctx, nil); !ok {
		return c.UI.Fail()
	}
	x := &scrubbing{collection: collection{session: s, plans: savedplan.New(s)}}
	if !x.examine(ctx, c.Operands) {
		return c.UI.Fail()
	}
	if len(x.removal.Secrets) == 0 {
		c.UI.Print("No copy contains the value of a secret that the state no longer stores.\n")
		x.printKept()
		return x.done(ctx)
	}
	x.announce()
	switch {
	case !f.lastCopy && x.refuse():
		return c.UI.Fail()
	case f.dryRun:
		c.UI.Print("Nothing was changed.\n")
		return c.UI.Done(base.ExitOK)
	case !c.Approve(base.Approval{Given: f.autoApprove, Title: "Do you want to remove these values from the copies?", Use: "-auto-approve", Refused: "Nothing was changed."}):
		return c.UI.Fail()
	}
	x.change(ctx)
	x.rotate()
	return x.done(ctx)
}

// examine finds the values to remove.
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
	x.removal = r.Removal(x.current, x.variables())
	x.planned = x.withValues(append(plans[:len(plans):len(plans)], others...), r)
	return true
}

// announce prints the values and the copies that have them.
func (x *scrubbing) announce() {
	c := x.session.Dir.Call
	c.UI.Print("Lethe will remove these values:\n\n")
	for _, s := range x.removal.Secrets {
		c.UI.Print(view.EscapeLine(fmt.Sprintf("  #%d of %s, in %s", s.Label, strings.Join(s.Stored, " and "), strings.Join(names(s.Copies), ", "))) + "\n")
	}
	if len(x.planned) > 0 {
		c.UI.Print(view.EscapeLine("\nIt will delete these plan files: "+strings.Join(x.planned, ", ")) + "\n")
	}
	c.UI.Print("\n")
	x.printKept()
}

// names returns the names of places, and the number of earlier versions.
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

// printKept prints the secrets of copies that stay.
func (x *scrubbing) printKept() {
	c := x.session.Dir.Call
	for _, k := range x.removal.Kept {
		var labels []string
		for _, n := range k.Labels {
			labels = append(labels, "#"+strconv.Itoa(n))
		}
		c.UI.Print(view.EscapeLine(fmt.Sprintf("Kept: %s of %s: %s.", strings.Join(labels, " "), k.Stored, k.Why)) + "\n")
	}
}

// refuse reports an error if no other copy of a value is known.
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

// rotate prints the secrets to rotate.
func (x *scrubbing) rotate() {
	c := x.session.Dir.Call
	c.UI.Print("\nRotate these secrets, because everyone who could read a copy knows them:\n\n")
	for _, s := range x.removal.Secrets {
		since := "an unknown time"
		if !s.Since.IsZero() {
			since = s.Since.UTC().Format(time.DateTime) + "Z or earlier"
		}
		c.UI.Print(view.EscapeLine(fmt.Sprintf("  #%d of %s, readable since %s", s.Label, strings.Join(s.Stored, " and "), since)) + "\n")
	}
}

// done prints the places that Lethe cannot clean, and ends the command.
func (x *scrubbing) done(ctx context.Context) int {
	c := x.session.Dir.Call
	c.UI.Print("\nLethe cannot clean these places:\n\n")
	for _, text := range unreachable(x.at.Type, x.at.Place(), x.at.Capabilities()) {
		c.UI.Print("  - " + view.EscapeLine(text) + "\n")
	}
	if ctx.Err() != nil && !c.Bag.HasErrors() {
		c.Bag.Add(diag.Errorf("Not all copies were changed", "The command was interrupted. Each copy is either unchanged or complete. Run it again to change the rest."))
	}
	return c.UI.Done(base.ExitOK)
}
