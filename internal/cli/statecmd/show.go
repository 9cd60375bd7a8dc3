package statecmd

import (
	"context"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/project"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/view"
)

// Show is `state show`.
var Show = &base.Command{
	Name: "state show", Args: "ADDRESS", Short: "Show a resource in the state",
	Long: "Shows the attributes of a resource in the Lethe state.",
	Examples: [][2]string{
		{"lethe state show 'aws_instance.web[0]'", "Show one object"},
	},
	Setup: base.Flags(func(c *base.Call, f *project.Options) {
		c.JSONFlag()
		f.VarFlags(c)
		f.StateFlag(c)
		c.SensitiveFlag()
	}, runShow),
}

func runShow(ctx context.Context, c *base.Call, f *project.Options) int {
	p, s, ok := readOnly(ctx, c, f)
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
		c.Bag.Add(diag.Errorf("No instance found for the given address!", "This command requires that the address references one specific instance. To view the available instances, use \"lethe state list\". Please modify the address to reference a specific instance.%s", s.NearInstance(i)))
		return c.UI.Fail()
	}
	if c.View.JSON {
		err = view.ObjectJSON(c.Stdout, i.Current(), e, p.Schemas())
	} else {
		err = view.ObjectText(c.Stdout, i.Current(), e, p.Schemas(), p.Call.ViewOptions())
	}
	if err != nil {
		c.Bag.Add(diag.Errorf("Failed to show the object", "%s.", err))
	}
	return p.UI.DoneQuiet()
}
