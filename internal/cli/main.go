// Package cli is the command line: one file per command, each turning flags into a request,
// the request into work of the engine, and what came of it into lines and an exit code.
//
// Main takes everything it may touch through an Env, so that tests call it as a shell would.
// Flags take one or two dashes and may stand before or after operands. Nothing below this package
// prints.
package cli

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/lethe-iac/lethe/internal/child"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine"
	"github.com/lethe-iac/lethe/internal/secret"
	"github.com/lethe-iac/lethe/internal/state/disk"
)

// Env is what a command sees of the world.
type Env struct {
	Args    []string // without the program's name
	Program string   // argv[0]
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer
	Dir     string // the working directory, absolute
	Environ []string
	Now     func() time.Time
	Signals <-chan os.Signal // interrupts; may be nil
	Files   disk.FS          // where states, journals, plans and selections are kept; nil: the real one

	called string // Dir as it was before -chdir; "" without one
}

// files is where a command keeps things.
func (e *Env) files() disk.FS {
	if e.Files != nil {
		return e.Files
	}
	return disk.OS
}

// Getenv looks a variable up, "" if it is not set.
func (e *Env) Getenv(name string) string { return child.Getenv(e.Environ, name) }

// Command is one command of the program.
type Command struct {
	Name   string // "plan", "state list"
	Args   string // operands, for the usage line
	Short  string
	Long   string
	Hidden bool
	Stream bool // -json is a stream of events; elsewhere it is one document
	Result bool // standard output is for what is asked for alone, also without -json
	Flags  func(c *call)
	Run    func(ctx context.Context, c *call) int
}

// call is one command being run.
type call struct {
	*Env
	command                                        *Command
	flags                                          *flag.FlagSet
	operands                                       []string
	bag                                            diag.Bag
	sources                                        *diag.Sources
	opts                                           options
	ui                                             *screen
	format                                         formatting
	setup                                          setup
	secrets                                        *secret.Set
	jsonFile                                       *os.File // -json-into
	raw                                            bool
	showState, showPlan, graphType                 string
	id, backupOut, configDir                       string
	force, dryRun, allowMissing, orCreate, planned bool
	engine                                         *engine.Engine
	stops                                          stops
}

// Exit codes.
const (
	exitOK      = 0
	exitError   = 1
	exitChanges = 2 // plan -detailed-exitcode
	exitFormat  = 3 // fmt -check
	exitUsage   = 127
)

// Main runs the command that the arguments name and gives the exit code.
func Main(env Env) int {
	if env.Getenv("COMP_LINE") != "" {
		env.complete()
		return exitOK
	}
	if len(env.Args) == 1 {
		switch strings.TrimPrefix(env.Args[0], "-") {
		case "-install-autocomplete", "install-autocomplete":
			return env.autocomplete(true)
		case "-uninstall-autocomplete", "uninstall-autocomplete":
			return env.autocomplete(false)
		}
	}
	args, ok := env.global()
	if !ok {
		return exitError
	}
	if len(args) == 0 {
		fmt.Fprint(env.Stdout, usage())
		return exitUsage
	}
	cmd, rest := find(args)
	if cmd == nil {
		return env.noCommand(args)
	}
	rest, err := env.withDefaults(cmd, rest)
	if err != nil {
		fmt.Fprintf(env.Stderr, "Error: %s\n", err)
		return exitError
	}
	return env.run(cmd, rest)
}

// global handles what stands before the command: -chdir, -help, -version.
func (e *Env) global() ([]string, bool) {
	args := e.Args
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		name := "-" + strings.TrimLeft(args[0], "-")
		switch {
		case name == "-help" || name == "-h":
			return append([]string{"help"}, args[1:]...), true
		case name == "-version" || name == "-v":
			return append([]string{"version"}, args[1:]...), true
		case name == "-json" && len(args) > 1 && slices.Contains([]string{"version", "v"}, strings.TrimLeft(args[1], "-")):
			return []string{"version", "-json"}, true // as the peers take it
		case name == "-chdir" || name == "-chdir=": // an empty one is a variable that was not set
			fmt.Fprintln(e.Stderr, "Error: -chdir needs a directory, as in -chdir=DIR.")
			return nil, false
		case strings.HasPrefix(name, "-chdir="):
			if !e.chdir(strings.TrimPrefix(name, "-chdir=")) {
				return nil, false
			}
			args = args[1:]
		default:
			option, _, _ := strings.Cut(name, "=")
			fmt.Fprintf(e.Stderr, "Error: %s is not a global option.%s Options of a command stand after its name.\n", args[0], meant("%s", option, []string{"-chdir", "-help", "-version"}))
			return nil, false
		}
	}
	return args, true
}

