package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/experiment"
)

// Env is the environment of the program.
type Env = base.Env

// global handles the options before the command: -chdir, -experiment, -help, -version. It returns the remaining
// arguments, in which -help and -version have become the commands help and version. After an error, it prints the error
// on standard error and returns nil and false.
func global(e *Env) ([]string, bool) {
	args := e.Args
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		name := "-" + strings.TrimLeft(args[0], "-")
		switch {
		case name == "-help" || name == "-h":
			return append([]string{"help"}, args[1:]...), true
		case name == "-version" || name == "-v":
			return append([]string{"version"}, args[1:]...), true
		case name == "-json" && len(args) > 1 && slices.Contains([]string{"version", "v"}, strings.TrimLeft(args[1], "-")):
			return []string{"version", "-json"}, true // Terraform and OpenTofu accept -json before version, too
		case name == "-chdir" || name == "-chdir=": // an empty value probably comes from an unset variable of the shell
			fmt.Fprintln(e.Stderr, "Error: -chdir needs a directory, as in -chdir=DIR.")
			return nil, false
		case strings.HasPrefix(name, "-chdir="):
			if !e.Chdir(strings.TrimPrefix(name, "-chdir=")) {
				return nil, false
			}
			args = args[1:]
		case name == "-experiment" || name == "-experiment=":
			fmt.Fprintln(e.Stderr, "Error: -experiment needs a name, as in -experiment=state-store.")
			return nil, false
		case strings.HasPrefix(name, "-experiment="): // the option -experiment adds its names to the environment variable for experiments
			list := e.Getenv(experiment.Variable) + "," + strings.TrimPrefix(name, "-experiment=")
			e.Environ = append(slices.Clip(e.Environ), experiment.Variable+"="+list)
			args = args[1:]
		default:
			option, _, _ := strings.Cut(name, "=")
			fmt.Fprintf(e.Stderr, "Error: %s is not a global option.%s Write options of a command after its name.\n", option, base.MeantOption(option, []string{"-chdir", "-experiment", "-help", "-version"}))
			return nil, false
		}
	}
	return args, true
}

// find returns the command with the longest name at the beginning of the arguments, and the other arguments. The name
// may be an alias. For an unknown command, find returns nil and all arguments.
func find(args []string) (*base.Command, []string) {
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

// withDefaults inserts the arguments of TF_CLI_ARGS, and after them the arguments of TF_CLI_ARGS_<command>, before
// args. A space in the name of the command is an underscore in the name of the variable. withDefaults returns an error
// if a value cannot be split, for example because a quote is not closed.
func withDefaults(e *Env, cmd *base.Command, args []string) ([]string, error) {
	for _, name := range []string{"TF_CLI_ARGS_" + strings.ReplaceAll(cmd.Name, " ", "_"), "TF_CLI_ARGS"} {
		extra, err := splitShell(e.Getenv(name))
		if err != nil {
			return nil, fmt.Errorf("the value of %s cannot be split into arguments: %w", name, err)
		}
		args = append(extra, args...)
	}
	return args, nil
}
