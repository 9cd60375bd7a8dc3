package base

import (
	"cmp"
	"flag"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/disk"
)

const tooMany = "Too many command line arguments" // the same text as in Terraform and OpenTofu

// NoOperands returns true if the command has no operands. Otherwise it adds an error and returns false.
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
	if hides(c) {
		c.Bag.Add(diag.Errorf(tooMany, "The command %s takes no arguments, but got %d. If they are a part of the value of an option such as -var, put quotation marks around the value. %s", c.Command.Name, len(c.Operands), instead))
		return false
	}
	words := make([]string, len(c.Operands))
	for i, word := range c.Operands {
		words[i] = Word(c, word)
	}
	c.Bag.Add(diag.Errorf(tooMany, "The command %s takes no arguments, but got %q. %s", c.Command.Name, strings.Join(words, " "), instead))
	return false
}

// Word returns an operand for messages. It leaves out a text that may be a secret value: the text after an equals sign,
// because -var may be missing before the operand, and the whole operand if hides reports true.
func Word(c *Call, operand string) string {
	if hides(c) {
		return "..."
	}
	return Unvalued(operand)
}

// hides reports whether an option with a value of a variable or of a backend is given. If this value has spaces and no
// quotation marks, operands are parts of it.
func hides(c *Call) (yes bool) {
	c.Flags.Visit(func(f *flag.Flag) {
		yes = yes || slices.Contains([]string{"var", "to-var", "backend-config"}, f.Name)
	})
	return yes
}

// Unvalued returns a word of the command line without the text after an equals sign.
func Unvalued(word string) string {
	name, _, is := strings.Cut(word, "=")
	if is {
		name += "=..."
	}
	return name
}

// UnreadablePlan returns the error for a plan file that an operand names and that cannot be read.
func UnreadablePlan(c *Call, operand string, err error) diag.Diagnostic {
	word, why := Word(c, operand), ""
	if hides(c) {
		why = " Its name is not shown, because it may be a part of the value of an option such as -var. If it is, put quotation marks around the value."
	}
	return diag.Errorf("Failed to load \""+word+"\" as a plan file", "The file %s cannot be read: %s.%s", word, disk.Reason(err), why)
}

// misread adds an error and returns true if the operands look like the value of an option (Call.Misread).
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

// counted returns true if the number of operands matches the usage line of the command. Otherwise it adds an error and
// returns false.
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

// NotApproved returns the error for a plan that cannot be approved, because the command cannot ask a user. use is the
// advice: the words after "Use".
func NotApproved(use string) diag.Diagnostic {
	return diag.Errorf("Plan not approved", notApproved, use)
}

const notApproved = "This command needs approval, but input is off or has ended. Use %s."

// GeneratedExists returns the error for a file that cannot receive generated configuration, because it exists.
func GeneratedExists() diag.Diagnostic {
	return diag.Errorf("Target generated file already exists", "Lethe writes generated configuration only into a new file. Choose another file, or move the existing configuration elsewhere and delete the file.")
}

// List is the value of a flag that may be repeated: the values in their order.
type List []string

func (l *List) String() string     { return strings.Join(*l, ",") }
func (l *List) Set(s string) error { *l = append(*l, s); return nil }

// RemoteFlag registers -ignore-remote-version. If the flag is set, package states does not compare the version of the
// program with the version of the service that stores the state.
func (c *Call) RemoteFlag() {
	c.Flags.Bool("ignore-remote-version", false, "Write the state even if the remote workspace uses another Terraform version.")
}