func (e *Env) chdir(dir string) bool {
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(e.Dir, dir)
	}
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a directory", dir)
	}
	if err != nil {
		fmt.Fprintf(e.Stderr, "Error handling -chdir option: %s\n", err)
		return false
	}
	if e.called == "" {
		e.called = e.Dir
	}
	e.Dir = dir
	return true
}

// find looks for the longest command name that the arguments begin with.
func find(args []string) (*Command, []string) {
	for n := min(2, len(args)); n > 0; n-- {
		name := strings.Join(args[:n], " ")
		if of, ok := aliases[name]; ok {
			name = of
		}
		for _, c := range commands() {
			if c.Name == name {
				return c, args[n:]
			}
		}
	}
	return nil, args
}

func wantsHelp(arg string) bool {
	name := strings.TrimLeft(arg, "-")
	return name != arg && (name == "help" || name == "h")
}

func (e *Env) noCommand(args []string) int {
	var names []string
	for _, c := range commands() {
		names = append(names, c.Name)
	}
	if of, ok := aliases[args[0]]; ok {
		args = append([]string{of}, args[1:]...)
	}
	if group := subcommands(args[0]); group != "" {
		fmt.Fprint(e.Stdout, group)
		if len(args) > 1 && wantsHelp(args[1]) {
			return exitOK
		}
		if len(args) > 1 {
			name := args[0] + " " + args[1]
			fmt.Fprintf(e.Stderr, "\nLethe has no command named %q.%s\n", name, meant("%q", name, names))
		}
		return exitError
	}
	if why, gone := gone[args[0]]; gone {
		fmt.Fprintf(e.Stderr, "Error: Command \"%s\" is no longer supported\n\n%s\n", args[0], why)
		return exitError
	}
	fmt.Fprintf(e.Stderr, "Lethe has no command named %q.%s", args[0], meant("%q", args[0], names))
	fmt.Fprint(e.Stderr, "\n\nTo see all of Lethe's top-level commands, run:\n  lethe -help\n\n")
	return exitError
}

// meant is " Did you mean …?" if a name is near to one of those that there are.
func meant(verb, given string, names []string) string {
	if near := diag.Suggest(given, names); near != "" {
		return fmt.Sprintf(" Did you mean "+verb+"?", near)
	}
	return ""
}

// withDefaults puts TF_CLI_ARGS and TF_CLI_ARGS_<command> before the arguments.
func (e *Env) withDefaults(cmd *Command, args []string) ([]string, error) {
	for _, name := range []string{"TF_CLI_ARGS_" + strings.ReplaceAll(cmd.Name, " ", "_"), "TF_CLI_ARGS"} {
		extra, err := splitShell(e.Getenv(name))
		if err != nil {
			return nil, fmt.Errorf("the variable %s cannot be read as arguments: %w", name, err)
		}
		args = append(extra, args...)
	}
	return args, nil
}

// run parses the flags of a command and runs it.
func (e *Env) run(cmd *Command, args []string) (code int) {
	c := e.newCall(cmd)
	defer c.crashed(&code)
	if err := c.parse(args); err != nil {
		if err == flag.ErrHelp {
			fmt.Fprint(e.Stdout, c.help())
			return exitOK
		}
		fmt.Fprintf(e.Stderr, "Error: %s\n\nFor more help on this command, run:\n  lethe %s -help\n", c.usageError(err), cmd.Name)
		return exitError
	}
	c.ui = newScreen(c)
	defer c.ui.flush()
	if c.bag.HasErrors() {
		return c.ui.fail()
	}
	defer c.jsonFile.Close() // nil is fine: there is nothing to close then
	ctx, stop := c.interrupts(context.Background())
	defer stop()
	code = cmd.Run(ctx, c)
	if d, is := c.interrupted(); is && code == exitError {
		c.bag.Add(d)
		return c.ui.fail()
	}
	return code
}

