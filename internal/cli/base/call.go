package base

import (
	"context"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/secret"
)

// Run parses the flags of a command and runs it. It gives the exit code.
func (e *Env) Run(cmd *Command, args []string) (code int) {
	c, run := e.New(cmd)
	defer c.crashed(&code)
	if err := c.parse(args); err != nil {
		if err == flag.ErrHelp {
			fmt.Fprint(e.Stdout, c.Help())
			return ExitOK
		}
		fmt.Fprintf(e.Stderr, "Error: %s\n\nFor more help on this command, run:\n  lethe %s -help\n", c.usageError(err), cmd.Name)
		return ExitError
	}
	c.UI = NewScreen(c)
	defer c.UI.close()
	if c.Bag.HasErrors() {
		return c.UI.Fail()
	}
	ctx, stop := c.interrupts(context.Background())
	defer stop()
	defer c.end()
	code = c.ended(run(ctx))
	if d, is := c.interrupted(); is && code == ExitError {
		c.Bag.Add(d)
		return c.UI.Fail()
	}
	return code
}

// AtEnd has something done when the command is over, before what was to be done then earlier. What is
// wrong with it is reported, and makes the command fail.
func (c *Call) AtEnd(do func()) { c.ends = append(c.ends, do) }

func (c *Call) end() {
	for n := len(c.ends) - 1; n >= 0; n-- {
		do := c.ends[n]
		c.ends = c.ends[:n]
		do()
	}
}

// ended does what is to be done at the end of a command that has reported, and gives its exit code.
func (c *Call) ended(code int) int {
	c.Bag.Clear()
	c.end()
	if c.Bag.Len() > 0 {
		c.UI.Diagnostics(c.Bag.List())
	}
	if c.Bag.HasErrors() {
		code = ExitError
	}
	c.Bag.Clear()
	return code
}

// New is a command with its flags, before these are read, and what runs it.
func (e *Env) New(cmd *Command) (*Call, Run) {
	c := &Call{Env: e, Command: cmd, Sources: &diag.Sources{}, Secrets: &secret.Set{}}
	c.View.gatherWarnings, c.View.gatherErrors = true, true
	c.Flags = flag.NewFlagSet(cmd.Name, flag.ContinueOnError)
	c.Flags.SetOutput(io.Discard)
	c.Flags.BoolVar(&c.View.NoColor, "no-color", false, "Print without colours.")
	return c, cmd.Setup(c)
}

// parse takes flags and operands in any order.
func (c *Call) parse(args []string) error {
	for {
		if err := c.Flags.Parse(args); err != nil {
			return err
		}
		rest := c.Flags.Args()
		if len(rest) == 0 {
			return nil
		}
		if used := len(args) - len(rest); used > 0 && args[used-1] == "--" {
			c.Operands = append(c.Operands, rest...)
			return nil
		}
		c.Operands = append(c.Operands, rest[0])
		args = rest[1:]
	}
}

// usageError words a flag error for a user.
func (c *Call) usageError(err error) string {
	s := err.Error()
	if name, ok := strings.CutPrefix(s, "flag provided but not defined: "); ok {
		if name == "-chdir" {
			return "the option -chdir stands before the command, as in lethe -chdir=DIR " + c.Command.Name + "."
		}
		var names []string
		c.Flags.VisitAll(func(f *flag.Flag) { names = append(names, "-"+f.Name) })
		return "the option " + name + " is not known here." + MeantOption(name, names)
	}
	return s
}

// Help is the text of a command's -help.
func (c *Call) Help() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage: lethe [global options] %s [options]", c.Command.Name)
	if c.Command.Args != "" {
		b.WriteString(" " + c.Command.Args)
	}
	b.WriteString("\n\n")
	for _, line := range strings.Split(strings.TrimSpace(c.Command.Long), "\n") {
		b.WriteString(strings.TrimRight("  "+line, " ") + "\n")
	}
	b.WriteString("\nOptions:\n\n")
	c.Flags.VisitAll(func(f *flag.Flag) {
		name, text := flag.UnquoteUsage(f)
		left := "-" + f.Name
		if name != "" {
			left += "=" + name
		}
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "0s" && !strings.HasPrefix(text, "Accepted") {
			text += " The default is " + f.DefValue + "."
		}
		fmt.Fprintf(&b, "  %-24s %s\n", left, strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", 27)))
	})
	return b.String()
}
