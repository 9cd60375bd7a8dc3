package cloud

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// KillEngine kills the engine with this process number. If both is true, it also kills its keeper, so that neither sees
// the end of the other. The keeper is last, because its providers end with it.
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

// Engine returns the engine that a provider works for. parent is the provider's parent process: a keeper or the engine
// itself.
func Engine(parent int) int {
	if above, keeper := process(parent); keeper {
		return above
	}
	return parent
}

// keepers returns the keepers of an engine, on Linux.
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

// process returns the parent of a process, and whether it is a keeper.
func process(id int) (parent int, keeper bool) {
	args, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", id))
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", id))
	_, rest, _ := strings.Cut(string(stat), ") ") // the name may contain any character
	_, _ = fmt.Sscanf(rest, "%s %d", new(string), &parent)
	return parent, strings.Contains(string(args), "\x00_keep")
}
