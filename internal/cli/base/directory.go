package base

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/paths"
)

// In returns a call of the same command in the directory dir. The new call shares the streams, the secrets and the
// interrupts with c, but has its own diagnostics. The new call ends when c ends, and then Adopt moves its diagnostics
// to c. In returns an error if dir does not exist or is not a directory.
func (c *Call) In(dir string) (*Call, error) {
	real, err := paths.Real(c.Path(dir))
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(real); err != nil || !info.IsDir() {
		return nil, syscall.ENOTDIR
	}
	env := *c.Env
	env.Dir, env.Named, env.Called = real, real, real
	o := &Call{Env: &env, Command: c.Command, Flags: c.Flags, Sources: &diag.Sources{}, Secrets: c.Secrets, Log: c.Log, Other: c.Other}
	o.View.NoColor, o.View.Concise, o.View.ShowSecrets = c.View.NoColor, c.View.Concise, c.View.ShowSecrets
	o.Stops.Begin, o.Stops.Abandon, o.Stops.Leave, o.Stops.Began = c.Stops.Begin, c.Stops.Abandon, c.Stops.Leave, c.Stops.Began
	o.UI = NewScreen(o)
	if c.UI != nil {
		o.UI.in = c.UI.in
	}
	c.AtEnd(func() {
		o.end()
		c.Adopt(o)
	})
	return o, nil
}

// Adopt adds the diagnostics of o, a call in another directory, to c. It adds the directory to the text of each
// diagnostic, because a file there may have the same name as a file here. It drops a diagnostic without a place in a
// file if c has one with the same text.
func (c *Call) Adopt(o *Call) {
	name := o.Dir
	if rel, err := filepath.Rel(c.Dir, o.Dir); err == nil {
		name = rel
	}
	own := c.Bag.List()
	for _, d := range o.Bag.List() {
		if d.Subject == nil && slices.ContainsFunc(own, func(x diag.Diagnostic) bool { return x.Summary == d.Summary && x.Detail == d.Detail }) {
			continue // skip diagnostics about settings of the user, which the calls of both directories would report
		}
		where := fmt.Sprintf("The directory is %s.", name)
		if d.Subject != nil {
			where = fmt.Sprintf("The place is %s, line %d.", filepath.Join(name, d.Subject.Filename), d.Subject.Start.Line)
			d.Subject, d.Context = nil, nil
		}
		for _, r := range d.Related {
			where += fmt.Sprintf("\n%s: %s, line %d.", r.Note, filepath.Join(name, r.Range.Filename), r.Range.Start.Line)
		}
		d.Related = nil
		d.Detail += "\n\n" + where
		c.Bag.Add(d)
	}
	o.Bag.Clear()
}

// Within calls a function while the directory of the process is the directory of o, so that child processes start
// there. Afterwards the process returns to the directory of c. Within returns an error if a change of the directory
// fails. If the first change fails, it does not call the function. If c.Enter is nil, Within calls the function without
// a change of the directory.
func (c *Call) Within(o *Call, do func()) error {
	if c.Enter == nil {
		do()
		return nil
	}
	if err := c.Enter(o.Dir); err != nil {
		return err
	}
	do()
	return c.Enter(c.Dir)
}
