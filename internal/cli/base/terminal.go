package base

import (
	"strconv"

	"github.com/lethe-iac/lethe/internal/provider/launch"
	"golang.org/x/term"
)

// Dumb reports whether the terminal can only print lines: TERM is "dumb", or it understands no escape sequences.
func (c *Call) Dumb() bool { return c.Getenv("TERM") == "dumb" || !escapes(c.Stdout) }

// Color reports whether to print colours. The flag -no-color, NO_COLOR, CLICOLOR=0 and a dumb terminal turn colours
// off. Otherwise FORCE_COLOR and CLICOLOR_FORCE turn them on, unless their value is 0. Without any of these, colours
// are printed only on a terminal.
func (c *Call) Color() bool {
	if c.View.NoColor || c.Getenv("NO_COLOR") != "" || c.Dumb() || c.Getenv("CLICOLOR") == "0" {
		return false
	}
	if v := c.Getenv("FORCE_COLOR") + c.Getenv("CLICOLOR_FORCE"); v != "" && v != "0" {
		return true
	}
	return IsTerminal(c.Stdout)
}

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(w any) bool {
	f, ok := asFile(w)
	return ok && term.IsTerminal(int(f.Fd()))
}

// width returns the number of columns at which messages are wrapped, or 0 for no wrapping. On a terminal, it is the
// width of the terminal. Otherwise it is the value of LETHE_COLUMNS, if that is a number of at least leastColumns. If
// LETHE_COLUMNS is not set and the test program of a provider runs the command, the width is testColumns, because such
// programs expect the line breaks of Terraform and OpenTofu. In all other cases it is 0.
func (c *Call) width() int {
	if f, ok := asFile(c.Stdout); ok && term.IsTerminal(int(f.Fd())) {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil {
			return n
		}
	}
	given := c.Getenv("LETHE_COLUMNS")
	if given == "" && c.underTest() {
		return testColumns
	}
	n, err := strconv.Atoi(given)
	if err != nil || n < leastColumns {
		return 0
	}
	return n
}

// size returns the current size of the terminal, or zeros without a terminal.
func (c *Call) size() (columns, lines int) {
	if f, ok := asFile(c.Stdout); ok {
		columns, lines, _ = term.GetSize(int(f.Fd()))
	}
	return columns, lines
}

const (
	leastColumns = 20
	testColumns  = 79 // the width at which Terraform and OpenTofu wrap lines without a terminal
)

// underTest reports whether the test program of a provider runs the command. Such a program serves the provider in its
// own process (TF_REATTACH_PROVIDERS).
func (c *Call) underTest() bool {
	attached, err := launch.ParseReattach(c.Getenv("TF_REATTACH_PROVIDERS"))
	if err != nil {
		return false // the start of providers reports the error
	}
	for _, r := range attached {
		if r.Test {
			return true
		}
	}
	return false
}
