package logging

import (
	"strings"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/provider/wire"
)

// The functions in this file log addresses, kinds and durations of the operations on objects and of the provider calls
// of a run, but no values. Without TF_LOG, they write nothing.

// Begin logs the version of Lethe at level INFO. At level DEBUG, it also logs the command and the names of environment
// variables, and sets c.Log, so that code about states can write log lines.
func (l *Log) Begin(c *base.Call) {
	l.line("INFO", "Lethe version: %s", base.Version)
	if !l.Has("DEBUG") {
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

// Called logs at level DEBUG that a call of a provider has ended.
func (l *Log) Called(p addr.Provider, c wire.Call) {
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

// logged is a sink that also logs its events.
type logged struct {
	event.Sink
	log *Log
}

// Sink returns a sink that logs events and forwards them to s. It returns s itself if the level DEBUG is not written.
func (l *Log) Sink(s event.Sink) event.Sink {
	if l.Has("DEBUG") {
		return logged{s, l}
	}
	return s
}

// Send logs the event e, if it is about a step of a run, and forwards it. It implements event.Sink.
func (o logged) Send(e event.Event) {
	step := func(format string, a ...any) { o.log.line("DEBUG", "step: "+format, a...) }
	switch e := e.(type) {
	case event.Started:
		step("%s: %s begins", e.Object, e.Op)
	case event.Done:
		step("%s: %s ended after %s", e.Object, e.Op, rounded(e.Took))
	case event.Failed:
		step("%s: %s failed after %s", e.Object, e.Op, rounded(e.Took))
	case event.Retried:
		step("%s: %s failed with %q, attempt %d of %d in %s", e.Object, e.Call, e.Match, e.Attempt, e.Attempts, rounded(e.Pause))
	case event.Pending:
		step("%s: deferred to apply", e.Object)
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
	o.Sink.Send(e)
}

func rounded(d time.Duration) time.Duration { return d.Round(time.Microsecond) }
