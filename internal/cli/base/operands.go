package base

import (
	"strings"

	"github.com/lethe-iac/lethe/internal/diag"
)

// NoOperands refuses operands.
func (c *Call) NoOperands() bool {
	if len(c.Operands) == 0 {
		return true
	}
	c.Bag.Add(diag.Errorf("Too many command line arguments", "The command %s takes no arguments, and got %q. To work in another directory, use the global -chdir option.", c.Command.Name, strings.Join(c.Operands, " ")))
	return false
}

// counted refuses another number of operands than the usage line of the command has, if it has any.
func (c *Call) counted() bool {
	if c.Command.Args == "" || c.Command.Counts {
		return true
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
	case n > most && !many: // as Terraform and OpenTofu call it
		title = "Too many command line arguments"
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
