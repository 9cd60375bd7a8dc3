//go:build unix

package subprocess

import (
	"bufio"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// TestEndsAll checks that a program ends together with its child processes, and that it has no terminal and a separate
// group.
func TestEndsAll(t *testing.T) {
	for name, end := range map[string]func(*exec.Cmd){
		"terminate": func(cmd *exec.Cmd) { Terminate(cmd.Process) },
		"kill":      func(cmd *exec.Cmd) { Kill(cmd.Process) },
	} {
		cmd := exec.Command("/bin/sh", "-c", "sleep 1000 & echo $$; wait")
		cmd.SysProcAttr = Attributes()
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := Start(cmd); err != nil {
			t.Fatal(err)
		}
		in := bufio.NewReader(out)
		line, err := in.ReadString('\n')
		pid, _ := strconv.Atoi(strings.TrimSpace(line))
		if err != nil || pid != cmd.Process.Pid {
			t.Fatalf("%s: %q %v", name, line, err)
		}
		if group, err := syscall.Getpgid(pid); err != nil || group != pid {
			t.Errorf("%s: its group is %d, %v", name, group, err)
		}
		end(cmd)
		if rest, err := io.ReadAll(in); len(rest) > 0 || err != nil { // the read ends when all processes that have the pipe open have ended
			t.Errorf("%s: %q %v", name, rest, err)
		}
		if err := cmd.Wait(); err == nil {
			t.Errorf("%s: it ended by itself", name)
		}
	}
}

// TestEndsFamily checks that a program in this process group ends together with its child processes. One child ignores
// the first signal while its parent does not.
func TestEndsFamily(t *testing.T) {
	cmd := exec.Command("/bin/sh", "-c", `sh -c 'trap "" TERM; echo ready; while :; do sleep 0.1; done' & wait`)
	cmd.SysProcAttr = OnTerminal(syscall.SIGKILL)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := Start(cmd); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(out)
	if line, err := in.ReadString('\n'); line != "ready\n" {
		t.Fatalf("%q %v", line, err)
	}
	if group, err := syscall.Getpgid(cmd.Process.Pid); err != nil || group != syscall.Getpgrp() {
		t.Errorf("its group is %d, %v", group, err)
	}
	f := &Family{Root: cmd.Process}
	f.Terminate()
	state, err := cmd.Process.Wait()
	if err != nil || state.Sys().(syscall.WaitStatus).Signal() != syscall.SIGTERM {
		t.Errorf("%v %v", state, err)
	}
	f.Kill()
	if rest, err := io.ReadAll(in); len(rest) > 0 || err != nil { // the read ends when all processes that have the pipe open have ended
		t.Errorf("%q %v", rest, err)
	}
}
