package subprocess

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// leftOpen is the time limit for reading a program's output after the program has ended. Child processes may keep the
// output open.
const leftOpen = time.Second

// Command returns a program for Run. When ctx ends, the program is killed. It runs in a separate session, and is killed
// together with its child processes.
func Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.SysProcAttr, cmd.WaitDelay = Attributes(), leftOpen
	cmd.Cancel = func() error {
		Kill(cmd.Process)
		return nil
	}
	return cmd
}

// Run runs a program from Command and waits for its end. It waits at most leftOpen longer for child processes that keep
// the output open: so the output of the program is complete, but the output of these child processes may be cut.
func Run(cmd *exec.Cmd) error {
	if err := Start(cmd); err != nil {
		return err
	}
	NoCore(cmd.Process)
	err := cmd.Wait()
	if errors.Is(err, exec.ErrWaitDelay) {
		return nil
	}
	return err
}

// Interrupted reports whether the error of a program indicates that an interrupt ended it.
func Interrupted(err error) bool {
	var exit *exec.ExitError
	return errors.As(err, &exit) && (exit.ExitCode() == 130 || strings.HasSuffix(exit.Error(), syscall.SIGINT.String()))
}

// RunPatiently runs the program that command returns, and returns it after its end. A terminal sends an interrupt of the
// user to the programs that share it, too. If an interrupt ended the program and ctx has not ended, RunPatiently runs it
// once more: after the first interrupt, Lethe still writes the state.
func RunPatiently(ctx context.Context, command func() *exec.Cmd) (cmd *exec.Cmd, err error) {
	for turn := 0; turn == 0 || turn == 1 && Interrupted(err) && ctx.Err() == nil; turn++ {
		cmd = command()
		err = Run(cmd)
	}
	return cmd, err
}
