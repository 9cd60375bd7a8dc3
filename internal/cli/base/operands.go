package base

import (
	"cmp"
	"strings"

	"github.com/lethe-iac/lethe/internal/diag"
)

const tooMany = "Too many command line arguments" // as Terraform and OpenTofu call it

// NoOperands refuses operands.
func (c *Call) NoOperands() bool {
	if len(c.Operands) == 0 {
		return true
	}
	if c.misread() {
		return false
	}
	name := c.Command.Name + " " + c.Operands[0]
	var commands []string
	if c.Commands != nil {
		commands = c.Commands()
	}
	if meant := diag.Suggest(name, commands); meant != "" && strings.HasPrefix(meant, c.Command.Name+" ") {
		c.Bag.Add(diag.Errorf(tooMany, "Lethe has no command named %q, and the command %s takes no arguments.%s", name, c.Command.Name, diag.Meant(meant)))
		return false
	}
	instead := cmp.Or(c.Command.Instead, "To work in another directory, use the global -chdir option.")
	c.Bag.Add(diag.Errorf(tooMany, "The command %s takes no arguments, and got %q. %s", c.Command.Name, strings.Join(c.Operands, " "), instead))
	return false
}

// misread reports operands that were meant for an option.
func (c *Call) misread() bool {
	if len(c.Operands) == 0 || c.Misread == nil {
		return false
	}
	d, is := c.Misread()
	if is {
		c.Bag.Add(d)
	}
	return is
}

// counted refuses another number of operands than the usage line of the command has.
func (c *Call) counted() bool {
	switch {
	case c.Command.Counts:
		return true
	case c.Command.Args == "":
		return c.NoOperands()
	case c.misread():
		return false
	}
	least, most, many := 0, 0, false
	for word := range strings.FieldsSeq(c.Command.Args) {
		most++
		if word[0] != '[' {
			least++
		}
		many = many || strings.Contains(word, "...")
	}
	title := "Wrong number of arguments"
	switch n := len(c.Operands); {
	case n > most && !many:
		title = tooMany
	case n >= least:
		return true
	}
	c.Bag.Add(diag.Errorf(title, "Usage: lethe %s [options] %s", c.Command.Name, c.Command.Args))
	return false
}

// NotApproved names the ways out of a question about a plan that gets no answer.
func NotApproved(use string) diag.Diagnostic {
	return diag.Errorf("Plan not approved", notApproved, use)
}

const notApproved = "This command asks for approval, and there is nobody to ask here: input is off, or has ended. Use %s."

// List is a flag that may be given many times.
type List []string

func (l *List) String() string     { return strings.Join(*l, ",") }
func (l *List) Set(s string) error { *l = append(*l, s); return nil }

// RemoteFlag registers a flag that says nothing here.
func (c *Call) RemoteFlag() {
	c.Flags.Bool("ignore-remote-version", false, "Accepted for compatibility.")
}
