package base

import (
	"flag"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/lethe-iac/lethe/internal/diag"
)

// parse parses flags and operands in any order. All arguments after "--" are operands. It returns the first error of
// package flag, such as flag.ErrHelp.
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

// badValue matches the error of package flag for a value: the value, the flag and the reason.
var badValue = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?s)^invalid (?:boolean )?value (".*") for (?:flag )?-(\S+): (.*)$`)
})

// usageError converts an error of package flag into a diagnostic for users.
func (c *Call) usageError(err error) diag.Diagnostic {
	text := err.Error()
	if name, ok := strings.CutPrefix(text, "flag provided but not defined: "); ok {
		switch name {
		case "-chdir":
			text = "Write -chdir before the command: lethe -chdir=DIR " + c.Command.Name + "."
		case "-experiment", "-enable-pluggable-state-storage-experiment":
			text = "Permit state stores before the command: lethe -experiment=state-store " + c.Command.Name + "."
		default:
			var names []string
			c.Flags.VisitAll(func(f *flag.Flag) { names = append(names, "-"+f.Name) })
			text = "There is no option " + name + " here." + MeantOption(name, names)
		}
	} else if name, ok := strings.CutPrefix(text, "flag needs an argument: -"); ok {
		value, _ := flag.UnquoteUsage(c.Flags.Lookup(name))
		text = fmt.Sprintf("The option -%s needs a value, as in -%s=%s.", name, name, strings.ToUpper(value))
	} else if m := badValue().FindStringSubmatch(text); m != nil {
		text = fmt.Sprintf("The option -%s %s.", m[2], c.takes(m[2], m[1], m[3]))
	}
	return diag.Errorf("Failed to parse command-line flags", "%s", text)
}

// takes returns a phrase about a wrong value of a flag, such as "takes true or false, not 7". given is the value, and
// why is the reason from package flag.
func (c *Call) takes(name, given, why string) string {
	if g, ok := c.Flags.Lookup(name).Value.(flag.Getter); ok {
		switch g.Get().(type) {
		case int:
			return "takes a whole number, not " + given
		case bool:
			return "takes true or false, not " + given
		case time.Duration:
			return "takes a duration such as 30s or 5m, not " + given
		}
	}
	return fmt.Sprintf("does not take %s: %s", given, strings.TrimSuffix(why, "."))
}

// helpPage builds the text of a command's -help.
type helpPage struct {
	strings.Builder
	width  int // the width of the page
	column int // where the text of an option begins
}

// Help returns the text of a command's -help. It is 80 columns wide, or as wide as a narrower terminal.
func (c *Call) Help() string {
	b := helpPage{width: 80, column: 27}
	if n := c.width(); n > 0 && n < b.width {
		b.width = n
	}
	if b.width < 60 {
		b.column = 7
	}
	about := c.About()
	b.WriteString("Usage:")
	b.wrap("lethe "+about.Usage(), 6, 8)
	b.WriteByte('\n')
	for i, part := range about.Text {
		if i > 0 {
			b.WriteByte('\n')
		}
		if part.LaidOut {
			b.WriteString("  " + strings.ReplaceAll(part.Text, "\n", "\n  ") + "\n")
			continue
		}
		b.WriteByte(' ')
		b.wrap(part.Text, 1, 2)
	}
	if len(about.Examples) > 0 {
		b.WriteString("\nExamples:\n\n")
		for _, e := range about.Examples {
			b.entry(e[0], e[1])
		}
	}
	b.WriteString("\nOptions:\n\n")
	for _, o := range about.Options {
		b.entry(o.Left(), o.Text)
	}
	return b.String()
}

// Listed returns options in the format of help, with their texts at a column.
func Listed(options []Option, column int) string {
	b := helpPage{width: 80, column: column}
	for _, o := range options {
		b.entry(o.Left(), o.Text)
	}
	return b.String()
}

// entry writes left and its text. The lines of the text begin in one column. If left is too long, the text begins on
// the next line.
func (b *helpPage) entry(left, text string) {
	at, _ := fmt.Fprintf(b, "  %s", left)
	if at+2 > b.column {
		b.WriteByte('\n')
		at = 0
	}
	b.WriteString(strings.Repeat(" ", b.column-1-at))
	b.wrap(text, b.column-1, b.column)
}

// wrap writes the words of a text, each after a space. The parameter at is the column of the first word. Further lines
// begin at the margin.
func (b *helpPage) wrap(text string, at, margin int) {
	for _, word := range strings.Fields(text) {
		if at >= margin && at+1+len(word) > b.width {
			b.WriteString("\n" + strings.Repeat(" ", margin-1))
			at = margin - 1
		}
		b.WriteString(" " + word)
		at += 1 + len(word)
	}
	b.WriteByte('\n')
}
