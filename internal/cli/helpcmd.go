package cli

import "context"

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
		if group := subcommands(c.operands[0]); group != "" && len(c.operands) == 1 {
			c.ui.print(group)
			return exitOK
		}
		return c.noCommand(c.operands)
	}
	c.ui.print(c.newCall(cmd).help())
	return exitOK
}
