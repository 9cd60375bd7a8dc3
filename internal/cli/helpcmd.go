package cli

import (
	"context"

	"github.com/lethe-iac/lethe/internal/cli/base"
)

func init() { helpCommand.Setup = base.NoFlags(runHelp) } // set in init, because runHelp refers to the list that contains helpCommand

func runHelp(_ context.Context, c *base.Call) int {
	if len(c.Operands) == 0 {
		c.UI.Print(usage())
		return base.ExitOK
	}
	cmd, _ := find(c.Operands)
	if cmd == nil {
		if group := subcommands(c.Operands[0]); group != "" && len(c.Operands) == 1 {
			c.UI.Print(group)
			return base.ExitOK
		}
		return noCommand(c.Env, c.Operands)
	}
	about, _ := c.Env.New(cmd)
	c.UI.Print(about.Help())
	return base.ExitOK
}
