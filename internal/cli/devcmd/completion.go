package devcmd

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/diag"
)

// Completion is the command `completion`.
var Completion = &base.Command{
	Name: "completion", Args: "SHELL", Short: "Print a script for command completion in a shell", Result: true,
	Long: `Prints a script for bash, zsh, fish or powershell. With it, the shell
completes commands, options and their values: addresses, workspaces,
variables and outputs of the working directory.`,
	Examples: [][2]string{
		{"lethe completion bash > /etc/bash_completion.d/lethe", "For all users of bash"},
		{"lethe completion zsh > ~/.zfunc/_lethe", "For zsh, in a directory of fpath"},
		{"lethe completion fish > ~/.config/fish/completions/lethe.fish", "For fish"},
		{"lethe completion powershell >> $PROFILE", "For PowerShell"},
	},
	Setup: base.NoFlags(runCompletion),
}

func runCompletion(_ context.Context, c *base.Call) int {
	_, name := c.Names()
	text, ok := CompletionScript(c.Operands[0], name)
	if !ok {
		shells := slices.Sorted(maps.Keys(completionScripts))
		c.Bag.Add(diag.Errorf("Unknown shell", "There is no completion script for %[2]s. There are scripts for %[1]s.%[3]s", strings.Join(shells, ", "), c.Operands[0], diag.Meant(diag.Suggest(c.Operands[0], shells))))
		return c.UI.Fail()
	}
	c.UI.Print(text)
	return base.ExitOK
}

// CompletionScript returns the script that makes a shell complete the command lines of a program. It returns "" and
// false for an unknown shell.
func CompletionScript(shell, program string) (string, bool) {
	text, ok := completionScripts[shell]
	return strings.ReplaceAll(text, "PROGRAM", program), ok
}

// Shells returns the names of the shells that CompletionScript supports.
func Shells() []string { return slices.Sorted(maps.Keys(completionScripts)) }

// completionScripts are the completion scripts by the name of the shell. Each script calls the program with the typed
// part of the line in COMP_LINE. bash treats the text after an equals sign as a separate word; in zsh, compset has this
// effect; the other shells do not split words at equals signs. If the program offers nothing, the shell offers files.
var completionScripts = map[string]string{
	"bash": `complete -o default -C PROGRAM PROGRAM
`,
	"zsh": `#compdef PROGRAM
_PROGRAM() {
    local -a found
    found=("${(@f)$(COMP_LINE="${(j: :)words[1,CURRENT]}" COMP_POINT= command PROGRAM 2>/dev/null)}")
    found=(${found:#})
    compset -P '-*='
    if (( ${#found} )); then
        compadd -- "${found[@]}"
    else
        _files
    fi
}
if [[ $funcstack[1] == _PROGRAM ]]; then
    _PROGRAM "$@"
else
    compdef _PROGRAM PROGRAM
fi
`,
	"fish": `function __PROGRAM_complete
    set -l word (commandline -ct)
    set -l before (string match -r '^-[^=]*=' -- $word)
    set -l found (COMP_LINE=(commandline -cp) COMP_POINT= command PROGRAM 2>/dev/null)
    test -n "$found"; or set found (__fish_complete_path (string replace -r '^-[^=]*=' '' -- $word))
    printf "$before%s\n" $found
end
complete -c PROGRAM -f -a '(__PROGRAM_complete)'
`,
	"powershell": `Register-ArgumentCompleter -Native -CommandName PROGRAM -ScriptBlock {
    param($word, $ast, $position)
    $line = $ast.ToString()
    $length = $position - $ast.Extent.StartOffset
    if ($line.Length -lt $length) { $line = $line.PadRight($length) }
    $env:COMP_LINE = $line.Substring(0, $length)
    $env:COMP_POINT = ''
    $before = if ("$word" -match '^-[^=]*=') { $Matches[0] } else { '' }
    try {
        & PROGRAM 2>$null | ForEach-Object {
            [System.Management.Automation.CompletionResult]::new($before + $_, $_, 'ParameterValue', $_)
        }
    } finally {
        Remove-Item 'Env:COMP_LINE', 'Env:COMP_POINT' -ErrorAction SilentlyContinue
    }
}
`,
}
