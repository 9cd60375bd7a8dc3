package base

import (
	"strconv"

	"github.com/lethe-iac/lethe/internal/provider/launch"
	"golang.org/x/term"
)

// Dumb reports whether the terminal, if there is one, can do no more than show one line after the other.
func (c *Call) Dumb() bool { return c.Getenv("TERM") == "dumb" }

// Color reports whether to print with colours: on a terminal, unless the user asked for none.
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

// width is the number of columns to wrap messages at: those of a terminal. Elsewhere nothing is
// wrapped, unless LETHE_COLUMNS says where, or the test program of a provider reads it: those match
// on where Terraform and OpenTofu break lines.
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

// size is what the terminal has room for now.
func (c *Call) size() (columns, lines int) {
	if f, ok := asFile(c.Stdout); ok {
		columns, lines, _ = term.GetSize(int(f.Fd()))
	}
	return columns, lines
}

const (
	leastColumns = 20
	testColumns  = 79 // where Terraform and OpenTofu break lines
)

// underTest reports whether the test program of a provider runs this: it serves the provider itself.
func (c *Call) underTest() bool {
	attached, err := launch.ParseReattach(c.Getenv("TF_REATTACH_PROVIDERS"))
	if err != nil {
		return false // said where the providers are needed
	}
	for _, r := range attached {
		if r.Test {
			return true
		}
	}
	return false
}
