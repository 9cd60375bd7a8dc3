package provision

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// TestEphemeralCommandIsUnseen checks that an ephemeral command works, and that it is in no argument of the shell or of
// the shell's child processes.
func TestEphemeralCommandIsUnseen(t *testing.T) {
	const sh = "#" + canary + "\n"
	args := "cat /proc/$$/cmdline /proc/self/cmdline | tr '\\0' ' ' > args; "
	python := "import sys, os\n" + sh + "open('args', 'w').write(open('/proc/self/cmdline').read())\n"
	for _, c := range []struct {
		name        string
		interpreter []string
		command     string
		out         string
		code        int
	}{
		{"sh", nil, sh + args + "read line; echo \"got $line\" > out; exit 7", "got ", 7},
		{"last status", nil, sh + args + "false", "", 1},
		{"fails early", []string{"/bin/sh", "-ec"}, sh + args + "false; echo more > out", "", 1},
		{"fails early, too", []string{"/bin/sh", "-e", "-c"}, sh + args + "(exit 3); echo more > out", "", 3},
		{"bash", []string{"bash", "-c"}, sh + args + "a=(x y); echo \"${a[1]} $0 $#\" > out", "y bash 0", 0},
		{"bash with options", []string{"/bin/bash", "-euo", "pipefail", "-c"}, sh + args + "false | true; echo more > out", "", 1},
		{"env", []string{"/usr/bin/env", "A=b", "bash", "-c"}, sh + args + "echo $A > out", "b", 0},
		{"quotes", nil, sh + args + "cat > out <<'EOT'\n\"$x\" '`\\\nEOT\n", "\"$x\" '`\\", 0},
		{"closed pipe", nil, sh + args + "sh -c 'cat <&3' 2> err || echo closed > out", "closed", 0},
		{"syntax", nil, sh + args + "\nif", "", 2},
		{"long", nil, args + strings.Repeat(sh, 20000) + "echo end > out", "end", 0},
		{"python", []string{"python3", "-c"}, python + "def f(): return os.getcwd() and len(sys.argv)\nopen('out', 'w').write(str(f()))\nsys.exit(5)", "1", 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			given := map[string]any{"command": c.command}
			if c.interpreter != nil {
				if _, err := exec.LookPath(c.interpreter[0]); err != nil {
					t.Skip(err)
				}
				given["interpreter"] = c.interpreter
			}
			for _, tag := range []mark.Tag{mark.Ephemeral, 0} {
				if tag == 0 && c.name == "long" {
					continue // the command is too long for an argument
				}
				dir := t.TempDir()
				config := configOf(given)
				v := mark.Plain(config)
				if tag != 0 {
					v = marked(config, tag, "command")
				}
				r := newRun(Request{Type: LocalExec, Config: v, Dir: dir})
				err := r.local(context.Background())
				code := 0
				if exit := (*exec.ExitError)(nil); err != nil {
					if f, ok := err.(*fault); ok {
						exit, _ = f.cause.(*exec.ExitError)
					}
					if exit == nil {
						t.Fatal(err)
					}
					code = exit.ExitCode()
				}
				out, _ := os.ReadFile(filepath.Join(dir, "out"))
				seen, _ := os.ReadFile(filepath.Join(dir, "args"))
				if text := strings.TrimSuffix(string(out), "\n"); tag != 0 && text != c.out || code != c.code {
					t.Errorf("%v: exit code %d, want %d; %q, want %q", tag, code, c.code, text, c.out)
				}
				if has := strings.Contains(string(seen), canary); tag != 0 && has || tag == 0 && !has && c.name != "syntax" {
					t.Errorf("%v: arguments: %.300q", tag, seen)
				}
			}
		})
	}
}

func configOf(given map[string]any) cty.Value { return args(Schema(LocalExec), given) }

// TestByPipe lists interpreters that read a command from a pipe, and interpreters that cannot.
func TestByPipe(t *testing.T) {
	for text, want := range map[string]bool{
		"/bin/sh -c": true, "bash -c": true, "/bin/bash -e -c": true, "bash -euxc": true, "bash -c -e": true, "/usr/bin/env bash -c": true,
		"zsh -c": true, "python3 -c": true, "python3.12 -u -c": true, "pwsh -Command": true, "pwsh -NoProfile -c": true,
		"bash": false, "perl -e": false, "bash script": false, "bash -c script": false, "fish -c": false, "python3": false, "csh -c": false,
		"python3 -m": false, "ssh host sh -c": false, "pwsh -File": false, "": false,
	} {
		if _, got := byPipe(append(strings.Fields(text), "the command")); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

// A program with an ephemeral value writes no core file.
func TestEphemeralProgramLeavesNoCore(t *testing.T) {
	for _, c := range []struct {
		v    mark.Value
		want bool
	}{
		{marked(configOf(map[string]any{"command": "sleep 0.2; ulimit -c > out"}), mark.Ephemeral, "command"), true},
		{marked(configOf(map[string]any{"command": "sleep 0.2; ulimit -c > out", "environment": map[string]string{"A": canary}}), mark.Ephemeral, "environment"), true},
	} {
		dir := t.TempDir()
		if err := newRun(Request{Type: LocalExec, Config: c.v, Dir: dir}).local(context.Background()); err != nil {
			t.Fatal(err)
		}
		out, _ := os.ReadFile(filepath.Join(dir, "out"))
		if got := strings.TrimSpace(string(out)) == "0"; got != c.want {
			t.Errorf("ulimit -c: %q", out)
		}
	}
}
