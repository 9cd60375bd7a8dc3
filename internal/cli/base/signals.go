package base

import (
	"os"
	"os/signal"
	"syscall"
)

// Signals subscribes to what asks the program to stop. SIGQUIT is among it, because the runtime's
// own answer ends with 2, which says of a plan that there are changes, and prints words from the
// stacks. A closed output ends nothing by itself.
func Signals() <-chan os.Signal {
	c := make(chan os.Signal, 3)
	signal.Notify(c, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	signal.Ignore(syscall.SIGPIPE)
	return c
}
