// Package base is what all commands share: the world as a command sees it, the command itself with
// its flags, and the screen where it reports.
//
//	Env      arguments, streams, environment, clock, interrupts: all that a command may touch
//	Command  a name, texts for help, and a Setup that registers flags
//	Call     one command being run: its flags and operands, what is wrong (Bag), what must not be
//	         shown (Secrets), how it reports (UI)
//	Screen   a view for what happens, plain lines, questions, and the exit code at the end
//
// The flags of a command are a struct beside the function that runs it; Flags puts both together:
//
//	Setup: base.Flags(func(c *base.Call, f *listFlags) {
//		c.Flags.StringVar(&f.id, "id", "", "Only objects whose attribute \"id\" is this `ID`.")
//	}, runList),
//
// Flags take one or two dashes and may stand before or after operands. Those that decide how a
// command reports are ViewFlags; those that say how to work on a directory are in package project.
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
	"github.com/lethe-iac/lethe/internal/engine"
	"github.com/lethe-iac/lethe/internal/provider/keeper"
	"github.com/lethe-iac/lethe/internal/secret"
	"github.com/lethe-iac/lethe/internal/state/disk"
	"github.com/lethe-iac/lethe/internal/view"
)

// Version is the level of the language that the program speaks, which is what constraints, states and plans go by.
const Version = "1.12.0"

// Release is the product's own version. A release sets it when it is built.
var Release = "0.1.0-dev"

// Exit codes.
const (
	ExitOK      = 0
	ExitError   = 1
	ExitChanges = 2 // plan -detailed-exitcode
	ExitFormat  = 3 // fmt -check
	ExitUsage   = 127
)

// Env is what a command sees of the world.
type Env struct {
	Args     []string // without the program's name
	Program  string   // argv[0]
	Stdin    io.Reader
	Stdout   io.Writer
	Stderr   io.Writer
	Dir      string // the working directory: its real path, after Settle
	Environ  []string
	Now      func() time.Time
	Signals  <-chan os.Signal // interrupts; may be nil
	Files    disk.FS          // where states, journals, plans and selections are kept; nil: the real one
	Called   string           // where the program was called, as its caller names that directory
	Named    string           // Dir, as the program's caller names it if it was called there: what abspath begins with
	Start    string           // real path of Called: TF_CLI_CONFIG_FILE and TF_LOG_PATH are relative to it
	Commands func() []string  // names of all, and of their groups; may be nil

	// Enter changes the directory of the process, so that all that it starts begins there; nil: it stays where it is.
	Enter func(dir string) error

	// Hide keeps others out of the program's memory. It is called when the first secret is in it; may be nil.
	Hide func()

	// Keeper starts a process that keeps providers; nil: there is to be none.
	Keeper func() (*keeper.Process, error)
}

// Command is one command of the program.
type Command struct {
	Name  string // "plan", "state list"
	Args  string // operands, for the usage line: each is needed but those in brackets, and many may stand for one with an ellipsis
	Short string
	Long  string
	// Examples are commands, as a user would write them, each with what it does.
	Examples [][2]string
	Hidden   bool
	Stream   bool   // -json is a stream of events; elsewhere it is one document
	Result   bool   // standard output is for what is asked for alone, also without -json
	Makes    bool   // it may change what providers manage
	Counts   bool   // it counts its operands itself; elsewhere it is run only with as many as Args says
	Instead  string // a sentence for those who give operands to a command that takes none
	// Setup registers the flags of the command and gives the function that runs it with them. Help and
	// completion call it for the flags alone.
	Setup func(c *Call) Run
}

// Run runs a command until ctx is done, and gives its exit code.
type Run func(ctx context.Context) int

// Flags makes the Setup of a command whose flags are a T.
func Flags[T any](define func(*Call, *T), run func(context.Context, *Call, *T) int) func(*Call) Run {
	return func(c *Call) Run {
		f := new(T)
		define(c, f)
		return func(ctx context.Context) int { return run(ctx, c, f) }
	}
}

// NoFlags makes the Setup of a command without any.
func NoFlags(run func(context.Context, *Call) int) func(*Call) Run {
	return func(c *Call) Run { return func(ctx context.Context) int { return run(ctx, c) } }
}

// Call is one command being run.
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
	Misread  func() (diag.Diagnostic, bool) // says of operands that they were meant for an option; may be nil
	Log      func(string)                   // takes a sentence about what is done, for the log; nil: nothing is logged
	Heard    func(string)                   // gets each line of the log as well; nil: nothing listens

	// Interrupts, which may come at any time, look at these.
	Work    atomic.Pointer[engine.Engine] // what is under way; nil before there is any
	Keeps   atomic.Pointer[keeper.Keeper] // what keeps providers; nil: nothing does
	leaving atomic.Pointer[func()]        // of AtOnce

	ends []func()
}

// Stops are what interrupts end, one after the other.
type Stops struct {
	Begin   context.Context        // the first: nothing new is started, providers and provisioners are asked to give up
	Abandon context.Context        // a second after the second: no call is waited for, but for those that close leases
	Leave   context.Context        // and then these are not, either
	Began   time.Time              // when the command did
	cut     atomic.Bool            // that kept something from being done
	late    atomic.Pointer[string] // what was under way when the command had taken as long as it may
	timed   bool
	expired chan time.Duration // gets, when that is, how long calls may still go on
}

// Screen is where a command talks to its user: a view for what happens, plain lines, questions.
type Screen struct {
	view.View
	call  *Call
	into  *os.File     // of -json-into; nil without it
	lost  func() error // why that file has not all that it was to have, if so; nil without it
	in    *bufio.Reader
	ended bool // nothing comes from it any more
}

// ViewFlags are the flags that say how a command reports. Each command registers those it takes.
type ViewFlags struct {
	NoColor     bool
	JSON        bool   // -json: for programs
	JSONInto    string // a file that gets the JSON as well
	Raw         bool   // -raw: standard output has one value to itself
	Compact     bool   // warnings without their details
	Concise     bool   // no lines about progress
	ShowSecrets bool   // -show-sensitive

	gatherWarnings, gatherErrors bool // show similar ones as one
}
