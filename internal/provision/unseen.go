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
	"sync"

	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/subprocess"
	"github.com/zclconf/go-cty/cty"
)

// All users of a machine can see the arguments of a program. If an interpreter can read its command from file
// descriptor 3, a command with an ephemeral value is sent through a pipe. Standard input remains free for the command.

// reader describes a kind of interpreter, and the way in which it reads its command from file descriptor 3.
type reader struct {
	name   *regexp.Regexp // matches the name of the interpreter
	option *regexp.Regexp // matches the option before the command, such as -c
	script string         // replaces the command in the arguments; it reads the command from file descriptor 3 and runs it
}

// The script for shells closes the pipe before the command runs, and fails without cat.
var readers = sync.OnceValue(func() []reader {
	return []reader{
		{regexp.MustCompile(`^(|ba|da|z|k|mk|a)sh$`), regexp.MustCompile(`^-[a-zA-Z]*c[a-zA-Z]*$`), `eval "$(cat <&3 || echo exit 127)" 3<&-`},
		{regexp.MustCompile(`^python[0-9.]*$`), regexp.MustCompile(`^-[a-zA-Z]*c$`), `exec(compile(__import__("os").fdopen(3, "rb").read(), "<string>", "exec"))`},
		{regexp.MustCompile(`^pwsh$`), regexp.MustCompile(`(?i)^-c(ommand)?$`), `Invoke-Expression ([IO.File]::ReadAllText('/dev/fd/3'))`},
	}
})

// byPipe replaces the command, the last of args, by a script that reads the command from the pipe. It returns false if
// the interpreter does not support that.
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
	for _, r := range readers() {
		if len(before) < 2 || !r.name.MatchString(path.Base(before[0])) {
			continue
		}
		i := slices.IndexFunc(before, r.option.MatchString)
		if i < 0 || slices.ContainsFunc(before[i:], func(option string) bool { return !strings.HasPrefix(option, "-") }) {
			continue // the last argument is the name of a file, or an argument of another program, and not a command
		}
		return append(slices.Clone(args[:len(args)-1]), r.script), true
	}
	return args, false
}

// ephemeralCommand reports whether the command contains an ephemeral value.
func (r *run) ephemeralCommand() bool {
	return slices.ContainsFunc(r.Config.Marks, func(m mark.At) bool {
		return m.Tag == mark.Ephemeral && (len(m.Path) == 0 || m.Path[0] == cty.GetAttrStep{Name: "command"})
	})
}

// start starts a program whose last argument is command. If the configuration of the provisioner has an ephemeral
// value, a crash of the program writes no core file. If command has an ephemeral value, and the interpreter supports
// it, the program gets the command through a pipe, so that it is not in the list of processes.
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
		_, _ = io.WriteString(write, command) // ignore the error: the program may end before it reads everything
		write.Close()
	}()
	return nil
}
