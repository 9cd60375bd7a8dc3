package cli

import (
	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/devcmd"
	"github.com/lethe-iac/lethe/internal/cli/doctorcmd"
	"github.com/lethe-iac/lethe/internal/cli/explaincmd"
	"github.com/lethe-iac/lethe/internal/cli/initcmd"
	"github.com/lethe-iac/lethe/internal/cli/logincmd"
	"github.com/lethe-iac/lethe/internal/cli/querycmd"
	"github.com/lethe-iac/lethe/internal/cli/runcmd"
	"github.com/lethe-iac/lethe/internal/cli/secretscmd"
	"github.com/lethe-iac/lethe/internal/cli/statecmd"
	"github.com/lethe-iac/lethe/internal/cli/testcmd"
	"github.com/lethe-iac/lethe/internal/cli/workspacecmd"
)

var helpCommand = &base.Command{
	Name: "help", Args: "[command]", Short: "Show this help output, or the help for a specified subcommand", Hidden: true, Counts: true,
	Long: "Shows the description and the options of a command.",
}

// aliases maps alternative names to commands.
var aliases = map[string]string{
	"state ls": "state list", "state move": "state mv", "state remove": "state rm",
	"env": "workspace", "env show": "workspace show",
	"env list": "workspace list", "env new": "workspace new", "env select": "workspace select", "env delete": "workspace delete",
}

// removedPages maps commands of earlier versions of Terraform and OpenTofu to the explanation that Lethe prints for
// these commands.
var removedPages = map[string]string{
	"push": "Its service, Atlas, no longer exists. Use the API of HCP Terraform instead.",
}

// GlobalOptions returns the options before the command.
func GlobalOptions() []base.Option {
	return []base.Option{
		{Name: "-chdir", Value: "DIR", Text: "Switch to a different working directory before executing the given subcommand."},
		{Name: "-experiment", Value: "NAME", Text: "Permit an experiment: state-store. May be given many times."},
		{Name: "-help", Text: helpCommand.Short + "."},
		{Name: "-version", Text: "An alias for the \"version\" subcommand."},
	}
}

// Manual describes all commands that are not hidden, in the order of commands. It includes the commands of groups, such
// as state list, which the help of the program does not list.
func Manual() []base.About {
	var out []base.About
	for _, cmd := range commands() {
		if !cmd.Hidden {
			about, _ := (&base.Env{}).New(cmd)
			out = append(out, about.About())
		}
	}
	return out
}

// Release returns the version of the program Lethe.
func Release() string { return base.Release }

// commands returns all commands: first the main commands, in the order of the help; then the other commands, mostly
// sorted by name; and last the command help.
func commands() []*base.Command {
	return []*base.Command{
		initcmd.Init, devcmd.Validate, runcmd.Plan, runcmd.Apply, runcmd.Destroy,
		devcmd.Completion, devcmd.Console, doctorcmd.Doctor, explaincmd.Explain, devcmd.Fmt, workspacecmd.ForceUnlock, initcmd.Get, devcmd.Graph, runcmd.Import,
		statecmd.LeasesClose, statecmd.LeasesList, logincmd.Login, logincmd.Logout,
		devcmd.Metadata, devcmd.Modules, devcmd.Output, devcmd.Providers, devcmd.ProvidersLock, devcmd.ProvidersMirror, devcmd.ProvidersSchema, querycmd.Query, runcmd.Refresh, secretscmd.Secrets, secretscmd.Move, secretscmd.Scrub, devcmd.Show,
		statecmd.Check, statecmd.Diff, statecmd.History, statecmd.Identities, statecmd.List, statecmd.Mv, statecmd.Pull, statecmd.Push, statecmd.ReplaceProvider,
		statecmd.Repair, runcmd.Resolve, statecmd.Restore, statecmd.Rm, statecmd.Show, statecmd.Transfer, statecmd.Taint, testcmd.Test, testcmd.Cleanup, statecmd.Untaint, devcmd.Vendor, devcmd.Version,
		workspacecmd.Delete, workspacecmd.List, workspacecmd.New, workspacecmd.Select, workspacecmd.Show,
		helpCommand,
	}
}
