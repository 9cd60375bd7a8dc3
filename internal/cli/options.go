package cli

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
)

// options are the flags of all commands; each command defines those it takes.
type options struct {
	noColor         bool
	json            bool
	jsonInto        string
	compact         bool // -compact-warnings
	concise         bool
	showSecrets     bool // -show-sensitive
	deferEphemerals bool
	closeTimeout    time.Duration

	input       bool
	lock        bool
	lockTimeout time.Duration
	parallelism int

	vars     []assignment
	state    string
	stateOut string
	backup   string

	destroy      bool
	refresh      bool
	refreshOnly  bool
	targets      list
	excludes     list
	targetFiles  list
	excludeFiles list
	replace      list
	out          string
	detailed     bool
	generate     string

	autoApprove bool
	mayForget   bool // -suppress-forget-errors

	gatherWarnings, gatherErrors bool   // -consolidate-warnings, -consolidate-errors
	deprecation                  string // one of those below
}

// assignment is one -var or -var-file, in the order given.
type assignment struct {
	file bool
	text string
}

// list is a flag that may be given many times.
type list []string

func (l *list) String() string     { return strings.Join(*l, ",") }
func (l *list) Set(s string) error { *l = append(*l, s); return nil }

// assignments collects -var and -var-file in one order.
type assignments struct {
	to   *[]assignment
	file bool
}

func (a assignments) String() string { return "" }
func (a assignments) Set(s string) error {
	*a.to = append(*a.to, assignment{a.file, s})
	return nil
}

func (c *call) varFlags() {
	c.flags.Var(assignments{&c.opts.vars, false}, "var", "Set a root variable, as `name=value`. May be given many times.")
	c.flags.Var(assignments{&c.opts.vars, true}, "var-file", "Load root variables from the `file`. May be given many times.")
	c.inputFlag()
}

func (c *call) inputFlag() {
	c.flags.BoolVar(&c.opts.input, "input", c.asks(), "Ask for what is missing.")
}

// asks reports whether questions may be asked, as far as the environment says.
func (c *call) asks() bool {
	v := c.Getenv("TF_INPUT")
	if v == "" {
		return true
	}
	b, err := strconv.ParseBool(v)
	return err != nil || b
}

func (c *call) lockFlags() {
	c.flags.BoolVar(&c.opts.lock, "lock", true, "Hold a lock on the state.")
	c.flags.DurationVar(&c.opts.lockTimeout, "lock-timeout", 0, "How `long` to wait for a lock that another holds.")
}

func (c *call) remoteFlag() {
	c.flags.Bool("ignore-remote-version", false, "Accepted for compatibility.")
}

func (c *call) stateFlags() {
	c.flags.StringVar(&c.opts.state, "state", "", "Read the state from this `file` instead of the one of the workspace.")
	c.flags.StringVar(&c.opts.stateOut, "state-out", "", "Write the state to this `file`.")
	c.flags.StringVar(&c.opts.backup, "backup", "", "Keep the previous state in this `file`; \"-\" keeps none.")
}

func (c *call) jsonFlag() {
	c.flags.BoolVar(&c.opts.json, "json", false, "Print for programs.")
}

// planFlags are the flags of everything that plans.
func (c *call) planFlags() {
	f := c.flags
	f.BoolVar(&c.opts.destroy, "destroy", false, "Plan to destroy everything.")
	f.BoolVar(&c.opts.refresh, "refresh", true, "Look at the real objects first.")
	f.BoolVar(&c.opts.refreshOnly, "refresh-only", false, "Only bring the state up to date with the real objects.")
	f.Var(&c.opts.targets, "target", "Plan only for this `address` and what it needs. May be given many times.")
	f.Var(&c.opts.excludes, "exclude", "Plan for everything but this `address` and what needs it. May be given many times.")
	f.Var(&c.opts.targetFiles, "target-file", "Read -target addresses from the `file`, one on a line.")
	f.Var(&c.opts.excludeFiles, "exclude-file", "Read -exclude addresses from the `file`, one on a line.")
	f.Var(&c.opts.replace, "replace", "Replace the object at this `address`. May be given many times.")
	f.BoolVar(&c.opts.deferEphemerals, "defer-ephemerals", false, "Open no lease while planning that only write-only arguments receive.")
	c.operationFlags()
}

// defersEphemerals says whether planning is to open no lease that only write-only arguments receive:
// as the flag says, or the CLI configuration.
func (p *project) defersEphemerals() bool {
	defers := p.settings.DeferEphemerals
	p.flags.Visit(func(f *flag.Flag) {
		if f.Name == "defer-ephemerals" {
			defers = p.opts.deferEphemerals
		}
	})
	return defers
}

