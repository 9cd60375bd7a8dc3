package view

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/view/queue"
)

// Human is the view that prints text for users. Its methods may be called concurrently.
//
// On a terminal, lines are printed above the live block (live.go), which stays at the bottom of the screen. Without a
// terminal, lines are written at once.
type Human struct {
	o           Options
	out, errOut io.Writer

	mu      sync.Mutex
	ops     running
	live    *live           // the live block at the bottom of the screen; nil without a terminal
	shown   map[string]bool // the diagnostics that were printed, by severity and text
	failed  bool            // an error was shown
	closing string          // text for the end, printed only if no error was shown
	leases  string          // the line about leases (opened ephemeral resources), until the totals are printed
	applied bool            // a step of an apply has begun
	behind  bool            // the operations belong to tests: the view prints no lines about them
}

// NewHuman makes a view that prints errors to stderr and everything else to stdout.
func NewHuman(stdout, stderr io.Writer, o Options) *Human {
	h := &Human{o: o, out: stdout, errOut: stderr, shown: map[string]bool{}}
	h.ops.now, h.ops.tick = o.now, h.beat
	if o.Terminal && o.Width >= minWidth {
		h.live = &live{w: stdout, width: o.Width, o: o}
		h.ops.period = frame
	}
	return h
}

// Send prints an event.
func (h *Human) Send(e event.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ops.follow(e)
	if h.live != nil {
		h.live.follow(e)
	}
	switch e := e.(type) {
	case event.Started:
		h.applied = h.applied || counted(e.Op) && !e.Refreshing
		if h.live == nil || e.Op != event.Refresh {
			h.line(h.o.started(e))
		}
	case event.Done:
		h.line(h.o.done(e))
	case event.Failed:
		if e.Reason != "" {
			h.line(h.o.about(e.Object, vocabulary[e.Op].fails+" after "+seconds(e.Took)+": "+h.o.message(e.Reason)))
		}
	case event.Retried:
		h.line(h.o.about(e.Object, retryText(e)))
	case event.Pending:
		if e.Object.Mode.String() == "ephemeral" {
			h.line(h.o.about(e.Object, "Configuration unknown, deferring..."))
		}
	case event.Stored:
		h.line(h.o.about(e.Object, "Using stored result"))
	case event.Imported:
		h.line(h.o.about(e.Object, "Importing..."+ident("id", e.ID)))
		h.line(h.o.about(e.Object, "Import complete"+ident("id", e.ID)))
	case event.ProvisionStarted:
		h.line(h.o.about(e.Object, fmt.Sprintf("Provisioning with '%s'...", e.Type)))
	case event.ProvisionOutput:
		h.line(h.o.paint(fmt.Sprintf("%s (%s):", EscapeLine(e.Object.String()), e.Type), bold) + " " + h.o.colored(e.Line))
	case event.ActionStarted, event.ActionProgress, event.ActionDone:
		h.line(h.o.actionText(e))
	case event.ProvisionDone:
	case event.Summary:
		h.summary(e)
	case event.Leases:
		if h.applied || e.Left > 0 { // a plan alone needs no summary of leases
			h.leases = leasesText(e)
		}
	case event.Round:
		if e.Ended {
			h.line("\n" + h.o.paint(roundText(e), bold))
			if e.Left > 0 { // with e.Left == 0, the summary of the apply follows and prints the line
				h.line(h.leases)
				h.leases = ""
			}
		} else if h.leases = ""; e.Number > 1 { // a further round begins, and the line about leases belonged to the plan before it
			h.line("\n" + h.o.paint(fmt.Sprintf("Round %d", e.Number), bold))
		}
	case event.ListFound:
		h.line(h.o.found(e))
	case event.ListDone:
		h.line(listDone(e))
	case event.Diagnosed:
		h.diagnostics([]diag.Diagnostic{e.Diagnostic})
	case event.Behind:
		h.behind = true
	case event.Interrupted:
		h.interrupted(e.Times)
	case event.Note:
		h.line(h.o.fit(h.o.free(e.Text)))
	}
	h.draw()
}

// line prints one line. If s is empty, it prints nothing.
func (h *Human) line(s string) {
	if s != "" {
		h.write(h.out, s+"\n")
	}
}

// write prints text. If the view has a live block, the text appears above the block.
func (h *Human) write(w io.Writer, s string) {
	if h.live != nil {
		h.live.print(w, s)
		return
	}
	io.WriteString(w, s)
}

// Print prints text unchanged: to standard error if errors is true, otherwise to standard output.
func (h *Human) Print(text string, errors bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := h.out
	if errors {
		w = h.errOut
	}
	h.write(w, text)
	h.draw()
}

// draw redraws the live block, at most once in each frame period.
func (h *Human) draw() {
	if h.live != nil {
		h.live.draw(&h.ops, h.o.now())
	}
}

