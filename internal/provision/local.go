package provision

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/subprocess"
)

// grace is how long a program that was asked to stop may take before it is killed.
var grace = 10 * time.Second

// local runs a command on this machine.
func (r *run) local(ctx context.Context) error {
	config := r.Config.Raw
	command := schema.Text(config, "command")
	interpreter, _ := schema.Texts(config, "interpreter")
	args := append(interpreter, command)
	if len(args) == 1 {
		args = append(shell(), command)
	}
	quiet, _ := flag(config, "quiet")
	if quiet {
		r.Output("local-exec: Executing: Suppressed by quiet=true")
	} else {
		r.Output(fmt.Sprintf("Executing: %q", args))
	}
	out := &lines{emit: r.Output}
	err := r.execute(ctx, args, out)
	out.end()
	if err == nil {
		return nil
	}
	f := &fault{full: "Error running command '" + command + "'", bare: "Error running command", cause: err}
	if quiet {
		f.full = f.bare
	}
	f.after = ". Output: " + out.last()
	return f
}

// shell is what commands are given to where the configuration names no interpreter.
func shell() []string {
	if runtime.GOOS == "windows" {
		return []string{"cmd", "/C"}
	}
	return []string{"/bin/sh", "-c"}
}

// execute runs a program to its end: that of the program itself and of those it left behind that
// still hold its output.
func (r *run) execute(ctx context.Context, args []string, out *lines) error {
	if ctx.Err() != nil {
		return errInterrupted
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = r.environment()
	cmd.Dir = r.path(schema.Text(r.Config.Raw, "working_dir"))
	end := started(cmd)
	if err := present(cmd); err != nil {
		return err
	}
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	defer read.Close()
	cmd.Stdout, cmd.Stderr = write, write
	err = r.start(cmd, args[len(args)-1])
	write.Close()
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() {
		_, _ = io.Copy(out, read)
		ended <- cmd.Wait()
	}()
	return r.await(ctx, end(), read, ended)
}

// ender ends a program and what it started.
type ender interface {
	Terminate()
	Kill()
}

// started prepares the start of a program, and returns a function that tells how to end it. At a terminal the program
// may ask questions there, as ssh and sudo do, and gets the interrupts that the user types. Without one it gets a
// session of its own, so that it can be ended with all that it started.
func started(cmd *exec.Cmd) func() ender {
	if subprocess.HasTerminal() {
		cmd.SysProcAttr = subprocess.OnTerminal(syscall.SIGKILL)
		return func() ender { return &subprocess.Family{Root: cmd.Process} }
	}
	cmd.SysProcAttr = subprocess.Attributes()
	return func() ender { return session{cmd.Process} }
}

// session is a program in a session of its own.
type session struct{ *os.Process }

func (s session) Terminate() { subprocess.Terminate(s.Process) }
func (s session) Kill()      { subprocess.Kill(s.Process) }

// signalled reports whether a program was ended by an interrupt, as far as it says so.
func signalled(err error) bool {
	var exit *exec.ExitError
	return errors.As(err, &exit) && (exit.ExitCode() == 130 || strings.HasSuffix(exit.Error(), syscall.SIGINT.String()))
}

// await waits for the end of a program, and ends it when the context does.
func (r *run) await(ctx context.Context, program ender, output *os.File, ended <-chan error) error {
	select {
	case err := <-ended:
		if !signalled(err) {
			return err
		}
		select { // the user's interrupt reaches the program and us, in any order
		case <-ctx.Done():
			return errInterrupted
		case <-time.After(time.Second):
			return err
		}
	case <-ctx.Done():
	}
	program.Terminate()
	select {
	case <-ended:
		return errInterrupted
	case <-time.After(grace):
	case <-r.Abandon.Done():
	}
	program.Kill()
	// What left the group may still hold the output; it is not waited for.
	rest := 2 * time.Second
	if r.Abandon.Err() != nil {
		rest /= 10
	}
	time.AfterFunc(rest/2, func() { output.Close() })
	select {
	case <-ended:
	case <-time.After(rest):
	}
	return errInterrupted
}

// environment is what the command gets: ours, without the values of variables, and what the
// configuration adds.
func (r *run) environment() []string {
	env := subprocess.Environ(r.Env, nil)
	if add := r.Config.Raw.GetAttr("environment"); !add.IsNull() {
		for it := add.ElementIterator(); it.Next(); {
			k, v := it.Element()
			if !v.IsNull() {
				env = append(env, k.AsString()+"="+v.AsString())
			}
		}
	}
	return env
}

// present finds out why a program cannot be started, in the words that starting it would use: the
// directory first.
func present(cmd *exec.Cmd) error {
	if cmd.Err != nil {
		return cmd.Err
	}
	if cmd.Dir == "" {
		return nil
	}
	info, err := os.Stat(cmd.Dir)
	var pe *fs.PathError
	switch {
	case errors.As(err, &pe):
		return &fs.PathError{Op: "chdir", Path: cmd.Dir, Err: pe.Err}
	case err == nil && !info.IsDir():
		return &fs.PathError{Op: "chdir", Path: cmd.Dir, Err: errors.New("not a directory")}
	}
	return err
}
