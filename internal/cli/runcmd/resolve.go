package runcmd

import (
	"context"
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/states"
	"github.com/lethe-iac/lethe/internal/cli/workdir"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/vet"
	"github.com/lethe-iac/lethe/internal/operation"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/journal"
)

// Resolve is the command `state resolve`.
var Resolve = &base.Command{
	Name: "state resolve", Stream: true, Args: "ADDR", Short: "Record the outcome of an unanswered provider call",
	Long: "Records the outcome of a provider call whose run was killed before the provider\nanswered. Later commands report the outcome of such a call as unknown. Check whether\nthe object exists, and report the result with -absent, -present or -id.",
	Examples: [][2]string{
		{"lethe state resolve -absent aws_instance.web", "The object does not exist"},
		{"lethe state resolve -present aws_instance.web", "The object exists with the ID in the state"},
		{"lethe state resolve -id=i-0abc aws_instance.web", "The object was created: import it"},
	},
	Setup: base.Flags(func(c *base.Call, f *resolveFlags) {
		c.Flags.BoolVar(&f.absent, "absent", false, "The object does not exist: it is removed from the state.")
		c.Flags.BoolVar(&f.present, "present", false, "The object in the state exists.")
		c.Flags.StringVar(&f.id, "id", "", "The object was created and has this `ID`: it is imported.")
		c.Flags.StringVar(&f.Config, "config", "", "Read the configuration from this `directory`.")
		c.RemoteFlag()
		f.OperationFlags(c)
	}, runResolve),
}

type resolveFlags struct {
	workdir.Options
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
		c.Bag.Add(diag.Errorf("Outcome not given", "Give one of: -absent if the object does not exist, -present if the object in the state exists, -id=ID if an object was created and has that ID."))
		return c.UI.Fail()
	}
	if f.id != "" {
		return resolveImport(ctx, c, f, to)
	}
	st, ok := states.Open(c, &f.Options)
	if !ok {
		return c.UI.Fail()
	}
	locked, ok := st.Lock(ctx, states.Locking{Operation: operation.Resolve, Settles: to})
	if !ok {
		return c.UI.Fail()
	}
	ws := locked.State
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
	c.UI.Line(to.String() + ": settled.")
	return c.UI.Done(base.ExitOK)
}

// known reports an error and returns false if calls is empty: then the instance has no provider call with an unknown
// outcome.
func known(c *base.Call, to addr.Instance, calls []journal.Unknown) bool {
	if len(calls) == 0 {
		c.Bag.Add(diag.Errorf("Nothing to resolve", "No call for %s has an unknown outcome. To list such calls, run: lethe state check", to))
	}
	return len(calls) > 0
}

// resolved returns the state after the user has given the outcome of calls, provider calls that were interrupted before
// the answer. If absent is true, the objects of the calls do not exist, and resolved removes them. Otherwise they
// exist. For an existing object that a call created, resolved reports an error and returns false, because the state
// does not have the ID of this object.
func resolved(s *state.Snapshot, calls []journal.Unknown, absent bool, bag *diag.Bag) (*state.Snapshot, bool) {
	e := s.Edit()
	for _, u := range calls {
		switch {
		case u.Creates() && !absent:
			bag.Add(diag.Errorf("ID needed", "If %s was created, import it with -id=ID: the state does not have its ID yet.", u.Object))
			return nil, false
		case !u.Creates() && absent:
			e.Put(u.Object, nil)
		}
	}
	return e.Done(), true
}

// resolveImport imports the object that an unanswered call has created, and returns the exit code. The argument to is
// the address of the object. If no unanswered call creates an object at this address, resolveImport reports an error.
func resolveImport(ctx context.Context, c *base.Call, f *resolveFlags, to addr.Instance) int {
	s, ok := prepare(ctx, c, &f.Options, operation.Import, noImport, vet.CheckOptions{BodiesOnly: true, Incomplete: true})
	if !ok {
		return c.UI.Fail()
	}
	at, ok := s.States.Selected(ctx)
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
		c.Bag.Add(diag.Errorf("Nothing was created", "The state already has the ID of %s. Instead of -id, use -present if the object exists, or -absent if it does not.", to))
		return c.UI.Fail()
	}
	return importOne(ctx, s, to, f.id)
}
