package cli

import (
	"os"
	"os/signal"
	"syscall"
)

// Signals subscribes to what asks the program to stop. A closed output ends nothing by itself.
func Signals() <-chan os.Signal {
	c := make(chan os.Signal, 3)
	signal.Notify(c, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	signal.Ignore(syscall.SIGPIPE)
	return c
}
