package secretscmd

import (
	"os"

	"github.com/lethe-iac/lethe/internal/audit"
	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/workdir"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/store"
)

// secretsFlags are the flags of the command secrets.
type secretsFlags struct {
	workdir.Options
	baseline, baselineOut, failOn string
}

// The values of -fail-on.
const (
	failOnAny = "any"
	failOnNew = "new"
)

// accepted returns the baseline: the findings that the user has accepted in the file of -baseline. It returns nil and
// true if -baseline is not set. It reports an error and returns false if the value of -fail-on is invalid or needs
// -baseline, or if the file cannot be read or is not a baseline.
func (f *secretsFlags) accepted(c *base.Call) (audit.Baseline, bool) {
	switch {
	case f.failOn != failOnAny && f.failOn != failOnNew:
		c.Bag.Add(diag.Errorf("Wrong combination of options", "The option -fail-on takes %s or %s, not %q.", failOnAny, failOnNew, f.failOn))
		return nil, false
	case f.failOn == failOnNew && f.baseline == "":
		c.Bag.Add(diag.Errorf("Wrong combination of options", "With -fail-on=new, the option -baseline names the file of the accepted secrets. To write this file, use -baseline-out."))
		return nil, false
	case f.baseline == "":
		return nil, true
	}
	data, err := os.ReadFile(c.Path(f.baseline))
	if err != nil {
		c.Bag.Add(diag.Errorf("Failed to read the baseline", "The file %s cannot be read: %s. To write it, run: lethe secrets %s", f.baseline, disk.Reason(err), store.ShellCommand("-baseline-out="+f.baseline)))
		return nil, false
	}
	out, err := audit.ReadBaseline(data)
	if err != nil {
		c.Bag.Add(diag.Errorf("Failed to read the baseline", "The file %s is not a baseline of \"lethe secrets\": %s. To write a new one, run: lethe secrets %s", f.baseline, err, store.ShellCommand("-baseline-out="+f.baseline)))
		return nil, false
	}
	return out, true
}

// accept writes the findings of a report to the file of -baseline-out, if this option is set. If the file cannot be
// written, accept adds an error.
func (f *secretsFlags) accept(c *base.Call, r *audit.Report) {
	if f.baselineOut == "" {
		return
	}
	if err := disk.ReplaceShared(c.FS(), c.Path(f.baselineOut), audit.BaselineOf(r)); err != nil {
		c.Bag.Add(diag.Errorf("Failed to write the baseline", "The file %s cannot be written: %s.", f.baselineOut, disk.Reason(err)))
	}
}
