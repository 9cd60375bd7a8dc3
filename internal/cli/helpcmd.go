package cli

import (
	"context"
	"flag"
)

var helpCommand = &Command{
	Name: "help", Args: "[command]", Short: "Show this help output, or the help for a specified subcommand", Hidden: true,
	Long: "Shows what a command does and which options it takes.",
	Run:  nil, // set below: it looks at the list that it is part of
}

func init() { helpCommand.Run = runHelp }

func runHelp(_ context.Context, c *call) int {
	if len(c.operands) == 0 {
		c.ui.print(usage())
		return exitOK
	}
	cmd, _ := find(c.operands)
	if cmd == nil {
		if group := subcommands(c.operands[0]); group != "" {
			c.ui.print(group)
			return exitOK
		}
		return c.noCommand(c.operands)
	}
	other := &call{Env: c.Env, command: cmd, flags: flag.NewFlagSet(cmd.Name, flag.ContinueOnError)}
	if cmd.Flags != nil {
		cmd.Flags(other)
	}
	c.ui.print(other.help())
	return exitOK
}
