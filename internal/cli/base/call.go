package base

import (
	"context"
	"flag"
	"fmt"
	"io"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/secret"
)

// Run parses the flags of a command, runs it and returns the exit code. With -help, it prints the help and returns
// ExitOK. If a flag is wrong, it reports the error, does not run the command, and returns ExitError.
func (e *Env) Run(cmd *Command, args []string) (code int) {
	out := &stdout{Writer: e.Stdout}
	e.Stdout = out
	c, run := e.New(cmd)
	defer c.crashed(&code)
	if err := c.parse(args); err != nil {
		if err == flag.ErrHelp {
			fmt.Fprint(e.Stdout, c.Help())
			return ExitOK
		}
		c.UI = NewScreen(c)
		defer c.UI.close()
		defer c.countSilenced()
		c.Bag.Add(c.usageError(err))
		code = c.UI.Fail()
		if !c.View.JSON {
			fmt.Fprintf(e.Stderr, "\nFor more help on using this command, run:\n  lethe %s -help\n", cmd.Name)
		}
		return code
	}
	c.UI = NewScreen(c)
	defer c.UI.close()
	defer c.countSilenced()
	if c.Bag.HasErrors() {
		return c.UI.Fail()
	}
	ctx, stop := c.interrupts(context.Background())
	defer stop()
	defer c.end()
	if !c.counted() {
		run = func(context.Context) int { return c.UI.Fail() }
	}
	code = c.ended(run(ctx))
	if d, is := c.missing(out); is {
		c.Bag.Add(d)
		c.UI.DoneDocument()
		code = ExitError
	}
	if d, is := c.UI.lacking(); is {
		c.Bag.Add(d)
		c.UI.DoneDocument()
	}
	if d, is := c.interrupted(); is && code == ExitError {
		c.Bag.Add(d)
		return c.UI.Fail()
	}
	return code
}

// countSilenced prints the number of warnings that -silence has hidden, if there are any.
func (c *Call) countSilenced() {
	if text := diag.Silenced(c.View.Silence.Take()); text != "" {
		c.UI.Send(event.Note{Kind: "silenced_warnings", Text: "\n" + text})
	}
}

// AtEnd adds a function that runs at the end of the command, before functions that were added earlier. Diagnostics that
// the function adds to the bag are reported, and errors make the command fail.
func (c *Call) AtEnd(do func()) { c.ends = append(c.ends, do) }

func (c *Call) end() {
	for n := len(c.ends) - 1; n >= 0; n-- {
		do := c.ends[n]
		c.ends = c.ends[:n]
		do()
	}
}

// ended runs the functions of AtEnd after the command has printed its own diagnostics, and prints the diagnostics of
// these functions. It returns code, the exit code of the command, or ExitError if one of the functions adds an error.
func (c *Call) ended(code int) int {
	c.Failed = code != ExitOK && code != ExitChanges
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

// New returns a call of a command before its flags are parsed, and the function that runs it.
func (e *Env) New(cmd *Command) (*Call, Run) {
	c := &Call{Env: e, Command: cmd, Sources: &diag.Sources{}, Secrets: &secret.Set{}}
	if e.Hide != nil {
		c.Secrets.First(e.Hide)
	}
	c.View.gatherWarnings, c.View.gatherErrors = true, true
	c.Flags = flag.NewFlagSet(cmd.Name, flag.ContinueOnError)
	c.Flags.SetOutput(io.Discard)
	c.Flags.BoolVar(&c.View.NoColor, "no-color", false, "Print without colours.")
	c.Flags.Func("silence", "Hide warnings with this `code`, such as LE0604. Repeat the option, or separate codes by commas.", func(s string) error { return c.View.Silence.Add(s) })
	return c, cmd.Setup(c)
}
