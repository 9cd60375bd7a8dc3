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
	"syscall"
	"time"

	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/subprocess"
)

// grace is the time that an interrupted program has before it is killed.
var grace = 10 * time.Second

// local runs a command on this machine: the provisioner "local-exec".
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
	out := &lines{emit: r.Output, scrub: r.Scrub}
	err := r.execute(ctx, args, out)
	out.end()
	if err == nil {
		return nil
	}
	f := &fault{full: "Error running command '" + command + "'", safe: "Error running command", cause: err}
	if quiet {
		f.full = f.safe
	}
	f.after = ". Output: " + out.last()
	return f
}

// shell returns the interpreter for commands without an interpreter in the configuration.
func shell() []string {
	if runtime.GOOS == "windows" {
		return []string{"cmd", "/C"}
	}
	return []string{"/bin/sh", "-c"}
}

// execute runs a program and waits until it ends and its output is closed. Child processes that outlive the program may
// keep the output open, and execute waits for them, too. If ctx ends first, it returns errInterrupted.
func (r *run) execute(ctx context.Context, args []string, out *lines) error {
	if ctx.Err() != nil {
		return errInterrupted
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = r.environment()
	cmd.Dir = r.path(schema.Text(r.Config.Raw, "working_dir"))
	end := started(cmd)
	verbatim(cmd)
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

// ender can end a program and its child processes.
type ender interface {
	Terminate()
	Kill()
}

// started prepares the start of a program. The caller calls the returned function after the start, and gets the ender.
// At a terminal, the program may ask questions at the terminal, as ssh and sudo do, and receives the interrupts of the
// user. Without a terminal, it runs in a separate session, so that Lethe can end it together with its child processes.
func started(cmd *exec.Cmd) func() ender {
	if subprocess.HasTerminal() {
		cmd.SysProcAttr = subprocess.OnTerminal(syscall.SIGKILL)
		return func() ender { return &subprocess.Family{Root: cmd.Process} }
	}
	cmd.SysProcAttr = subprocess.Attributes()
	return func() ender { return session{cmd.Process} }
}

// session is a program in a separate session.
type session struct{ *os.Process }

func (s session) Terminate() { subprocess.Terminate(s.Process) }
func (s session) Kill()      { subprocess.Kill(s.Process) }

// await waits for the end of a program. If ctx ends first, it ends the program and returns errInterrupted.
func (r *run) await(ctx context.Context, program ender, output *os.File, ended <-chan error) error {
	select {
	case err := <-ended:
		if !subprocess.Interrupted(err) {
			return err
		}
		select { // an interrupt by the user reaches the program and Lethe in any order
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
	// Child processes in another process group may keep the output open. await does not wait for them.
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

// environment returns the environment of the command: the environment of the request without the variables that
// subprocess.Environ withholds, and then the variables of the configuration.
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

// present returns the error that starting the program would return because the program or its directory is missing. It
// returns nil if both exist. It reports a missing directory first.
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
