package runcmd

import (
	"context"
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/project"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/vet"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/journal"
)

// Resolve is `state resolve`.
var Resolve = &base.Command{
	Name: "state resolve", Args: "ADDR", Short: "Say what became of a call without an answer",
	Long: "Settles a call of a run that was lost before the provider answered: the commands\nafter that name it as an outcome that is unknown. Look whether the object exists, and\nsay so with one of -absent, -present and -id.",
	Examples: [][2]string{
		{"lethe state resolve -absent aws_instance.web", "It was not created, or it is destroyed"},
		{"lethe state resolve -present aws_instance.web", "It was not destroyed, or it was updated"},
		{"lethe state resolve -id=i-0abc aws_instance.web", "It was created: take it in, as import does"},
	},
	Setup: base.Flags(func(c *base.Call, f *resolveFlags) {
		c.Flags.BoolVar(&f.absent, "absent", false, "The object does not exist: it is removed from the state.")
		c.Flags.BoolVar(&f.present, "present", false, "The object exists as the state has it.")
		c.Flags.StringVar(&f.id, "id", "", "The object was created and has this `ID`: it is imported.")
		c.Flags.StringVar(&f.Config, "config", "", "Read the configuration from this `directory`.")
		c.RemoteFlag()
		f.OperationFlags(c)
	}, runResolve),
}

type resolveFlags struct {
	project.Options
	absent, present bool
	id              string
}

func runResolve(ctx context.Context, c *base.Call, f *resolveFlags) int {
	to, err := addr.ParseInstance(c.Operands[0])
	if err != nil {
		c.Bag.Add(diag.Errorf("Invalid address", "%s.", err))
		return c.UI.Fail()
	}
	given := 0
	for _, is := range []bool{f.absent, f.present, f.id != ""} {
		if is {
			given++
		}
	}
	if given != 1 {
		c.Bag.Add(diag.Errorf("Outcome not given", "Give one of -absent, if the object does not exist; -present, if the one that the state has does; and -id=ID, if it was created and has that ID."))
		return c.UI.Fail()
	}
	if f.id != "" {
		return resolveImport(ctx, c, f, to)
	}
	p, ok := project.Open(c, &f.Options)
	if !ok {
		return c.UI.Fail()
	}
	p.Settles = to
	ws, ok := p.LockState(ctx, "", "state-resolve")
	if !ok {
		return c.UI.Fail()
	}
	notes := ws.Notes()
	calls, others := callsTo(to, notes.Unknown)
	if !known(c, to, calls) {
		return c.UI.Fail()
	}
	next, ok := resolved(ws.Snapshot(), calls, f.absent, &c.Bag)
	if !ok || !ws.Save(next) {
		return c.UI.Fail()
	}
	notes.Unknown = others
	ws.Note(notes)
	c.UI.Print(to.String() + ": settled.\n")
	return c.UI.Done(base.ExitOK)
}

// known reports whether there is a call to settle.
func known(c *base.Call, to addr.Instance, calls []journal.Unknown) bool {
	if len(calls) == 0 {
		c.Bag.Add(diag.Errorf("Nothing to resolve", "There is no call for %s whose outcome is unknown. To see those that there are, run: lethe state check", to))
	}
	return len(calls) > 0
}

// resolved is a state in which the objects of calls are there or not.
func resolved(s *state.Snapshot, calls []journal.Unknown, absent bool, bag *diag.Bag) (*state.Snapshot, bool) {
	e := s.Edit()
	for _, u := range calls {
		switch {
		case u.Creates() && !absent:
			bag.Add(diag.Errorf("ID needed", "If %s was created, the state needs its ID: give -id=ID, and the object is imported.", u.Object))
			return nil, false
		case !u.Creates() && absent:
			e.Put(u.Object, nil)
		}
	}
	return e.Done(), true
}

// resolveImport takes in what a call has created.
func resolveImport(ctx context.Context, c *base.Call, f *resolveFlags, to addr.Instance) int {
	p, ok := prepare(ctx, c, &f.Options, noImport, false, vet.CheckOptions{BodiesOnly: true, Incomplete: true})
	if !ok {
		return c.UI.Fail()
	}
	at, ok := p.Selected(ctx)
	if !ok {
		return c.UI.Fail()
	}
	left, ok := at.ReadNotes(ctx)
	if !ok {
		return c.UI.Fail()
	}
	calls, _ := callsTo(to, left.Unknown)
	if !known(c, to, calls) {
		return c.UI.Fail()
	}
	if !slices.ContainsFunc(calls, journal.Unknown.Creates) {
		c.Bag.Add(diag.Errorf("Nothing was created", "The state already has the ID of %s, so that -id does not apply. Give -present if the object exists, or -absent if it does not.", to))
		return c.UI.Fail()
	}
	return importOne(ctx, p, to, f.id)
}