// newCall is a command with its flags, before these are read.
func (e *Env) newCall(cmd *Command) *call {
	c := &call{Env: e, command: cmd, sources: &diag.Sources{}, secrets: &secret.Set{}}
	c.flags = flag.NewFlagSet(cmd.Name, flag.ContinueOnError)
	c.flags.SetOutput(io.Discard)
	c.flags.BoolVar(&c.opts.noColor, "no-color", false, "Print without colours.")
	if cmd.Flags != nil {
		cmd.Flags(c)
	}
	return c
}

// parse takes flags and operands in any order.
func (c *call) parse(args []string) error {
	for {
		if err := c.flags.Parse(args); err != nil {
			return err
		}
		rest := c.flags.Args()
		if len(rest) == 0 {
			return nil
		}
		if used := len(args) - len(rest); used > 0 && args[used-1] == "--" {
			c.operands = append(c.operands, rest...)
			return nil
		}
		c.operands = append(c.operands, rest[0])
		args = rest[1:]
	}
}

// usageError words a flag error for a user.
func (c *call) usageError(err error) string {
	s := err.Error()
	if name, ok := strings.CutPrefix(s, "flag provided but not defined: "); ok {
		if name == "-chdir" {
			return "the option -chdir stands before the command, as in lethe -chdir=DIR " + c.command.Name + "."
		}
		var names []string
		c.flags.VisitAll(func(f *flag.Flag) { names = append(names, "-"+f.Name) })
		return "the option " + name + " is not known here." + meant("%s", name, names)
	}
	return s
}

// usage is the list of commands.
func usage() string {
	var b strings.Builder
	b.WriteString("Usage: lethe [global options] <subcommand> [args]\n\nThe available commands for execution are listed below.\n\nMain commands:\n")
	mainOnes := []string{"init", "validate", "plan", "apply", "destroy"}
	for _, name := range mainOnes {
		for _, c := range commands() {
			if c.Name == name {
				fmt.Fprintf(&b, "  %-13s %s\n", c.Name, c.Short)
			}
		}
	}
	b.WriteString("\nAll other commands:\n")
	others := []string{
		fmt.Sprintf("  %-13s %s\n", "state", "Advanced state management"),
		fmt.Sprintf("  %-13s %s\n", "workspace", "Workspace management"),
		fmt.Sprintf("  %-13s %s\n", "metadata", "Metadata related commands"),
	}
	for _, c := range commands() {
		if !c.Hidden && !slices.Contains(mainOnes, c.Name) && !strings.Contains(c.Name, " ") {
			others = append(others, fmt.Sprintf("  %-13s %s\n", c.Name, c.Short))
		}
	}
	slices.Sort(others)
	b.WriteString(strings.Join(others, ""))
	b.WriteString("\nGlobal options (use these before the subcommand, if any):\n  -chdir=DIR    Switch to a different working directory before executing the\n                given subcommand.\n  -help         Show this help output, or the help for a specified subcommand.\n  -version      An alias for the \"version\" subcommand.\n")
	return b.String()
}

// subcommands lists the commands of a group, "" if there is no such group.
func subcommands(group string) string {
	var b strings.Builder
	for _, c := range commands() {
		if rest, ok := strings.CutPrefix(c.Name, group+" "); ok && !c.Hidden {
			fmt.Fprintf(&b, "    %-18s %s\n", rest, c.Short)
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return fmt.Sprintf("Usage: lethe [global options] %s <subcommand> [options] [args]\n\nSubcommands:\n%s", group, b.String())
}

// help is the text of a command's -help.
func (c *call) help() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage: lethe [global options] %s [options]", c.command.Name)
	if c.command.Args != "" {
		b.WriteString(" " + c.command.Args)
	}
	b.WriteString("\n\n")
	for _, line := range strings.Split(strings.TrimSpace(c.command.Long), "\n") {
		b.WriteString(strings.TrimRight("  "+line, " ") + "\n")
	}
	b.WriteString("\nOptions:\n\n")
	c.flags.VisitAll(func(f *flag.Flag) {
		name, text := flag.UnquoteUsage(f)
		left := "-" + f.Name
		if name != "" {
			left += "=" + name
		}
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "0s" && !strings.HasPrefix(text, "Accepted") {
			text += " The default is " + f.DefValue + "."
		}
		fmt.Fprintf(&b, "  %-24s %s\n", left, strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", 27)))
	})
	return b.String()
}
