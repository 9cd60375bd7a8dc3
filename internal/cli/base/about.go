package base

import (
	"flag"
	"slices"
	"strings"
)

// About describes a command for help, manual pages and documents. Name, Args and Short are copies of the fields of
// Command.
type About struct {
	Name, Args, Short string
	Text              []Paragraph
	Examples          [][2]string // example command lines, each with its effect
	Options           []Option
}

// Paragraph is a paragraph of a text. If LaidOut is true, the line breaks of the paragraph are kept. Otherwise its
// lines are wrapped.
type Paragraph struct {
	Text    string
	LaidOut bool
}

// Option is a flag of a command.
type Option struct {
	Name  string // the name with its hyphen, such as "-out"
	Value string // the placeholder of the value in "-name=value", such as "file"; "" for an option without a value
	Text  string
}

// About describes the command of the call c. A paragraph with a line that begins with a space keeps its line breaks.
// The text of an option ends with the default value of the option, unless this is a zero value or the text begins with
// "Accepted".
func (c *Call) About() About {
	a := About{Name: c.Command.Name, Args: c.Command.Args, Short: c.Command.Short, Examples: c.Command.Examples}
	for part := range strings.SplitSeq(strings.TrimSpace(c.Command.Long), "\n\n") {
		a.Text = append(a.Text, Paragraph{part, strings.Contains("\n"+part, "\n ")})
	}
	c.Flags.VisitAll(func(f *flag.Flag) {
		value, text := flag.UnquoteUsage(f)
		if !slices.Contains([]string{"", "false", "0", "0s"}, f.DefValue) && !strings.HasPrefix(text, "Accepted") {
			text += " The default is " + f.DefValue + "."
		}
		a.Options = append(a.Options, Option{"-" + f.Name, value, strings.Join(strings.Fields(text), " ")})
	})
	return a
}

// Usage returns the usage line of a command, without the program's name.
func (a About) Usage() string {
	line := "[global options] " + a.Name + " [options]"
	if a.Args != "" {
		line += " " + a.Args
	}
	return line
}

// Left returns an option with the placeholder of its value, such as -out=file, or only the name of an option without a
// value.
func (o Option) Left() string {
	if o.Value == "" {
		return o.Name
	}
	return o.Name + "=" + o.Value
}
