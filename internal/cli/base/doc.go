// Package base defines the parts that all commands share: the environment, the command with its flags, and the screen
// for its reports.
//
//	Env      arguments, streams, environment, clock, interrupts: everything that a command may use
//	Command  a name, texts for help, and a Setup that registers flags
//	Call     one command in progress: its flags and operands, its diagnostics (Bag), its secrets (Secrets), its output (UI)
//	Screen   a view for progress, plain lines, questions, and the exit code at the end
//
// The flags of a command are fields of a struct. Flags combines the struct with the function that runs the command:
//
//	Setup: base.Flags(func(c *base.Call, f *listFlags) {
//		c.Flags.StringVar(&f.id, "id", "", "Only objects whose attribute \"id\" is this `ID`.")
//	}, runList),
//
// Flags have one or two dashes and may be before or after operands. ViewFlags are the flags for the output of a
// command. The flags for a working directory are in package workdir.
package base

import (
	"bufio"
	"context"
	"flag"
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/engine"
	"github.com/lethe-iac/lethe/internal/provider/keeper"
	"github.com/lethe-iac/lethe/internal/secret"
	"github.com/lethe-iac/lethe/internal/timing"
	"github.com/lethe-iac/lethe/internal/view"
	"github.com/lethe-iac/lethe/internal/workspace"
)

// Version is the version of the language that the program implements. Version constraints, states and plans use it.
const Version = "1.12.0"

// Release is the version of the program Lethe. The build of a release sets it.
var Release = "0.1.0-dev"

// Exit codes.
const (
	ExitOK      = 0
	ExitError   = 1
	ExitChanges = 2 // exit code of "plan -detailed-exitcode" if the plan has changes
	ExitFormat  = 3 // exit code of "fmt -check" if a file is not formatted
	ExitUsage   = 127
)

// Env is the environment of a command.
type Env struct {
	Args     []string // the arguments of the program, without the program's name
	Program  string   // the name under which the program was called (argv[0])
	Stdin    io.Reader
	Stdout   io.Writer
	Stderr   io.Writer
	Dir      string           // the working directory: its real path, after Settle
	Environ  []string         // the environment variables, as "NAME=value"
	Now      func() time.Time // returns the current time
	Signals  <-chan os.Signal // interrupts; nil: none can arrive
	Files    disk.FS          // the storage of states, journals, plans and selections; nil means the file system
	Called   string           // the directory in which the program was started, under the name that its caller used, which may contain symbolic links
	Named    string           // the directory Dir, under the name in Called unless -chdir changed the directory; results of the function abspath begin with it
	Start    string           // the real path of Called; TF_CLI_CONFIG_FILE and TF_LOG_PATH are relative to it
	Commands func() []string  // returns the names of all commands and groups; nil: the names are not known

	// Enter changes the directory of the process, so that child processes start in it; nil leaves it unchanged.
	Enter func(dir string) error

	// Hide prevents other processes from reading the memory of the program. A call of the program calls Hide before it
	// adds the first secret. Hide may be nil.
	Hide func()

	// Keeper starts a keeper: a process that starts the providers, and closes their open ephemeral resources if Lethe
	// is killed. nil means that providers are started without a keeper.
	Keeper func() (*keeper.Process, error)
}

// Command is a command of the program.
type Command struct {
	Name  string // the name of the command, such as "plan" or "state list"
	Args  string // the operands in the usage line: an operand in brackets is optional, and an ellipsis permits more operands
	Short string // one line for the list of commands
	Long  string // the description: paragraphs with empty lines between them
	// Examples are commands as a user writes them, each with its effect.
	Examples         [][2]string
	Hidden           bool   // help and completion do not list the command
	Stream           bool   // with -json, the command prints a stream of events; otherwise -json prints one document
	Result           bool   // standard output contains only the result of the command, also without -json
	Makes            bool   // the command may change objects of providers, or add ephemeral resources to the configuration: it does not share the lock of the state, and a keeper starts its providers
	Saves            bool   // if an interrupt ends the command, the state contains the completed changes
	ReportsCLIConfig bool   // the command reports missing files of the CLI configuration itself, so that no warning is printed
	Counts           bool   // the command checks the number of its operands; otherwise base compares the number with Args
	Instead          string // advice for a user who passes operands to a command that takes none
	// Setup registers the flags of the command and returns the function that runs it. Help and completion call Setup
	// only for the flags.
	Setup func(c *Call) Run
}