// summary prints the result of an apply, the steps that were not started, and the totals.
func (h *Human) summary(e event.Summary) {
	style := green
	if e.Failed {
		style = red
	}
	h.write(h.out, "\n"+h.o.paint(summaryText(e), bold, style)+"\n")
	h.line(h.o.fit(notStartedText(e)))
	stored := ""
	if h.leases != "" {
		stored = secretsText(e.Secrets)
	}
	h.totals(stored)
}

// totals prints the lines about the leases, the stored secrets and the repeated provider calls.
func (h *Human) totals(stored string) {
	h.line(h.leases)
	h.line(stored)
	h.leases = ""
	if text, n := h.ops.retries.end(); n > 0 {
		h.line(text)
	}
}

// interrupted explains the effect of an interrupt. After the third interrupt, the code that ends the program lists the
// operations in progress.
func (h *Human) interrupted(times int) {
	out := h.errOut
	if times == 1 {
		out = h.out
	}
	h.write(out, "\n"+h.o.fit(interruptText(times, h.o.product(), &h.ops))+"\n")
	if times > 2 && h.live != nil {
		h.live.finish()
	}
}

// beat is called at intervals during operations. It prints lines about long operations, and redraws the live block.
func (h *Human) beat(now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, op := range h.ops.due(now) {
		if h.behind {
			continue
		}
		h.line(h.o.about(op.object, fmt.Sprintf("Still %s... [%s elapsed]", op.words().still, seconds(op.heard))))
	}
	h.draw()
}

// Plan prints a plan, unless o.Earlier is true. At its end, a successful command prints the hint for the next step.
func (h *Human) Plan(p *plan.Plan, o PlanOptions) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.live != nil && o.Applying {
		h.live.total, h.live.queue = steps(p), queue.New(p)
	}
	if o.Earlier {
		return
	}
	if h.live != nil && h.live.refreshed > 0 {
		h.line(fmt.Sprintf("Refreshed %s.", diag.Counted(h.live.refreshed, "object", "objects")))
	}
	newPlanText(writerFunc(func(s string) { h.write(h.out, s) }), p, o.Schemas, h.o).write()
	if !o.Applying && !p.Errored && p.Applyable() {
		h.closing = h.next(o.Saved)
	}
	h.draw()
}

// next returns the hint for the next step after a plan. saved is the file of the plan, or "".
func (h *Human) next(saved string) string {
	rule := "\n" + h.o.rule() + "\n"
	switch {
	case h.o.Automation:
		return ""
	case saved == "":
		return rule + h.o.fit(fmt.Sprintf("\nNote: You didn't use the -out option to save this plan, so %s can't\nguarantee to take exactly these actions if you run \"%s apply\" now.\n", h.o.product(), h.o.command()))
	}
	o := h.o
	o.Width = cmp.Or(o.Width, 78) // Terraform wraps this text without a terminal, too, and programs search for its lines
	return rule + o.fit(fmt.Sprintf("\nSaved the plan to: %s\n\nTo perform exactly these actions, run the following command to apply:\n    %s apply %s\n", EscapeLine(saved), h.o.command(), store.ShellFile(saved)))
}

// writerFunc is an io.Writer that calls a function with each text.
type writerFunc func(string)

func (f writerFunc) Write(b []byte) (int, error) {
	f(string(b))
	return len(b), nil
}

// Outputs prints root outputs at the end of an apply.
func (h *Human) Outputs(outs map[string]state.Output) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(outs) == 0 {
		return
	}
	var b strings.Builder
	OutputsText(&b, outs, h.o)
	h.write(h.out, h.o.paint("\nOutputs:", bold, green)+"\n\n"+b.String())
	h.draw()
}

// diagnostics prints the diagnostics that were not printed before, in the given order: warnings to standard output and
// errors to standard error. Warnings with the same title are printed once with their number, and errors with the same
// text once with a list of their places.
func (h *Human) diagnostics(ds []diag.Diagnostic) {
	var fresh []diag.Diagnostic
	for _, d := range h.o.Silence.Filter(ds) {
		key := d.Severity.String() + d.Error()
		if !h.shown[key] {
			h.shown[key] = true
			fresh = append(fresh, d.Coded())
		}
		h.failed = h.failed || d.Severity == diag.Error
	}
	groups := grouped(fresh, h.o)
	if h.o.Compact && !slices.ContainsFunc(fresh, isError) {
		h.write(h.out, compactWarnings(groups, h.o))
		return
	}
	for _, g := range groups {
		w := io.Writer(h.out)
		if g.Severity == diag.Error {
			w = h.errOut
		}
		h.write(w, diagnosticText(g, h.o))
	}
}

// Diagnostics prints the diagnostics that were not printed yet.
func (h *Human) Diagnostics(ds []diag.Diagnostic) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.diagnostics(ds)
	h.draw()
}

// Finish prints the totals, the text for the end unless errors were shown, and held lines. It removes the live block.
func (h *Human) Finish() {
	h.ops.stop()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.totals("")
	if h.closing != "" && !h.failed {
		h.write(h.out, h.closing)
	}
	h.closing = ""
	if h.live != nil {
		h.live.finish()
	}
}
