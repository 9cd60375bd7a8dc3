package cli_test

import (
	"bufio"
	"bytes"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// exe is the end of the names of programs: ".exe" on Windows, and "" elsewhere.
var exe = map[bool]string{true: ".exe"}[runtime.GOOS == "windows"]

// needsUnix lists the scripts that cannot run on Windows, by the reason. unixProgram finds further such scripts.
var needsUnix = map[string][]string{
	"it expects the text of an error of Unix":    {"cli/graph_kinds", "cli/input_broken", "cli/variables_directory", "state/workspace_new_state"},
	"it expects slashes in the names of files":   {"cli/explain_value", "cli/fmt_json", "cli/fmt_recursive", "cli/lint", "cli/show_module", "cli/validate_tests", "state/backend_change_workspaces"},
	"its lethe_exec blocks run programs of Unix": {"stores/remote_state_write_only"},
}

// carried are the programs that the tests provide, so that scripts find them on every system.
var carried = []string{"lethe", "peer", "xdg-open", "terraform-provider-lethe_v0.1.0"}

// unixProgram returns the name of a program that a script runs and that Windows lacks, or "".
func unixProgram(text []byte) string {
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		line := strings.TrimLeft(lines.Text(), "!? ")
		if strings.HasPrefix(line, "-- ") {
			return ""
		}
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || words[0] == "[windows]":
			continue
		case words[0] == "combine": // the command combine builds a provider with go
			return "go"
		}
		if at := slices.Index(words, "exec"); at >= 0 && at < len(words)-1 && !slices.Contains(carried, words[at+1]) {
			return words[at+1]
		}
	}
	return ""
}

// unrunnable returns the reason why a script cannot run on this system, or "".
func unrunnable(s script) string {
	if runtime.GOOS != "windows" {
		return ""
	}
	if program := unixProgram(s.text); program != "" {
		return "it runs " + program
	}
	if s.folder != "windows" && bytes.Contains(s.text, []byte("local-exec")) {
		return "the commands of its provisioners are written for sh"
	}
	for reason, list := range needsUnix {
		if slices.Contains(list, s.folder+"/"+s.name) {
			return reason
		}
	}
	return ""
}

// TestUnrunnableScripts checks that needsUnix names only scripts that exist and that unixProgram does not find.
func TestUnrunnableScripts(t *testing.T) {
	t.Parallel()
	programs := map[string]string{}
	for _, s := range scripts(t) {
		programs[s.folder+"/"+s.name] = unixProgram(s.text)
	}
	for reason, list := range needsUnix {
		for _, name := range list {
			program, exists := programs[name]
			if !exists || program != "" {
				t.Errorf("%s is listed (%s): exists: %v, runs %q", name, reason, exists, program)
			}
		}
	}
}