// Run executes a command and returns its exit code. ctx ends with the first interrupt.
type Run func(ctx context.Context) int

// Flags returns the Setup of a command whose flags are fields of a T. define declares the flags with the fields of a
// new T, and run runs the command after they are parsed.
func Flags[T any](define func(*Call, *T), run func(context.Context, *Call, *T) int) func(*Call) Run {
	return func(c *Call) Run {
		f := new(T)
		define(c, f)
		return func(ctx context.Context) int { return run(ctx, c, f) }
	}
}

// NoFlags returns the Setup of a command without flags, which the function run executes.
func NoFlags(run func(context.Context, *Call) int) func(*Call) Run {
	return func(c *Call) Run { return func(ctx context.Context) int { return run(ctx, c) } }
}

// Call is a command in progress.
type Call struct {
	*Env
	Command  *Command
	Flags    *flag.FlagSet
	Operands []string
	View     ViewFlags
	Bag      diag.Bag
	Sources  *diag.Sources
	Secrets  *secret.Set
	UI       *Screen
	Stops    Stops
	Misread  func() (diag.Diagnostic, bool) // returns an error and true if the operands look like the value of an option; nil: there is no such check
	Log      func(string)                   // writes a sentence to the log; nil without a log
	Times    *timing.Recorder               // records the times of the command; nil: no times are recorded
	Heard    func(string)                   // receives each line of the log, in addition to the file of the log; nil: no further receiver
	Other    workspace.Other                // opens the states of other directories; nil until package states sets it

	// The handlers of interrupts read these fields at any time.
	Work    atomic.Pointer[engine.Engine] // the engine of the work in progress; nil before the work starts
	Keeps   atomic.Pointer[keeper.Keeper] // the keeper of providers in use; nil without a keeper
	leaving atomic.Pointer[func()]        // the function that AtOnce has set

	Failed bool // whether the command failed; for functions of AtEnd

	ends []func() // the functions that AtEnd has received
}

// Stops holds the contexts that interrupts end, one after another.
type Stops struct {
	Begin            context.Context        // ends with the first interrupt: no new work starts, and providers and provisioners are asked to stop
	Abandon          context.Context        // ends a second after the second interrupt: the command stops waiting for calls, except calls that close ephemeral resources
	Leave            context.Context        // ends after Abandon: the command stops waiting for the closing of ephemeral resources, too
	Began            time.Time              // the start of the command
	interrupted      atomic.Bool            // whether an interrupt has prevented some work
	timeLimitMessage atomic.Pointer[string] // a sentence about the work in progress when the time limit was reached; nil before
	timed            bool                   // the command has a time limit
	expired          chan time.Duration     // receives the remaining time for calls when the time limit is reached
}

// Screen is the connection of a command to its user: a view for progress, plain lines, questions.
type Screen struct {
	view.View
	call       *Call
	into       *os.File     // the file of -json-into; nil without it
	writeError func() error // returns the error of writing to into; nil without it
	in         *bufio.Reader
	ended      bool        // the last question got no answer (see Ask), so MayAsk returns false
	asking     atomic.Bool // a question waits for its answer
}

// ViewFlags are the flags for the output of a command. Each command registers the flags that it supports.
type ViewFlags struct {
	NoColor     bool
	JSON        bool         // -json
	JSONInto    string       // a file that receives the JSON as well
	Raw         bool         // -raw: standard output contains only one value
	Compact     bool         // -compact-warnings: warnings are shown without their details, unless there are errors
	Concise     bool         // -concise: no lines about progress
	ShowSecrets bool         // -show-sensitive
	Silence     diag.Silence // -silence, and the setting silence of the CLI configuration
	Fold        bool         // -fold: on a terminal, equal changes of one resource are shown once

	gatherWarnings, gatherErrors bool // -consolidate-warnings, -consolidate-errors: similar warnings, or similar errors, are shown as one
}
