package base

import (
	"fmt"
	"io"
	"runtime/debug"
)

// crashed is deferred in Run. It reports a panic like the runtime, but without the secrets of the run. It sets the exit
// code to 1, because the runtime's exit code is 2, which means changes after plan -detailed-exitcode. Panics inside a
// walk do not arrive here; see engine.run.panicked.
//
// It writes to standard error directly, because the view may have caused the panic.
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
