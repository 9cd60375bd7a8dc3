package project

import (
	"strings"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/provider/wire"
)

// This file is what the log says of the engine: which steps begin and end, which calls are made to providers, and what is
// done with states. It has addresses, kinds and durations, and no value; what it has goes through the guard like
// everything in the log. Where the log is not asked for, none of it runs.

// begin says what the log is of, and lets states be heard of.
func (l *logger) begin(c *base.Call) {
	l.line("INFO", "Lethe version: %s", base.Version)
	if !l.hears("DEBUG") {
		return
	}
	l.line("DEBUG", "command: %s in %s", c.Command.Name, c.Dir)
	var names []string
	for _, v := range c.Environ {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "TF_") || strings.HasPrefix(name, "LETHE_") || strings.HasPrefix(name, "TOFU_") {
			names = append(names, name)
		}
	}
	l.line("DEBUG", "environment: %s", strings.Join(names, ", "))
	c.Log = func(text string) { l.line("DEBUG", "state: %s", text) }
}

// called writes that a call to a provider is over.
func (l *logger) called(p addr.Provider, c wire.Call) {
	outcome := "answered"
	if c.Failed {
		outcome = "failed"
	}
	what := c.Method
	if c.Type != "" {
		what += " of " + c.Type
	}
	l.line("DEBUG", "call: %s: %s, %s after %s", p.ForDisplay(), what, outcome, rounded(c.Took))
}

// overheard is a sink whose events are in the log as well.
type overheard struct {
	event.Sink
	log *logger
}

// overhear makes the log hear what a sink hears.
func (l *logger) overhear(s event.Sink) event.Sink {
	if l.hears("DEBUG") {
		return overheard{s, l}
	}
	return s
}

// Tell writes an event into the log, and passes it on.
func (o overheard) Tell(e event.Event) {
	step := func(format string, a ...any) { o.log.line("DEBUG", "step: "+format, a...) }
	switch e := e.(type) {
	case event.Started:
		step("%s: %s begins", e.Object, e.Op)
	case event.Done:
		step("%s: %s ended after %s", e.Object, e.Op, rounded(e.Took))
	case event.Failed:
		step("%s: %s failed after %s", e.Object, e.Op, rounded(e.Took))
	case event.Deferred:
		step("%s: waits for apply", e.Object)
	case event.Stored:
		step("%s: stored result used", e.Object)
	case event.ProvisionStarted:
		step("%s: provisioner %s begins", e.Object, e.Type)
	case event.ProvisionDone:
		outcome := "ended"
		if e.Failed {
			outcome = "failed"
		}
		step("%s: provisioner %s %s", e.Object, e.Type, outcome)
	case event.Leases:
		step("leases: %d opened, %d renewed, %d closed, %d left open, longest %s", e.Opened, e.Renewed, e.Closed, e.Left, rounded(e.Longest))
	case event.Interrupted:
		step("interrupt %d", e.Times)
	}
	o.Sink.Tell(e)
}

func rounded(d time.Duration) time.Duration { return d.Round(time.Microsecond) }
