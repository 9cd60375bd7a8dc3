package keeper

import (
	"bytes"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/lethe-iac/lethe/internal/subprocess"
)

// First is the main function of process 1 of a container. It starts the program again as the engine, forwards signals
// to it, and returns its exit code. The system kills all processes of a container when process 1 ends. Because process
// 1 is not the engine, the keeper survives if the engine is killed, and First waits for the end of the keeper. In other
// processes, First returns false. It also returns false if the program cannot be started, or if the environment
// disables the keeper. args begins with the name of the program.
func First(args, env []string) (code int, first bool) {
	if os.Getpid() != 1 || subprocess.Getenv(env, Variable) == "off" {
		return 0, false
	}
	path, err := program()
	if err != nil {
		return 0, false
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	// In a separate process group, the engine gets each signal only once: from First, or from the terminal if the group
	// is in the foreground.
	group, err := unix.IoctlGetInt(syscall.Stdin, unix.TIOCGPGRP)
	foreground := err == nil && group == unix.Getpgrp()
	engine, err := syscall.ForkExec(path, args, &syscall.ProcAttr{
		Env: env, Files: []uintptr{0, 1, 2},
		Sys: &syscall.SysProcAttr{Setpgid: true, Foreground: foreground, Ctty: syscall.Stdin},
	})
	if err != nil {
		signal.Stop(signals)
		return 0, false
	}
	var to atomic.Int64
	to.Store(int64(engine))
	go func() {
		for s := range signals {
			_ = syscall.Kill(int(to.Load()), s.(syscall.Signal))
		}
	}()
	killed := 0 // the signal that killed the engine; 0: no signal killed it
	for {
		var status syscall.WaitStatus
		id, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case err == syscall.EINTR:
			continue
		case err == nil && id == engine && status.Exited():
			return status.ExitStatus(), true
		case err == nil && id == engine:
			killed = int(status.Signal())
		}
		if killed == 0 {
			continue // another orphaned process than the engine has ended
		}
		keeper := orphan()
		if keeper == 0 {
			return 128 + killed, true
		}
		to.Store(int64(keeper))
	}
}

// orphan returns the process ID of a keeper that has become a child of process 1. It returns 0 if no keeper has.
func orphan() int {
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range all {
		stat, _ := os.ReadFile(filepath.Join(dir, "stat"))
		args, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		_, rest, _ := strings.Cut(string(stat), ") ") // drop the process name, which may contain any characters
		var state string
		var parent int
		_, _ = fmt.Sscan(rest, &state, &parent)
		if parent == 1 && bytes.HasSuffix(args, []byte("\x00"+Argument+"\x00")) {
			id, _ := strconv.Atoi(filepath.Base(dir))
			return id
		}
	}
	return 0
}
