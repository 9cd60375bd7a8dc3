// Package timed records the times of a command: for the file of -timings, and for an OpenTelemetry collector.
package timed

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/secret"
	"github.com/lethe-iac/lethe/internal/timing"
	"github.com/lethe-iac/lethe/internal/timing/otlp"
	"github.com/lethe-iac/lethe/internal/view/timeline"
	"github.com/lethe-iac/lethe/internal/view/tracedoc"
)

// Flag registers -timings.
func Flag(c *base.Call, to *string) {
	c.Flags.Func("timings", "Write a chart of the times of this run to this `file`: .html is a page, .json are trace events for Perfetto.", func(s string) error {
		if *to = s; !slices.Contains([]string{".html", ".json"}, filepath.Ext(s)) {
			return errors.New("the name of the file must end in .html or .json")
		}
		return nil
	})
}

// recording records the times of a command.
type recording struct {
	c           *base.Call
	file        string         // the file of -timings; "" for none
	parallelism int            // the maximum number of provider calls at the same time
	traces      *otlp.Settings // the settings of the OpenTelemetry collector; nil: no collector
	trace       otlp.Trace     // zero if traces is nil
}

// Begin starts to record the times of a command if file is not "" or if the environment requests OpenTelemetry traces.
// At the end of the command, the times are written to file and sent to the collector. file is the value of -timings.
// parallelism is the value of -parallelism; 0 means 10. If file cannot be written, Begin reports an error and returns
// false.
//
// If traces are sent, programs that the command starts get its span (the command's entry in the trace) in the variable
// TRACEPARENT.
func Begin(c *base.Call, file string, parallelism int) bool {
	r := &recording{c: c, file: file, parallelism: cmp.Or(parallelism, 10)}
	if file != "" && !r.mayWrite() {
		return false
	}
	if otlp.Enabled(c.Getenv) {
		r.join()
	}
	if file == "" && r.traces == nil {
		return true
	}
	c.Times = timing.New(c.Stops.Began)
	c.AtEnd(r.end)
	return true
}

// join prepares the command's trace for sending. If TRACEPARENT names the trace of the caller, the command's spans
// belong to the caller's trace, otherwise to a new trace. join also sets TRACEPARENT for child processes. If the
// caller's trace is not sampled, nothing is sent. If the settings cannot be read, nothing is sent and join warns.
func (r *recording) join() {
	c := r.c
	settings, err := otlp.Read(c.Getenv, c.Path)
	if err != nil {
		r.unsent(err)
		return
	}
	trace, sampled := otlp.NewTrace(c.Getenv("TRACEPARENT"))
	if !sampled {
		return
	}
	for _, s := range settings.Secrets() {
		c.Secrets.Add(s, secret.Origin{Addr: "OTEL_EXPORTER_OTLP_HEADERS", Kind: secret.Setting})
	}
	r.traces, r.trace = settings, trace
	environ := slices.DeleteFunc(slices.Clone(c.Environ), func(v string) bool { return strings.HasPrefix(v, "TRACEPARENT=") })
	c.Environ = append(environ, "TRACEPARENT="+trace.Header())
}

func (r *recording) unsent(err error) {
	r.c.Bag.Add(diag.Warningf("Traces not sent", "OTEL_TRACES_EXPORTER=otlp is set, but the spans of this command were not sent: %s.", err))
}

func (r *recording) mayWrite() bool {
	if err := disk.MayReplace(r.c.Path(r.file)); err != nil {
		return r.failed(err)
	}
	return true
}

func (r *recording) failed(err error) bool {
	r.c.Bag.Add(diag.Errorf("Failed to write the page", "The times of the run cannot be written to %s: %s.", r.file, disk.Reason(err)))
	return false
}

// end writes the file of -timings and sends the spans to the collector, even if the command failed.
func (r *recording) end() {
	c := r.c
	interrupted := c.Stops.Begin != nil && c.Stops.Begin.Err() != nil
	run := c.Times.Finish(c.Command.Name, r.parallelism, interrupted)
	if r.file != "" {
		r.write(run)
	}
	if r.traces != nil {
		about := otlp.About{Product: c.Product(), Version: base.Version, Failed: interrupted || run.Failed() || c.Failed, Scrub: c.Secrets.Scrub}
		if err := otlp.Send(context.Background(), r.traces, r.trace, run, about); err != nil {
			r.unsent(err)
		}
	}
}

func (r *recording) write(run *timing.Run) {
	c := r.c
	var b bytes.Buffer
	var err error
	begin := "{"
	if filepath.Ext(r.file) == ".html" {
		begin = "<!doctype html>"
		err = timeline.Write(&b, run, timeline.Options{Product: c.Product(), Scrub: c.Secrets.Scrub})
	} else {
		err = tracedoc.Write(&b, run, c.Product(), c.Secrets.Scrub)
	}
	text, ok := c.Guarded(b.Bytes(), begin)
	if err == nil && ok {
		err = disk.Replace(c.FS(), c.Path(r.file), text)
	}
	if err != nil {
		r.failed(err)
	}
}
