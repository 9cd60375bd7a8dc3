package calls

import (
	"os"
	"time"
)

// EnvOrphan names the variable with the time for which a provider outlives its parent process, in the form of
// [time.ParseDuration]. The default is a minute.
const EnvOrphan = "PLAYGROUND_ORPHAN"

// EndWithParent ends this process with status 1 some time after its parent has ended. Tests kill engines. The providers
// must exist for a while, so that a test can observe them, and must not stay on the machine. EndWithParent returns at
// once. It has no effect in a process whose parent is process 1.
func EndWithParent() {
	grace, err := time.ParseDuration(os.Getenv(EnvOrphan))
	if err != nil {
		grace = time.Minute
	}
	parent := os.Getppid()
	if parent <= 1 {
		return
	}
	go func() {
		for os.Getppid() == parent {
			time.Sleep(time.Second)
		}
		time.Sleep(grace)
		os.Exit(1)
	}()
}
