// Package manual writes the descriptions of commands as manual pages and as pages of the documentation. Both are made
// from the same base.About as the text of -help.
package manual

import (
	"fmt"
	"strings"

	"github.com/lethe-iac/lethe/internal/cli/base"
)

// FileName returns the file name of a command's manual page, such as lethe-state-list.1.
func FileName(command string) string {
	return "lethe-" + strings.ReplaceAll(command, " ", "-") + ".1"
}

// Page returns the manual page of a command.
func Page(a base.About, release string) string {
	var b strings.Builder
	name := strings.TrimSuffix(FileName(a.Name), ".1")
	head(&b, name, release)
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", escape(name), escape(a.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B lethe\n%s\n.SH DESCRIPTION\n", escape(a.Usage()))
	for i, p := range a.Text {
		if i > 0 {
			b.WriteString(".PP\n")
		}
		if p.LaidOut {
			b.WriteString(".nf\n" + escape(p.Text) + "\n.fi\n")
			continue
		}
		b.WriteString(escape(p.Text) + "\n")
	}
	if len(a.Examples) > 0 {
		b.WriteString(".SH EXAMPLES\n")
		for _, e := range a.Examples {
			fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", escape(e[0]), escape(e[1]))
		}
	}
	b.WriteString(".SH OPTIONS\n")
	options(&b, a.Options)
	b.WriteString(".SH SEE ALSO\n.BR lethe (1)\n")
	return b.String()
}

// Overview returns the manual page of the program, with the global options.
func Overview(commands []base.About, global []base.Option, release string) string {
	var b strings.Builder
	head(&b, "lethe", release)
	b.WriteString(".SH NAME\nlethe \\- infrastructure as code that forgets your secrets\n")
	b.WriteString(".SH SYNOPSIS\n.B lethe\n[global options] <subcommand> [args]\n.SH GLOBAL OPTIONS\n")
	options(&b, global)
	b.WriteString(".SH COMMANDS\n")
	for _, a := range commands {
		fmt.Fprintf(&b, ".TP\n.BR %s (1)\n%s\n", escape(strings.TrimSuffix(FileName(a.Name), ".1")), escape(a.Short))
	}
	return b.String()
}

func options(b *strings.Builder, list []base.Option) {
	for _, o := range list {
		fmt.Fprintf(b, ".TP\n.B %s\n%s\n", escape(o.Left()), escape(o.Text))
	}
}

func head(b *strings.Builder, name, release string) {
	fmt.Fprintf(b, ".TH %s 1 \"\" \"Lethe %s\" \"Lethe\"\n.nh\n.ad l\n", strings.ToUpper(escape(name)), release)
}

// escape escapes the special characters of roff.
func escape(s string) string {
	s = strings.NewReplacer("\\", "\\e", "-", "\\-", "'", "\\(aq").Replace(s)
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, ".") {
			lines[i] = "\\&" + l
		}
	}
	return strings.Join(lines, "\n")
}

// Reference returns the documentation of a command in Markdown: its usage, its examples and its options.
func Reference(a base.About) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# lethe %s\n\n%s.\n\n```\nlethe %s\n```\n\n", a.Name, a.Short, a.Usage())
	for _, p := range a.Text {
		if p.LaidOut {
			b.WriteString("```\n" + p.Text + "\n```\n\n")
			continue
		}
		b.WriteString(marked(strings.Join(strings.Fields(p.Text), " ")) + "\n\n")
	}
	if len(a.Examples) > 0 {
		b.WriteString("| | |\n|---|---|\n")
		for _, e := range a.Examples {
			fmt.Fprintf(&b, "| `%s` | %s |\n", strings.ReplaceAll(e[0], "|", "\\|"), e[1])
		}
		b.WriteByte('\n')
	}
	return b.String() + Table("option", a.Options)
}

// Table returns a table of options in Markdown, with a row for each. title is the heading of the first column.
func Table(title string, options []base.Option) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| %s | |\n|---|---|\n", title)
	for _, o := range options {
		fmt.Fprintf(&b, "| `%s` | %s |\n", o.Left(), strings.ReplaceAll(marked(o.Text), "|", "\\|"))
	}
	return b.String()
}

// marked escapes characters that Markdown would read as a tag or as emphasis.
func marked(s string) string {
	return strings.NewReplacer("<", "\\<", "*", "\\*", "_", "\\_").Replace(s)
}
