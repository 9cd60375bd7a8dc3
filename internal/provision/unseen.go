package provision

import (
	"io"
	"os"
	"os/exec"
	"path"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/subprocess"
	"github.com/zclconf/go-cty/cty"
)

// All users of a machine can see the arguments of a program. A command with an ephemeral value in it goes to its
// interpreter by a pipe instead, file descriptor 3, if the interpreter is known to take it from there. Standard input
// stays free for the command.

// reader is how an interpreter reads its command from the pipe.
type reader struct {
	name   *regexp.Regexp // of the interpreter
	option *regexp.Regexp // after which the command stands
	script string         // that stands in its place
}

// The script for shells closes the pipe before the command runs, and fails if there is no cat.
var readers = []reader{
	{regexp.MustCompile(`^(|ba|da|z|k|mk|a)sh$`), regexp.MustCompile(`^-[a-zA-Z]*c[a-zA-Z]*$`), `eval "$(cat <&3 || echo exit 127)" 3<&-`},
	{regexp.MustCompile(`^python[0-9.]*$`), regexp.MustCompile(`^-[a-zA-Z]*c$`), `exec(compile(__import__("os").fdopen(3, "rb").read(), "<string>", "exec"))`},
	{regexp.MustCompile(`^pwsh$`), regexp.MustCompile(`(?i)^-c(ommand)?$`), `Invoke-Expression ([IO.File]::ReadAllText('/dev/fd/3'))`},
}

// byPipe returns the arguments of an interpreter that reads the command, the last of args, from the pipe. It reports
// false if the interpreter cannot.
func byPipe(args []string) ([]string, bool) {
	if runtime.GOOS == "windows" {
		return args, false
	}
	before := args[:len(args)-1]
	if len(before) > 1 && path.Base(before[0]) == "env" {
		before = before[1:]
		for len(before) > 1 && strings.Contains(before[0], "=") {
			before = before[1:]
		}
	}
	for _, r := range readers {
		if len(before) < 2 || !r.name.MatchString(path.Base(before[0])) {
			continue
		}
		i := slices.IndexFunc(before, r.option.MatchString)
		if i < 0 || slices.ContainsFunc(before[i:], func(option string) bool { return !strings.HasPrefix(option, "-") }) {
			continue // the command is the name of a file, or an argument of something else
		}
		return append(slices.Clone(args[:len(args)-1]), r.script), true
	}
	return args, false
}

// ephemeralCommand reports whether something ephemeral is in the command.
func (r *run) ephemeralCommand() bool {
	return slices.ContainsFunc(r.Config.Marks, func(m mark.At) bool {
		return m.Tag == mark.Ephemeral && (len(m.Path) == 0 || m.Path[0] == cty.GetAttrStep{Name: "command"})
	})
}

// start starts a program. If the configuration holds something ephemeral, there is no image of the program's memory
// after a crash, and the command is not in its arguments.
func (r *run) start(cmd *exec.Cmd, command string) error {
	if !r.Config.Has(mark.Ephemeral) {
		return subprocess.Start(cmd)
	}
	args, piped := cmd.Args, false
	if r.ephemeralCommand() {
		args, piped = byPipe(cmd.Args)
	}
	if !piped {
		err := subprocess.Start(cmd)
		if err == nil {
			subprocess.NoCore(cmd.Process)
		}
		return err
	}
	cmd.Args = args
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	cmd.ExtraFiles = []*os.File{read}
	err = subprocess.Start(cmd)
	read.Close()
	if err != nil {
		write.Close()
		return err
	}
	subprocess.NoCore(cmd.Process)
	go func() {
		_, _ = io.WriteString(write, command) // it may end without reading all
		write.Close()
	}()
	return nil
}
