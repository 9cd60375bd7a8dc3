package statecmd

import (
	"context"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/session"
	"github.com/lethe-iac/lethe/internal/cli/workdir"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/operation"
	"github.com/lethe-iac/lethe/internal/view"
)

// Show is the command `state show`.
var Show = &base.Command{
	Name: "state show", Args: "ADDRESS", Short: "Show a resource in the state",
	Long: "Shows the attributes of a resource in the Lethe state.",
	Examples: [][2]string{
		{"lethe state show 'aws_instance.web[0]'", "Show one object"},
	},
	Setup: base.Flags(func(c *base.Call, f *workdir.Options) {
		c.JSONFlag()
		f.VarFlags(c)
		f.StateFlag(c)
		c.SensitiveFlag()
	}, runShow),
}

func runShow(ctx context.Context, c *base.Call, f *workdir.Options) int {
	opened, ok := session.Open(c, f, operation.None)
	if !ok {
		return c.UI.Fail()
	}
	s, ok := read(ctx, c, opened.States)
	if !ok {
		return c.UI.Fail()
	}
	i, err := addr.ParseInstance(c.Operands[0])
	if err != nil {
		c.Bag.Add(diag.Errorf("Error parsing instance address", "%s.", err))
		return c.UI.Fail()
	}
	e := s.Get(i.Current())
	if e == nil {
		c.Bag.Add(diag.Errorf("No instance found for the given address!", "The address must name one instance in the state. To list the instances, run \"lethe state list\".%s", s.NearInstance(i)))
		return c.UI.Fail()
	}
	if c.View.JSON {
		err = view.ObjectJSON(c.Stdout, i.Current(), e, opened.Schemas())
	} else {
		err = view.ObjectText(c.Stdout, i.Current(), e, opened.Schemas(), c.ViewOptions())
	}
	if err != nil {
		c.Bag.Add(diag.Errorf("Failed to show the object", "%s.", err))
	}
	return c.UI.DoneDocument()
}
