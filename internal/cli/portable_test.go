package cli_test

import (
	"bufio"
	"bytes"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// exe ends the names of programs.
var exe = map[bool]string{true: ".exe"}[runtime.GOOS == "windows"]

// needsUnix lists the scripts that cannot run on Windows, by the reason. unixProgram finds further scripts.
var needsUnix = map[string][]string{}

// needsWindows lists the scripts that run on Windows and not under Wine 8, by the reason.
var needsWindows = map[string][]string{}

// carried are the programs that scripts find on every system.
var carried = []string{"lethe", "peer", "xdg-open", "terraform-provider-lethe_v0.1.0"}

// unixProgram returns the name of a program that a script runs and that Windows lacks, or "".
func unixProgram(text []byte) string {
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		line := strings.TrimLeft(lines.Text(), "!? ")
		if strings.HasPrefix(line, "-- ") {
			return ""
		}
		words := strings.Fields(line)
		if len(words) > 0 && words[0] == "[windows]" {
			continue
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
	for _, table := range []map[string][]string{needsUnix, needsWindows} {
		for reason, list := range table {
			if slices.Contains(list, s.folder+"/"+s.name) {
				return reason
			}
		}
	}
	return ""
}

// TestUnrunnableScripts checks that the lists name only scripts that exist and that no other rule skips.
func TestUnrunnableScripts(t *testing.T) {
	t.Parallel()
	programs := map[string]string{}
	for _, s := range scripts(t) {
		programs[s.folder+"/"+s.name] = unixProgram(s.text)
	}
	for _, table := range []map[string][]string{needsUnix, needsWindows} {
		for reason, list := range table {
			for _, name := range list {
				program, exists := programs[name]
				if !exists || program != "" {
					t.Errorf("%s is listed (%s): exists: %v, runs %q", name, reason, exists, program)
				}
			}
		}
	}
}
