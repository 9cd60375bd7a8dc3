package cloud

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// KillEngine kills an engine, given by its process, and with it its keeper if that is asked for: at one moment, as
// far as either can tell. The keeper is the last, since its providers end with it.
func KillEngine(engine int, both bool) {
	var with []int
	if both {
		with = keepers(engine)
	}
	for _, k := range with {
		_ = syscall.Kill(k, syscall.SIGSTOP)
	}
	_ = syscall.Kill(engine, syscall.SIGKILL)
	for _, k := range with {
		_ = syscall.Kill(k, syscall.SIGKILL)
	}
}

// Engine is the process that a provider works for, given its parent: a keeper's, or the engine itself.
func Engine(parent int) int {
	if above, keeper := process(parent); keeper {
		return above
	}
	return parent
}

// keepers are the processes of Linux that keep for an engine.
func keepers(engine int) (all []int) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, d := range dirs {
		id, _ := strconv.Atoi(filepath.Base(d))
		if above, keeper := process(id); keeper && above == engine {
			all = append(all, id)
		}
	}
	return all
}

// process tells of a process which one started it, and whether it is a keeper.
func process(id int) (parent int, keeper bool) {
	args, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", id))
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", id))
	_, rest, _ := strings.Cut(string(stat), ") ") // the name may have anything in it
	_, _ = fmt.Sscanf(rest, "%s %d", new(string), &parent)
	return parent, strings.Contains(string(args), "\x00_keep")
}
