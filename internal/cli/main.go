// Package cli is the command line of Lethe. It finds the command for the arguments and runs it. Package base defines
// the parts that commands share. Each group of commands is a package:
//
//	base          Env, Command, Call, Screen
//	runcmd        plan, apply, destroy, refresh, import, state resolve
//	statecmd      state list, show, mv, …; taint, untaint; leases
//	workspacecmd  workspace list, new, …; force-unlock
//	initcmd       init, get
//	testcmd       test, test cleanup
//	logincmd      login, logout
//	doctorcmd     doctor
//	explaincmd    explain
//	querycmd      query
//	secretscmd    secrets, secrets move, secrets scrub
//	devcmd        validate, fmt, console, graph, output, show, modules, providers, metadata, version and similar
//	manual        manual pages, and the pages of the documentation about commands
//
// The commands use workdir (paths and settings), loader (configuration), states (stores) and session (engine and
// providers).
//
// Main uses only the environment in Env, so that tests can call it like a shell.
package cli

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/provider/keeper"
	"github.com/lethe-iac/lethe/internal/secret"
)

// Version is the version of the language that the program implements, which required_version is compared with.
const Version = base.Version

// Signals returns the signals that stop the program.
func Signals() <-chan os.Signal { return base.Signals() }

// Collect adjusts the garbage collection of the process.
func Collect() { base.Collect() }

// Main runs the command for the arguments and returns the exit code. If keeper.Argument is the only argument, the
// process is a keeper: it starts providers for another Lethe process, and closes their ephemeral resources if this
// process is killed. If COMP_LINE is set, Main prints completions for a shell. Without a command, it prints the help
// and returns ExitUsage.
func Main(env Env) int {
	if len(env.Args) == 1 && env.Args[0] == keeper.Argument {
		if err := keeper.Main(func(p provider.Provider, s *secret.Set) keeper.Recorder {
			return engine.Recovery{Provider: p, Secrets: s}
		}); err != nil {
			return base.ExitError
		}
		return base.ExitOK
	}
	if err := env.Settle(); err != nil {
		fmt.Fprintf(env.Stderr, "Error: the working directory cannot be determined: %s\n", err)
		return base.ExitError
	}
	if env.Getenv("COMP_LINE") != "" {
		complete(&env)
		return base.ExitOK
	}
	if len(env.Args) == 1 {
		switch strings.TrimPrefix(env.Args[0], "-") {
		case "-install-autocomplete", "install-autocomplete":
			return autocomplete(&env, true)
		case "-uninstall-autocomplete", "uninstall-autocomplete":
			return autocomplete(&env, false)
		}
	}
	args, ok := global(&env)
	if !ok {
		return base.ExitError
	}
	if len(args) == 0 {
		fmt.Fprint(env.Stdout, usage())
		return base.ExitUsage
	}
	cmd, rest := find(args)
	if cmd == nil {
		return noCommand(&env, args)
	}
	env.Commands = names
	rest, err := withDefaults(&env, cmd, rest)
	if err != nil {
		fmt.Fprintf(env.Stderr, "Error: %s\n", err)
		return base.ExitError
	}
	return env.Run(cmd, rest)
}

// names returns the names of all commands and of their groups, in no order. A name of a group occurs once for each
// command.
func names() []string {
	var out []string
	for _, c := range commands() {
		out = append(out, c.Name)
		if group, _, ok := strings.Cut(c.Name, " "); ok {
			out = append(out, group)
		}
	}
	return out
}

func noCommand(e *Env, args []string) int {
	if of, ok := aliases[args[0]]; ok {
		args = append([]string{of}, args[1:]...)
	}
	if group := subcommands(args[0]); group != "" {
		fmt.Fprint(e.Stdout, group)
		if len(args) > 1 && wantsHelp(args[1]) {
			return base.ExitOK
		}
		if len(args) > 1 {
			name := args[0] + " " + args[1]
			fmt.Fprintf(e.Stderr, "\nLethe has no command named %q.%s\n", name, diag.Meant(diag.Suggest(name, names())))
		}
		return base.ExitError
	}
	if why, missing := removedPages[args[0]]; missing {
		fmt.Fprintf(e.Stderr, "Error: Command \"%s\" is no longer supported\n\n%s\n", args[0], why)
		return base.ExitError
	}
	fmt.Fprintf(e.Stderr, "Lethe has no command named %q.%s", base.Unvalued(args[0]), diag.Meant(diag.Suggest(args[0], names())))
	fmt.Fprint(e.Stderr, "\n\nTo see all of Lethe's top-level commands, run:\n  lethe -help\n\n")
	return base.ExitError
}

// usage returns the help text of the program: the list of commands, and the global options.
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
		fmt.Sprintf("  %-13s %s\n", "leases", "Leases that were left open"),
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
	b.WriteString("\nGlobal options (use these before the subcommand, if any):\n" + base.Listed(GlobalOptions(), 20))
	return b.String()
}

// subcommands returns a help text with the commands of a group, or "" for an unknown group.
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
