package project

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/paths"
	"github.com/lethe-iac/lethe/internal/state/disk"
)

// assignments collects -var and -var-file in one order.
type assignments struct {
	to   *[]Assignment
	file bool
}

func (a assignments) String() string { return "" }
func (a assignments) Set(s string) error {
	*a.to = append(*a.to, Assignment{a.file, s})
	return nil
}

// VarFlags registers the flags that give values to root variables.
func (o *Options) VarFlags(c *base.Call) {
	c.Flags.Var(assignments{&o.Vars, false}, "var", "Set a root variable, as `name=value`. May be given many times.")
	c.Flags.Var(assignments{&o.Vars, true}, "var-file", "Load root variables from the `file`. May be given many times.")
	o.InputFlag(c)
	c.Misread = func() (diag.Diagnostic, bool) { // -var NAME VALUE: what it was meant to be is not shown
		return noAssignment(""), slices.ContainsFunc(o.Vars, func(a Assignment) bool { return !a.File && !strings.Contains(a.Text, "=") })
	}
}

// InputFlag registers -input, whose default the environment may set.
func (o *Options) InputFlag(c *base.Call) {
	c.Flags.BoolVar(&o.Input, "input", asking(c), "Ask for what is missing.")
}

// asking reports whether the environment lets questions be asked.
func asking(c *base.Call) bool {
	asks, err := strconv.ParseBool(c.Getenv("TF_INPUT"))
	return asks || err != nil
}

// TestsFlag registers where test files are.
func (o *Options) TestsFlag(c *base.Call) {
	c.Flags.StringVar(&o.Tests, "test-directory", "tests", "The `directory` of test files.")
}

// LockFlags registers the flags about locking the state.
func (o *Options) LockFlags(c *base.Call) {
	c.Flags.BoolVar(&o.Lock, "lock", true, "Hold a lock on the state.")
	c.Flags.DurationVar(&o.LockTimeout, "lock-timeout", 0, "How `long` to wait for a lock that another holds.")
}

// StateFlag registers the name of a file to read the state from.
func (o *Options) StateFlag(c *base.Call) {
	c.Flags.StringVar(&o.State, "state", "", "Read the state from this `file`.")
}

// StateFlags registers the names of files to keep the state in.
func (o *Options) StateFlags(c *base.Call) {
	c.Flags.StringVar(&o.State, "state", "", "Read the state from this `file` instead of the one of the workspace.")
	c.Flags.StringVar(&o.StateOut, "state-out", "", "Write the state to this `file`.")
	c.Flags.StringVar(&o.Backup, "backup", "", "Keep the previous state in this `file`; \"-\" keeps none.")
}

// Deprecations say of which modules deprecated outputs and variables are warned of: of all, of those
// whose source is a path, or of none.
var Deprecations = []string{"module:all", "module:local", "module:none"}

// WarningFlags registers the flags about which diagnostics are shown.
func (o *Options) WarningFlags(c *base.Call) {
	o.Deprecation = Deprecations[0]
	c.Flags.Func("deprecation", "Warn of deprecated outputs and variables of modules: `module:all`, module:local (those whose source is a path), or module:none.", func(s string) error {
		if !slices.Contains(Deprecations, s) {
			return fmt.Errorf("must be %s, %s or %s", Deprecations[0], Deprecations[1], Deprecations[2])
		}
		o.Deprecation = s
		return nil
	})
	c.GatherFlags()
}

// defaultParallelism is how many provider calls may run at once if nothing is said.
const defaultParallelism = 10

// OperationFlags registers the flags of everything that calls providers.
func (o *Options) OperationFlags(c *base.Call) {
	f, v := c.Flags, &c.View
	f.IntVar(&o.Parallelism, "parallelism", defaultParallelism, "How `many` provider calls may run at once.")
	f.DurationVar(&o.CloseTimeout, "close-timeout", 0, "How `long` closing one lease may take: 1m, if the CLI configuration says nothing else.")
	f.BoolVar(&v.Compact, "compact-warnings", false, "Show warnings without their details unless there are errors.")
	o.WarningFlags(c)
	f.BoolVar(&v.Concise, "concise", false, "Leave out the lines about progress.")
	c.SensitiveFlag()
	c.StreamFlags()
	o.VarFlags(c)
	o.LockFlags(c)
	o.StateFlags(c)
}

// Addresses reads the addresses that an option gave, and those in files, one on a line.
func Addresses(c *base.Call, option string, given, files []string) ([]addr.Target, bool) {
	ok := true
	for _, f := range files {
		text, err := os.ReadFile(c.Path(f))
		if err != nil {
			c.Bag.Add(diag.Errorf("Failed to read address file", "The file %s given with -%s-file cannot be read: %s.", f, option, disk.Reason(err)))
			ok = false
		}
		for _, line := range strings.Split(string(text), "\n") {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
				given = append(given, line)
			}
		}
	}
	var out []addr.Target
	for _, s := range given {
		t, err := addr.ParseTarget(s)
		if err != nil {
			c.Bag.Add(diag.Errorf(fmt.Sprintf("Invalid "+option+" %q", s), "%s.", err))
			ok = false
		}
		out = append(out, t)
	}
	return out, ok
}

// noAssignment says that a -var has no name or no value. What was given is only repeated where it
// is a name.
func noAssignment(name string) diag.Diagnostic {
	given := "A given -var option"
	if name != "" {
		given = fmt.Sprintf("The given -var option %q", name)
	}
	return diag.Errorf("Invalid -var option", "%s is not correctly specified. Must be a variable name and value separated by an equals sign, like -var=\"key=value\".", given)
}

// LoadOptions are those of all that is read as configuration.
func (p *Project) LoadOptions() config.Options {
	return config.Options{
		Display: p.Display, Follow: p.follow, Version: base.Version, Claimed: p.language, Limits: p.Limits,
		NoDeprecations: p.Options.Deprecation == Deprecations[2], NoFarDeprecations: p.Options.Deprecation == Deprecations[1],
	}
}

// follow finds where a local module is, if symbolic links lead there.
func (p *Project) follow(n *config.Node) string {
	way := n.Way(p.Display)
	if to := paths.Follow(p.Dir, way); to != way {
		return to
	}
	return ""
}

// Display is a path as messages show it: relative to the working directory.
func (p *Project) Display(path string) string {
	if rel, err := filepath.Rel(p.Dir, path); err == nil {
		return rel
	}
	return path
}
