package workdir

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/disk"
)

// Options are the flags for a working directory. Each command registers the flags that it supports.
type Options struct {
	Vars         []Assignment  // -var and -var-file, in the order of the command line
	Input        bool          // -input: the command may ask questions
	Lock         bool          // the command locks the state
	LockTimeout  time.Duration // how long to wait for a lock that another process holds; 0: not at all
	State        string        // the file of -state; "" means the file of the workspace
	StateOut     string        // the file of -state-out, to which the state is written; "" means the file that was read
	Backup       string        // the file of -backup for the previous state; "-" for none, "" for the default
	Runs         bool          // the command calls providers; then the state belongs to a workspace, even if a flag names its file
	Parallelism  int           // the number of provider calls at the same time; Open replaces 0 by the default
	CloseTimeout time.Duration // the time limit for closing one lease (an open ephemeral resource); 0 means the setting of the CLI configuration
	Deprecation  string        // the value of -deprecation, an element of Deprecations
	Tests        string        // the directory of test files, in addition to the directory of the root module
	Timings      string        // the file of -timings; "" for none
	Config       string        // the directory of the root module; "" means the working directory
}

// Assignment is one -var or -var-file. If File is true, Text is the name of a file, and otherwise "name=value".
type Assignment struct {
	File bool
	Text string
}

// assignments is the flag.Value of -var (file is false) or -var-file (file is true). Both append to one list, which
// keeps the order of the command line.
type assignments struct {
	to   *[]Assignment
	file bool
}

func (a assignments) String() string { return "" }
func (a assignments) Set(s string) error {
	*a.to = append(*a.to, Assignment{a.file, s})
	return nil
}

// VarFlags registers the flags that set root variables.
func (o *Options) VarFlags(c *base.Call) {
	c.Flags.Var(assignments{&o.Vars, false}, "var", "Set a root variable, as `name=value`. May be given many times.")
	c.Flags.Var(assignments{&o.Vars, true}, "var-file", "Load root variables from the `file`. May be given many times.")
	o.InputFlag(c)
	c.Misread = func() (diag.Diagnostic, bool) { // after -var NAME VALUE, without an equals sign, the error must not show VALUE as an operand
		return NoAssignment(""), slices.ContainsFunc(o.Vars, func(a Assignment) bool { return !a.File && !strings.Contains(a.Text, "=") })
	}
}

// TargetVarFlags registers the flags that set root variables of the directory that -to names.
func (o *Options) TargetVarFlags(c *base.Call) {
	c.Flags.Var(assignments{&o.Vars, false}, "to-var", "Set a root variable of the target directory, as `name=value`. May be given many times.")
	c.Flags.Var(assignments{&o.Vars, true}, "to-var-file", "Load root variables of the target directory from the `file`. May be given many times.")
}

// InputFlag registers -input. Its default is true unless TF_INPUT is a false value, such as 0.
func (o *Options) InputFlag(c *base.Call) {
	c.Flags.BoolVar(&o.Input, "input", base.Asks(c), "Ask for missing values.")
}

// TestsFlag registers -test-directory, the directory of test files.
func (o *Options) TestsFlag(c *base.Call) {
	c.Flags.StringVar(&o.Tests, "test-directory", "tests", "The `directory` of test files.")
}

// LockFlags registers -lock and -lock-timeout.
func (o *Options) LockFlags(c *base.Call) {
	c.Flags.BoolVar(&o.Lock, "lock", true, "Hold a lock on the state.")
	c.Flags.DurationVar(&o.LockTimeout, "lock-timeout", 0, "How `long` to wait for a lock that another process holds.")
}

// StateFlag registers -state, the file from which the state is read.
func (o *Options) StateFlag(c *base.Call) {
	c.Flags.StringVar(&o.State, "state", "", "Read the state from this `file`.")
}

// StateFlags registers -state, -state-out and -backup, the files of the state and its backup.
func (o *Options) StateFlags(c *base.Call) {
	c.Flags.StringVar(&o.State, "state", "", "Read the state from this `file` instead of the state of the workspace.")
	c.Flags.StringVar(&o.StateOut, "state-out", "", "Write the state to this `file`.")
	c.Flags.StringVar(&o.Backup, "backup", "", "Keep the previous state in this `file`; \"-\" keeps none.")
}

// Deprecations are the values of -deprecation: warn of deprecated outputs and variables of all modules, only of modules
// whose source is a path, or of none.
var Deprecations = []string{"module:all", "module:local", "module:none"}

// WarningFlags registers -deprecation, -consolidate-warnings and -consolidate-errors.
func (o *Options) WarningFlags(c *base.Call) {
	o.Deprecation = Deprecations[0]
	c.Flags.Func("deprecation", "Warn of deprecated outputs and variables of modules: `module:all`, module:local (only modules whose source is a path), or module:none.", func(s string) error {
		if !slices.Contains(Deprecations, s) {
			return fmt.Errorf("must be %s, %s or %s", Deprecations[0], Deprecations[1], Deprecations[2])
		}
		o.Deprecation = s
		return nil
	})
	c.GatherFlags()
}

// defaultParallelism is the default number of provider calls at the same time.
const defaultParallelism = 10

// OperationFlags registers the flags of commands that call providers, and sets o.Runs.
func (o *Options) OperationFlags(c *base.Call) {
	o.Runs = true
	f, v := c.Flags, &c.View
	f.IntVar(&o.Parallelism, "parallelism", defaultParallelism, "How `many` provider calls may run at once.")
	f.DurationVar(&o.CloseTimeout, "close-timeout", 0, "How `long` closing one lease may take: 1m, unless the CLI configuration changes it.")
	f.BoolVar(&v.Compact, "compact-warnings", false, "Show warnings without their details unless there are errors.")
	o.WarningFlags(c)
	f.BoolVar(&v.Concise, "concise", false, "Omit progress lines.")
	c.SensitiveFlag()
	c.StreamFlags()
	o.VarFlags(c)
	o.LockFlags(c)
	o.StateFlags(c)
}

// Addresses parses the addresses in the values of an option, and in files with one address per line. It skips empty
// lines and lines that begin with #. option is the name of the option for messages. If a file cannot be read or an
// address is invalid, Addresses reports an error and returns false.
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
		if err == nil && t.Mode == addr.Managed && slices.Contains(noTypes, t.Type) && !strings.Contains(s, "resource.") {
			err = fmt.Errorf("the word %q is reserved and cannot be used to target a resource address; if you are targeting a resource type of that name, prefix the address with \"resource.\"", t.Type)
		}
		if err != nil {
			c.Bag.Add(diag.Errorf(fmt.Sprintf("Invalid "+option+" %q", s), "%s.", err))
			ok = false
		}
		out = append(out, t)
	}
	return out, ok
}

// noTypes lists words with which references to other things than resources begin. Without the prefix "resource.", a
// target that begins with one of them is a mistake.
var noTypes = []string{"count", "each", "local", "path", "self", "terraform", "var"}

// NoAssignment returns the error for a -var without a name or an equals sign. The error quotes name, unless name is "".
func NoAssignment(name string) diag.Diagnostic {
	given := "A given -var option"
	if name != "" {
		given = fmt.Sprintf("The given -var option %q", name)
	}
	return diag.Errorf("Invalid -var option", "%s is not correctly specified. Must be a variable name and value separated by an equals sign, like -var=\"key=value\".", given)
}
