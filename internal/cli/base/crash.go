package base

import (
	"fmt"
	"io"
	"runtime/debug"
)

// crashed is deferred in Run. If the command panics, it prints the panic as the Go runtime does, but masks the secrets
// of the run. It writes to standard error directly, because the view may have caused the panic. It sets the exit code
// to 1: the runtime would exit with 2, which means changes after plan -detailed-exitcode. Panics in the jobs of a plan
// or an apply do not arrive here: package engine/run reports them (Run.Panicked).
func (c *Call) crashed(code *int) {
	v := recover()
	if v == nil {
		return
	}
	*code = ExitError
	io.WriteString(c.Stderr, c.Secrets.ScrubMessage(fmt.Sprintf(`
Lethe crashed. This is a bug in Lethe. Please report it with all of the text below.
Completed changes are saved. The next run continues from them.

panic: %v

%s`, v, debug.Stack())))
}
