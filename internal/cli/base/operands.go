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

// Between refuses fewer operands than least, and more than most unless that is negative.
func (c *Call) Between(least, most int) bool {
	title := "Wrong number of arguments"
	switch n := len(c.Operands); {
	case most >= 0 && n > most: // as Terraform and OpenTofu call it
		title = "Too many command line arguments"
	case n >= least && (most < 0 || n <= most):
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

// TestsFlag registers a flag that says nothing here.
func (c *Call) TestsFlag() {
	c.Flags.String("test-directory", "tests", "Accepted for compatibility: the `directory` of test files.")
}
