package cli

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/devcmd"
	"github.com/lethe-iac/lethe/internal/cli/workdir"
	"github.com/lethe-iac/lethe/internal/cli/workspacecmd"
)

// complete prints the completions of the last word of a command line. A shell passes the line in COMP_LINE and
// COMP_POINT. Completions are commands, options, their values, and names of workspaces, objects, variables and outputs,
// one per line. Without output, the shell completes file names.
func complete(e *Env) {
	e.Stderr = io.Discard            // the shell would insert error messages into the line
	defer func() { _ = recover() }() // after a panic, the program offers no completions
	line := e.Getenv("COMP_LINE")
	if n, err := strconv.Atoi(e.Getenv("COMP_POINT")); err == nil && n >= 0 && n < len(line) {
		line = line[:n]
	}
	if filepath.Separator == '\\' {
		line = strings.ReplaceAll(line, `\`, `\\`) // on Windows, a backslash is not an escape character
	}
	words, last := scanShell(line)
	if len(words) == 0 { // there are no completions for the program's name
		return
	}
	word := last.text
	option, value, assigns := strings.Cut(word, "=")
	if assigns = assigns && strings.HasPrefix(word, "-"); assigns {
		word = value // the shell completes only the value
		last.from = max(last.from-len(option)-1, 0)
	} else {
		option = ""
	}
	bash := e.Getenv("COMP_TYPE") != "" // other shells quote the words themselves
	for _, c := range candidates(e, words[1:], option) {
		if word == "" && strings.HasPrefix(c, "-") { // offer options only after a hyphen
			continue
		}
		if strings.HasPrefix(c, word) || strings.HasPrefix(c, "-") && strings.HasPrefix("-"+c, word) {
			if bash {
				c = last.rest(c)
			}
			fmt.Fprintln(e.Stdout, c)
		}
	}
}

// candidates returns the words that may come next. The parameter before has the words until now. If option is not "",
// it returns the values of that option. It returns nil if nothing is known to follow.
func candidates(e *Env, before []string, option string) []string {
	for len(before) > 0 && strings.HasPrefix(before[0], "-") { // skip global options before the command
		if dir, ok := strings.CutPrefix(before[0], "-chdir="); ok {
			e.Chdir(dir)
		}
		before = before[1:]
	}
	if len(before) == 0 && option != "" { // option is -chdir: the shell completes its value, a directory
		return nil
	}
	if len(before) == 0 {
		return append(commandsAfter(""), globalOptions...)
	}
	cmd, rest := find(before)
	if cmd == nil {
		if len(before) == 1 {
			return commandsAfter(cmp.Or(aliases[before[0]], before[0]) + " ")
		}
		return nil
	}
	c, _ := e.New(cmd)
	if option != "" {
		values, _ := flagValues(c, c.Flags.Lookup(strings.TrimLeft(option, "-")))
		return values
	}
	if len(rest) > 0 && strings.HasPrefix(rest[len(rest)-1], "-") {
		if values, apart := flagValues(c, c.Flags.Lookup(strings.TrimLeft(rest[len(rest)-1], "-"))); apart {
			return values
		}
	}
	var out []string
	switch cmd.Name {
	case "workspace select", "workspace delete":
		out = workspacecmd.Names(c)
	case "help":
		out = commandsAfter("")
	case "completion":
		out = devcmd.Shells()
	case "state show", "state rm", "state mv", "state transfer", "state list", "taint", "untaint":
		out = readNames(c).Instances
	case "import":
		out = readNames(c).Addresses
	case "output":
		out = readNames(c).Outputs
	}
	if len(rest) == 0 {
		out = append(out, commandsAfter(cmd.Name+" ")...)
	}
	c.Flags.VisitAll(func(f *flag.Flag) { out = append(out, "-"+f.Name) })
	return out
}

// globalOptions are the options before the command.
var globalOptions = []string{"-chdir=", "-experiment=", "-help", "-install-autocomplete", "-uninstall-autocomplete", "-version"}

// commandsAfter returns the next words of the commands that begin with a prefix, sorted. It omits hidden commands.
func commandsAfter(prefix string) []string {
	var out []string
	for _, c := range commands() {
		if rest, ok := strings.CutPrefix(c.Name, prefix); ok && !c.Hidden {
			next, _, _ := strings.Cut(rest, " ")
			out = append(out, next)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// flagValues returns the values that an option accepts, or nil if they are unknown. apart is true if the value may also
// be the next word on the line, not only the text after an equals sign.
func flagValues(c *base.Call, f *flag.Flag) (values []string, apart bool) {
	if f == nil {
		return nil, false
	}
	if b, ok := f.Value.(interface{ IsBoolFlag() bool }); ok && b.IsBoolFlag() {
		return []string{"false", "true"}, false
	}
	switch f.Name {
	case "type":
		return devcmd.GraphTypes, true
	case "deprecation":
		return workdir.Deprecations, true
	case "lockfile":
		return []string{"readonly"}, true
	case "format":
		return []string{"dot", "mermaid"}, true
	case "target", "exclude", "replace":
		return readNames(c).Addresses, true
	case "var":
		var out []string
		for _, name := range readNames(c).Variables {
			out = append(out, name+"=")
		}
		return out, true
	}
	return nil, true
}

// autocomplete adds the completion command to .bashrc and .zshrc in the home directory if install is true, and
// otherwise removes it. It creates no file. It returns the exit code: ExitError if neither file can be read, or if a
// write fails.
func autocomplete(e *Env, install bool) int {
	program, err := os.Executable()
	if err != nil {
		fmt.Fprintf(e.Stderr, "Error: the path of the program is not known: %s.\n", err)
		return base.ExitError
	}
	_, name := e.Names()
	line := fmt.Sprintf("complete -o default -C %s %s\n", quoteShell(quoteShell(program)), name) // the shell parses the line twice
	home, found := e.Getenv("HOME"), false
	for _, rc := range []struct{ file, text string }{
		{".bashrc", line},
		{".zshrc", "autoload -U +X bashcompinit && bashcompinit\n" + line},
	} {
		path := filepath.Join(home, rc.file)
		have, err := os.ReadFile(path)
		if home == "" || err != nil {
			continue
		}
		found = true
		want := strings.ReplaceAll(string(have), rc.text, "")
		if install {
			want = strings.TrimSuffix(want, "\n") + "\n" + rc.text
		}
		if want == string(have) {
			fmt.Fprintf(e.Stdout, "%s is unchanged.\n", path)
			continue
		}
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			_ = os.WriteFile(path, have, 0o644) // on a full disk, the old content fits in its old space
			fmt.Fprintf(e.Stderr, "Error: %s.\n", err)
			return base.ExitError
		}
		fmt.Fprintf(e.Stdout, "%s was changed. Start a new shell to use it.\n", path)
	}
	if !found {
		fmt.Fprintf(e.Stderr, "Error: the home directory has no .bashrc and no .zshrc. Add this line to the startup file of your shell:\n  %s", line)
		return base.ExitError
	}
	return base.ExitOK
}
