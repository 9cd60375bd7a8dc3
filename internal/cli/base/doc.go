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

// Release is the version of the product. The build of a release sets it.
var Release = "0.1.0-dev"

// Exit codes.
const (
	ExitOK      = 0
	ExitError   = 1
	ExitChanges = 2 // plan -detailed-exitcode
	ExitFormat  = 3 // fmt -check
	ExitUsage   = 127
)

// Env is the environment of a command.
type Env struct {
	Args     []string // without the program's name
	Program  string   // argv[0]
	Stdin    io.Reader
	Stdout   io.Writer
	Stderr   io.Writer
	Dir      string           // the working directory: its real path, after Settle
	Environ  []string         // "NAME=value"
	Now      func() time.Time // returns the current time
	Signals  <-chan os.Signal // interrupts; nil: none can arrive
	Files    disk.FS          // the storage of states, journals, plans and selections; nil means the file system
	Called   string           // the directory in which the program was started, under the name that its caller uses
	Named    string           // Dir, under the caller's name if -chdir did not change it; abspath begins with it
	Start    string           // the real path of Called; TF_CLI_CONFIG_FILE and TF_LOG_PATH are relative to it
	Commands func() []string  // returns the names of all commands and groups; nil: they are not known

	// Enter changes the directory of the process, so that child processes start in it; nil leaves it unchanged.
	Enter func(dir string) error

	// Hide prevents other processes from reading the program's memory. It is called before the first secret is added;
	// may be nil.
	Hide func()

	// Keeper starts a keeper: a process that starts the providers and closes their open leases if Lethe is killed. nil
	// means that providers are started without a keeper.
	Keeper func() (*keeper.Process, error)
}

// Command is a command of the program.
type Command struct {
	Name  string // "plan", "state list"
	Args  string // operands for the usage line: operands in brackets are optional, an ellipsis permits more
	Short string // one line for the list of commands
	Long  string // the description: paragraphs with empty lines between them
	// Examples are commands as a user writes them, each with its effect.
	Examples         [][2]string
	Hidden           bool
	Stream           bool   // -json prints a stream of events; otherwise it prints one document
	Result           bool   // standard output is only for the result, also without -json
	Makes            bool   // the command may change objects of providers
	Saves            bool   // if an interrupt ends the command, the state has the completed changes
	ReportsCLIConfig bool   // the command reports missing files of the CLI configuration itself, so that no warning is printed
	Counts           bool   // the command checks the number of its operands; otherwise base compares the number with Args
	Instead          string // advice for a user who gives operands to a command without operands
	// Setup registers the flags of the command and returns the function that runs it. Help and completion call Setup
	// only for the flags.
	Setup func(c *Call) Run
}

// Run executes a command until ctx ends, and returns its exit code.
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

// NoFlags returns the Setup of a command without flags, which run runs.
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
	Misread  func() (diag.Diagnostic, bool) // returns an error if operands were meant for an option; nil: no such mistake is known
	Log      func(string)                   // writes a sentence to the log; nil without a log
	Times    *timing.Recorder               // records the times of the command; nil: they are not recorded
	Heard    func(string)                   // also receives each line of the log; nil: not needed
	Other    workspace.Other                // opens other directories; nil until package states sets it

	// The handlers of interrupts read these fields at any time.
	Work    atomic.Pointer[engine.Engine] // the work in progress; nil before it starts
	Keeps   atomic.Pointer[keeper.Keeper] // the keeper of providers in use; nil without a keeper
	leaving atomic.Pointer[func()]        // the function of AtOnce

	Failed bool // whether the command failed; for functions of AtEnd

	ends []func()
}

// Stops holds the contexts that interrupts end, one after another.
type Stops struct {
	Begin            context.Context        // ends with the first interrupt: nothing new is started, and providers and provisioners are asked to stop
	Abandon          context.Context        // ends a second after the second interrupt: calls are abandoned, except the closing of leases
	Leave            context.Context        // ends afterwards: the closing of leases is abandoned
	Began            time.Time              // the start of the command
	interrupted      atomic.Bool            // an interrupt has prevented some work
	timeLimitMessage atomic.Pointer[string] // the work in progress at the time limit, as a sentence; nil before the limit
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
	ended      bool // the input has ended
}

// ViewFlags are the flags for the output of a command. Each command registers the flags that it supports.
type ViewFlags struct {
	NoColor     bool
	JSON        bool         // -json
	JSONInto    string       // a file that receives the JSON as well
	Raw         bool         // -raw: standard output contains only one value
	Compact     bool         // warnings without their details
	Concise     bool         // no lines about progress
	ShowSecrets bool         // -show-sensitive
	Silence     diag.Silence // -silence, and the setting silence of the CLI configuration
	Fold        bool         // -fold: on a terminal, equal changes are shown once

	gatherWarnings, gatherErrors bool // show similar diagnostics as one
}
