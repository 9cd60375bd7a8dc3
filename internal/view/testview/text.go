// Package testview reports the progress and the results of test files: for people as lines of text (text.go), for
// programs as JSON with one object per line (json.go), and as a report file in the JUnit format (junit.go). Wording and
// layout are as in Terraform 1.11.4.
package testview

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/suite"
	"github.com/lethe-iac/lethe/internal/view"
	"github.com/lethe-iac/lethe/internal/view/actionview"
)

// Options are settings for reports of tests.
type Options struct {
	view.Options
	Verbose bool // show the plan or the state of each run
	Schemas provider.Lookup
	Version string // the version of the program, for documents
}

// Text reports the progress and the results of test files as text.
type Text struct {
	O   Options
	Out *view.Human
}

var _ suite.Reporter = (*Text)(nil)

// Found prints nothing: the text has no list of the files.
func (t *Text) Found([]*suite.File) {}

// File prints a line for the step p of a file.
func (t *Text) File(f *suite.File, p suite.Progress) {
	t.Out.Print(t.O.Line(f.Name, p, f.Status)+"\n", false)
}

// Line returns the text for a step of a file or run: the name, and "in progress", "tearing down" or, after the last
// step, the word for the status s.
func (o Options) Line(name string, p suite.Progress, s suite.Status) string {
	switch p {
	case suite.Starting, suite.Running:
		return name + "... " + o.Paint("in progress", view.Dim)
	case suite.TearingDown:
		return name + "... " + o.Paint("tearing down", view.Dim)
	}
	return name + "... " + o.word(s)
}

// word returns the word for a status in the text: pass, fail, skip or pending. An error is shown as fail.
func (o Options) word(s suite.Status) string {
	switch s {
	case suite.Pass:
		return o.Paint("pass", view.Green)
	case suite.Fail, suite.Error:
		return o.Paint("fail", view.Red)
	case suite.Skip:
		return o.Paint("skip", view.Dim)
	}
	return "pending"
}

// Run prints the result of a run after its last step, with the invoked actions and the diagnostics, and with
// Options.Verbose the plan or the state. For other steps, it prints nothing.
func (t *Text) Run(r *suite.Run, p suite.Progress) {
	if p != suite.Complete {
		return
	}
	t.Out.Print(t.O.Line("  run \""+r.Name+"\"", p, r.Status)+"\n", false)
	for _, e := range r.Invoked {
		word := "invoked"
		if e.Failed {
			word = "failed to invoke"
		}
		t.Out.Print("    "+word+" "+view.EscapeLine(actionview.Title(e.Invocation))+"\n", false)
	}
	if t.O.Verbose && !r.Began.IsZero() {
		t.verbose(r)
	}
	t.diagnostics(r.Diags)
}

// Still prints nothing, because the text has one line for each run, printed when the run has finished.
func (t *Text) Still(*suite.Run, suite.Progress, time.Duration) {}

func (t *Text) diagnostics(ds []diag.Diagnostic) {
	for _, d := range t.O.Silence.Filter(ds) {
		t.Out.Print(view.DiagnosticText(d, t.O.Options), d.Severity == diag.Error)
	}
}

// verbose prints the plan of a run, or the state after its apply.
func (t *Text) verbose(r *suite.Run) {
	switch {
	case r.State != nil:
		var b strings.Builder
		view.StateText(&b, r.State, t.O.Schemas, t.O.Options)
		t.Out.Print("\n"+b.String()+"\n", false)
	case r.Planned != nil:
		t.Out.Plan(r.Planned, view.PlanOptions{Applying: true, Schemas: t.O.Schemas})
		t.Out.Print("\n", false)
	}
}

// Left lists the objects that could not be destroyed, and the objects that were kept.
func (t *Text) Left(l *suite.Left) {
	of := l.File.Name + "/" + l.Run.Name
	if l.Meant {
		t.diagnostics(l.Diags)
		t.Out.Print(t.kept(l, of), false)
		return
	}
	if len(l.Objects) > 0 || slices.ContainsFunc(l.Diags, func(d diag.Diagnostic) bool { return d.Severity == diag.Error }) {
		t.Out.Print(t.O.Name()+" encountered an error destroying resources created while executing\n"+of+".\n", true)
	}
	t.diagnostics(l.Diags)
	if len(l.Objects) == 0 {
		return
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s left the following resources in state after executing\n%s, and they need to be cleaned up manually:\n", t.O.Name(), of)
	list(&b, l)
	if l.Written != "" {
		flag := ""
		if l.Failed {
			flag = " -repair"
		}
		fmt.Fprintf(&b, "\nTheir state is in %s. To try again, run:\n    %s test cleanup%s\n", l.Written, t.O.Called(), flag)
	}
	t.Out.Print(b.String(), true)
}

// kept lists the objects that the test has kept, with the command that destroys them. It returns "" if l has no
// objects, or if their state was not written.
func (t *Text) kept(l *suite.Left, of string) string {
	if len(l.Objects) == 0 || l.Written == "" {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s keeps these objects of %s, because skip_cleanup is set:\n", t.O.Name(), of)
	list(&b, l)
	fmt.Fprintf(&b, "\nTheir state is in %s. To destroy them, run:\n    %s test cleanup\n", l.Written, t.O.Called())
	return b.String()
}

// list writes a line for each remaining object.
func list(b *strings.Builder, l *suite.Left) {
	for _, o := range l.Objects {
		b.WriteString("  - " + o.Instance.String())
		if o.IsDeposed() {
			b.WriteString(" (" + o.Deposed + ")")
		}
		b.WriteByte('\n')
	}
}

// Summary prints the last line of the output.
func (t *Text) Summary(s suite.Summary) {
	t.Out.Print("\n"+t.O.summary(s)+"\n", false)
}

// summary returns the sums of all runs as a line.
func (o Options) summary(s suite.Summary) string {
	text := o.Paint("Success!", view.Green)
	if s.Status > suite.Pass {
		text = o.Paint("Failure!", view.Red)
	}
	if s.Passed+s.Failed+s.Errored == 0 && s.Skipped > 0 {
		return fmt.Sprintf("Executed 0 tests, %d skipped.", s.Skipped)
	}
	text += fmt.Sprintf(" %d passed, %d failed", s.Passed, s.Failed+s.Errored)
	if s.Skipped > 0 {
		text += fmt.Sprintf(", %d skipped", s.Skipped)
	}
	return text + "."
}