// sparesDeposed says whether destroy-time provisioners are not to run for deposed objects: as the
// environment says, or the CLI configuration.
func (p *project) sparesDeposed() (spares, ok bool) {
	const name = "LETHE_SKIP_DEPOSED_PROVISIONERS"
	given := p.Getenv(name)
	if given == "" {
		return p.settings.SkipDeposed, true
	}
	spares, err := strconv.ParseBool(given)
	if err != nil {
		p.bag.Add(diag.Errorf("Invalid CLI configuration", "The environment variable %s is %q, and must be true or false.", name, given))
	}
	return spares, err == nil
}

// Modules whose deprecated outputs and variables warn whoever uses them, as -deprecation says.
const (
	deprecationAll   = "module:all"
	deprecationLocal = "module:local"
	deprecationNone  = "module:none"
)

// gatherFlags are about which diagnostics are shown, and that some say the same.
func (c *call) gatherFlags() {
	c.opts.deprecation = deprecationAll
	c.flags.Func("deprecation", "Warn of deprecated outputs and variables of modules: `module:all`, module:local (those whose source is a path), or module:none.", func(s string) error {
		if s != deprecationAll && s != deprecationLocal && s != deprecationNone {
			return fmt.Errorf("must be %s, %s or %s", deprecationAll, deprecationLocal, deprecationNone)
		}
		c.opts.deprecation = s
		return nil
	})
	c.flags.BoolVar(&c.opts.gatherWarnings, "consolidate-warnings", true, "Show similar warnings as one.")
	c.flags.BoolVar(&c.opts.gatherErrors, "consolidate-errors", true, "Show similar errors as one.")
}

// apart are the severities of which everything is shown by itself.
func (c *call) apart() []diag.Severity {
	var out []diag.Severity
	if c.flags.Lookup("consolidate-warnings") == nil {
		return nil
	}
	if !c.opts.gatherWarnings {
		out = append(out, diag.Warning)
	}
	if !c.opts.gatherErrors {
		out = append(out, diag.Error)
	}
	return out
}

// operationFlags are the flags of everything that calls providers.
func (c *call) operationFlags() {
	f := c.flags
	f.IntVar(&c.opts.parallelism, "parallelism", 10, "How `many` provider calls may run at once.")
	f.DurationVar(&c.opts.closeTimeout, "close-timeout", 0, "How `long` closing one lease may take: 1m, if the CLI configuration says nothing else.")
	f.BoolVar(&c.opts.compact, "compact-warnings", false, "Show warnings without their details unless there are errors.")
	c.gatherFlags()
	f.BoolVar(&c.opts.concise, "concise", false, "Leave out the lines about progress.")
	f.BoolVar(&c.opts.showSecrets, "show-sensitive", false, "Show sensitive values.")
	f.StringVar(&c.opts.jsonInto, "json-into", "", "Write the JSON stream to this `file` as well.")
	c.jsonFlag()
	c.varFlags()
	c.lockFlags()
	c.stateFlags()
}

// path makes a path from a flag absolute: relative ones are seen from the working directory.
func (c *call) path(p string) string {
	if p == "" || filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(c.Dir, p)
}

// addresses reads the targets, from flags and files.
func (c *call) addresses(flagName string, given, files list) ([]addr.Target, bool) {
	ok := true
	for _, f := range files {
		text, err := os.ReadFile(c.path(f))
		if err != nil {
			c.bag.Add(diag.Errorf("Failed to read address file", "The file given with -%s-file cannot be read: %s.", flagName, err))
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
			c.bag.Add(diag.Errorf(fmt.Sprintf("Invalid "+flagName+" %q", s), "%s.", err))
			ok = false
		}
		out = append(out, t)
	}
	return out, ok
}

// replaced reads the addresses of -replace.
func (c *call) replaced() ([]addr.Instance, bool) {
	ok := true
	var out []addr.Instance
	for _, s := range c.opts.replace {
		i, err := addr.ParseInstance(s)
		if err != nil {
			c.bag.Add(diag.Errorf(fmt.Sprintf("Invalid force-replace address %q", s), "%s.", err))
			ok = false
		}
		out = append(out, i)
	}
	return out, ok
}

// noOperands refuses operands.
func (c *call) noOperands() bool {
	if len(c.operands) == 0 {
		return true
	}
	for _, a := range c.opts.vars {
		if !a.file && !strings.Contains(a.text, "=") { // as in -var NAME VALUE: the operand is the value
			c.bag.Add(noAssignment(""))
			return false
		}
	}
	c.bag.Add(diag.Errorf("Too many command line arguments", "The command %s takes no arguments, and got %q. To work in another directory, use the global -chdir option.", c.command.Name, strings.Join(c.operands, " ")))
	return false
}

// between refuses fewer operands than least and more than most.
func (c *call) between(least, most int) bool {
	if n := len(c.operands); n >= least && (most < 0 || n <= most) {
		return true
	}
	c.bag.Add(diag.Errorf("Wrong number of arguments", "Usage: lethe %s [options] %s", c.command.Name, c.command.Args))
	return false
}

var _ flag.Value = (*list)(nil)
