package base

import (
	"flag"
	"strings"
)

// About is what help, manual pages and documents say of a command.
type About struct {
	Name, Args, Short string
	Text              []Paragraph
	Examples          [][2]string // commands, each with what it does
	Options           []Option
}

// Paragraph is one of a text. The lines of one that is laid out stay as they are.
type Paragraph struct {
	Text    string
	LaidOut bool
}

// Option is a flag of a command.
type Option struct {
	Name  string // "-out"
	Value string // what stands behind the equals sign, "" for none
	Text  string
}

// About describes the command of a call.
func (c *Call) About() About {
	a := About{Name: c.Command.Name, Args: c.Command.Args, Short: c.Command.Short, Examples: c.Command.Examples}
	for part := range strings.SplitSeq(strings.TrimSpace(c.Command.Long), "\n\n") {
		a.Text = append(a.Text, Paragraph{part, strings.Contains("\n"+part, "\n ")})
	}
	c.Flags.VisitAll(func(f *flag.Flag) {
		value, text := flag.UnquoteUsage(f)
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "0s" && !strings.HasPrefix(text, "Accepted") {
			text += " The default is " + f.DefValue + "."
		}
		a.Options = append(a.Options, Option{"-" + f.Name, value, strings.Join(strings.Fields(text), " ")})
	})
	return a
}

// Usage is the line that says how a command is called, without the program's name.
func (a About) Usage() string {
	line := "[global options] " + a.Name + " [options]"
	if a.Args != "" {
		line += " " + a.Args
	}
	return line
}

// Left is an option as it is written.
func (o Option) Left() string {
	if o.Value == "" {
		return o.Name
	}
	return o.Name + "=" + o.Value
}
