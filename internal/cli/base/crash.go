package base

import (
	"fmt"
	"io"
	"runtime/debug"
)

// crashed is deferred around a command: it reports a panic of our own as the runtime would, but
// without this run's secrets, and with an exit code that means an error: 2, the runtime's, says of a
// plan that there are changes. What happens inside of a walk does not come here; see
// engine.run.panicked.
//
// It writes to standard error itself: a view may be what is broken.
func (c *Call) crashed(code *int) {
	v := recover()
	if v == nil {
		return
	}
	*code = ExitError
	io.WriteString(c.Stderr, c.Secrets.Scrub(fmt.Sprintf(`
Lethe crashed. This is a bug in Lethe, please report it with all that follows.
What was recorded so far is kept, and the next run goes on from there.

panic: %v

%s`, v, debug.Stack())))
}
