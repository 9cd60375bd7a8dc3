package cloud

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// KillEngine kills the process of an engine. If both is true, it also kills the keepers of the engine. It stops them
// first, so that neither side sees the end of the other. It kills them last, because their providers end with them.
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

// keepers returns the processes of the keepers of an engine. On systems without /proc it finds none.
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

// process returns the parent of a process, and whether the process is a keeper. The parent is 0 if it is not known.
func process(id int) (parent int, keeper bool) {
	args, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", id))
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", id))
	_, rest, _ := strings.Cut(string(stat), ") ") // the text before ") " contains the program's name, which may have blanks
	_, _ = fmt.Sscanf(rest, "%s %d", new(string), &parent)
	return parent, strings.Contains(string(args), "\x00_keep")
}
