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
	"github.com/lethe-iac/lethe/internal/cli/project"
	"github.com/lethe-iac/lethe/internal/cli/workspacecmd"
)

// complete answers a shell that asks, through COMP_LINE and COMP_POINT, how the last word of a line
// may go on: commands, options, their values, and names of workspaces, objects, variables and outputs, one on a line. No answer leaves
// it to the shell, which offers files.
func complete(e *Env) {
	e.Stderr = io.Discard            // a shell would write it into the line
	defer func() { _ = recover() }() // of what is broken no word is offered
	line := e.Getenv("COMP_LINE")
	if n, err := strconv.Atoi(e.Getenv("COMP_POINT")); err == nil && n >= 0 && n < len(line) {
		line = line[:n]
	}
	if filepath.Separator == '\\' {
		line = strings.ReplaceAll(line, `\`, `\\`) // it is no escape there
	}
	words, last := scanShell(line)
	if len(words) == 0 { // of the program's own name nothing is known
		return
	}
	word := last.text
	option, value, assigns := strings.Cut(word, "=")
	if assigns = assigns && strings.HasPrefix(word, "-"); assigns {
		word = value // which is what the shell takes for the word
		last.from = max(last.from-len(option)-1, 0)
	} else {
		option = ""
	}
	bash := e.Getenv("COMP_TYPE") != "" // other shells quote what they put into a line
	for _, c := range candidates(e, words[1:], option) {
		if word == "" && strings.HasPrefix(c, "-") { // options are offered once one is begun
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

// candidates are the words that may follow others; with an option, its values.
func candidates(e *Env, before []string, option string) []string {
	for len(before) > 0 && strings.HasPrefix(before[0], "-") { // global options
		if dir, ok := strings.CutPrefix(before[0], "-chdir="); ok {
			e.Chdir(dir)
		}
		before = before[1:]
	}
	if len(before) == 0 && option != "" { // a directory
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
	case "state show", "state rm", "state mv", "state list", "taint", "untaint":
		out = project.ReadNames(c).Instances
	case "import":
		out = project.ReadNames(c).Addresses
	case "output":
		out = project.ReadNames(c).Outputs
	}
	if len(rest) == 0 {
		out = append(out, commandsAfter(cmd.Name+" ")...)
	}
	c.Flags.VisitAll(func(f *flag.Flag) { out = append(out, "-"+f.Name) })
	return out
}

// globalOptions are those before the command.
var globalOptions = []string{"-chdir=", "-help", "-install-autocomplete", "-uninstall-autocomplete", "-version"}

// commandsAfter are the next words of the commands whose names begin so.
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

// flagValues are the values that an option may have, none if they are not known, and whether the value may
// stand apart from the option, as the next word.
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
		return project.Deprecations, true
	case "lockfile":
		return []string{"readonly"}, true
	case "format":
		return []string{"dot", "mermaid"}, true
	case "target", "exclude", "replace":
		return project.ReadNames(c).Addresses, true
	case "var":
		var out []string
		for _, name := range project.ReadNames(c).Variables {
			out = append(out, name+"=")
		}
		return out, true
	}
	return nil, true
}

// autocomplete makes the shells whose settings are in the home directory ask for completions, or no
// longer.
func autocomplete(e *Env, install bool) int {
	program, err := os.Executable()
	if err != nil {
		fmt.Fprintf(e.Stderr, "Error: the path of the program is not known: %s.\n", err)
		return base.ExitError
	}
	_, name := e.Names()
	line := fmt.Sprintf("complete -o default -C %s %s\n", quoteShell(quoteShell(program)), name) // a shell reads it twice
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
			fmt.Fprintf(e.Stdout, "%s stays as it is.\n", path)
			continue
		}
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			_ = os.WriteFile(path, have, 0o644) // on a full disk there is the room that it had
			fmt.Fprintf(e.Stderr, "Error: %s.\n", err)
			return base.ExitError
		}
		fmt.Fprintf(e.Stdout, "%s was changed. New shells know it.\n", path)
	}
	if !found {
		fmt.Fprintf(e.Stderr, "Error: there is no .bashrc and no .zshrc in the home directory. The line to put where a shell reads its settings is:\n  %s", line)
		return base.ExitError
	}
	return base.ExitOK
}
