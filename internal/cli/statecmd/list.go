package statecmd

import (
	"context"
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/project"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/state"
)

// List is `state list`.
var List = &base.Command{
	Name: "state list", Args: "[address...]", Short: "List resources in the state",
	Long: "List resources in the state. This command lists resource instances in the state;\nthe address arguments can be used to filter the instances by resource or module.",
	Examples: [][2]string{
		{"lethe state list", "List all objects"},
		{"lethe state list module.network", "List those of a module"},
		{"lethe state list -id=i-0abc", "Find the address of an object"},
	},
	Setup: base.Flags(func(c *base.Call, f *listFlags) {
		f.StateFlag(c)
		c.Flags.StringVar(&f.id, "id", "", "Only objects whose attribute \"id\" is this `ID`.")
	}, runList),
	Result: true,
}

type listFlags struct {
	project.Options
	id string
}

func runList(ctx context.Context, c *base.Call, f *listFlags) int {
	_, s, ok := readOnly(ctx, c, &f.Options)
	if !ok {
		return c.UI.Fail()
	}
	targets, ok := project.Addresses(c, "address", c.Operands, nil)
	if !ok || !anyMatch(s, targets, &c.Bag) {
		return c.UI.Fail()
	}
	var found []addr.Object
	for o, e := range s.Objects() {
		if o.IsDeposed() || len(targets) > 0 && !slices.ContainsFunc(targets, func(t addr.Target) bool { return t.Contains(o.Instance) }) {
			continue
		}
		if f.id == "" || e.ID() == f.id {
			found = append(found, o)
		}
	}
	slices.SortFunc(found, state.Listed)
	for _, o := range found {
		c.UI.Print(o.String() + "\n")
	}
	return c.UI.Done(base.ExitOK)
}

// anyMatch refuses an address that nothing in the state has.
func anyMatch(s *state.Snapshot, targets []addr.Target, bag *diag.Bag) bool {
	for _, t := range targets {
		if len(s.Select(t)) == 0 {
			bag.Add(diag.Errorf("Unknown resource", "There is no object with the address %s in the state.", t))
			return false
		}
	}
	return true
}
