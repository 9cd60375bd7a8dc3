package base

import (
	"os"
	"os/signal"
	"syscall"
)

// Signals returns the signals that stop the program. SIGQUIT is among them, because the runtime would exit with 2,
// which means changes after plan -detailed-exitcode, and would print words from the stacks. SIGHUP is not among them if
// the parent process ignores it, as nohup does.
func Signals() <-chan os.Signal {
	c := make(chan os.Signal, 3)
	signal.Notify(c, os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(c, syscall.SIGHUP)
	}
	// A closed output does not end the program. SIGPIPE is received instead of ignored, because child processes would
	// inherit an ignored signal, and a shell loop that writes to "head -1" would never end.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	return c
}
