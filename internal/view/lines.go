package view

import (
	"fmt"
	"strings"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/view/actionview"
)

// words are the words for an operation in its lines. If begins or ends is "", no line reports the start or the end.
type words struct {
	begins, ends, still, fails, action string
	kind                               string // prefix of the types of -json lines; "" without such lines
}

// vocabulary has the words for every operation. The lines of -json use them, too.
var vocabulary = map[event.Op]words{
	event.Refresh:   {"Refreshing state...", "Refresh complete", "refreshing", "Refresh errored", "refresh", "refresh"},
	event.Import:    {"Preparing import...", "", "importing", "Import errored", "import", ""},
	event.ReadData:  {"Reading...", "Read complete", "reading", "Read errored", "read", "apply"},
	event.Create:    {"Creating...", "Creation complete", "creating", "Creation errored", "create", "apply"},
	event.Update:    {"Modifying...", "Modifications complete", "modifying", "Modifications errored", "update", "apply"},
	event.Delete:    {"Destroying...", "Destruction complete", "destroying", "Destruction errored", "delete", "apply"},
	event.Forget:    {"", "Removed from the state, not destroyed", "forgetting", "", "forget", ""},
	event.Open:      {"Opening...", "Opening complete", "opening", "Opening errored", "open", "ephemeral_op"},
	event.Renew:     {"Renewing...", "Renewal complete", "renewing", "Renewal errored", "renew", "ephemeral_op"},
	event.Close:     {"Closing...", "Closing complete", "closing", "Closing errored", "close", "ephemeral_op"},
	event.Provision: {"", "", "provisioning", "", "provision", ""},
	event.Invoke:    {"", "", "invoking an action", "", "invoke", ""},
}

// about returns a line about an object.
func (o Options) about(object addr.Object, text string) string {
	return o.paint(EscapeLine(object.String())+": "+o.free(text), bold)
}

// ident returns the end of a line that identifies an object: " [key=value]", or "" if value is "". key "" means id.
func ident(key, value string) string {
	if value == "" {
		return ""
	}
	if key == "" {
		key = "id"
	}
	return " [" + key + "=" + EscapeLine(value) + "]"
}

func (o Options) started(e event.Started) string {
	if e.Op == event.Import && o.Importing {
		return o.about(e.Object, fmt.Sprintf("Importing from ID %q...", e.ID))
	}
	text := vocabulary[e.Op].begins
	if text == "" || e.Op == event.Refresh && o.Concise {
		return ""
	}
	return o.about(e.Object, text+ident(e.IDKey, e.ID))
}

func (o Options) done(e event.Done) string {
	if e.Op == event.Import && o.Importing {
		return o.paint(EscapeLine(e.Object.String())+": Import prepared!", bold, green) + "\n  Prepared " + EscapeLine(e.Object.Type) + " for import"
	}
	text := vocabulary[e.Op].ends
	switch e.Op {
	case event.Refresh:
		return ""
	case event.Forget:
		return o.about(e.Object, text)
	case event.Delete:
		return o.about(e.Object, text+" after "+seconds(e.Took))
	}
	if text == "" {
		return ""
	}
	return o.about(e.Object, text+" after "+seconds(e.Took)+ident(e.IDKey, e.ID))
}

// seconds returns a duration in whole seconds, such as 1m10s.
func seconds(d time.Duration) string { return d.Truncate(time.Second).String() }

// summaryText returns the last line of an apply. Tools search the output for this text after a successful apply.
func summaryText(e event.Summary) string {
	how := "complete!"
	if e.Failed {
		how = "incomplete."
	}
	forgotten := ""
	if e.Forgotten > 0 {
		forgotten = fmt.Sprintf(", %d forgotten", e.Forgotten)
	}
	invoked := ""
	if e.Invoked > 0 {
		invoked = fmt.Sprintf(" Actions: %d invoked.", e.Invoked)
	}
	if e.Operation == "destroy" {
		return fmt.Sprintf("Destroy %s Resources: %d destroyed%s.%s", how, e.Destroyed, forgotten, invoked)
	}
	imported := ""
	if e.Imported > 0 {
		imported = fmt.Sprintf("%d imported, ", e.Imported)
	}
	return fmt.Sprintf("Apply %s Resources: %s%d added, %d changed, %d destroyed%s.%s", how, imported, e.Added, e.Changed, e.Destroyed, forgotten, invoked)
}

// maxNotStarted is the largest number of objects that a summary names.
const maxNotStarted = 20

// notStartedText names the objects that an apply did not begin. It returns "" if the apply began all objects.
func notStartedText(e event.Summary) string {
	n := len(e.NotStarted)
	if n == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Not started: %s, because something they need failed, or the run was stopped.", diag.Counted(n, "resource instance", "resource instances"))
	for _, o := range e.NotStarted[:min(n, maxNotStarted)] {
		b.WriteString("\n  - " + EscapeLine(o.String()))
	}
	if n > maxNotStarted {
		fmt.Fprintf(&b, "\n  … and %d more", n-maxNotStarted)
	}
	return b.String()
}

// leasesText returns the line with the numbers of leases (opened ephemeral resources) of a plan or an apply.
func leasesText(e event.Leases) string {
	left := ""
	if e.Kept > 0 {
		left = fmt.Sprintf(", %d kept for the next round", e.Kept)
	}
	if e.Left > 0 {
		left += fmt.Sprintf(", %d left open", e.Left)
	}
	return fmt.Sprintf("Leases: %d opened, %d renewed, %d closed%s; longest held %.1fs.", e.Opened, e.Renewed, e.Closed, left, e.Longest.Seconds())
}

// secretsText returns the line about secrets that the state stores in clear. It returns "" if the state stores no
// secret before and after the command.
func secretsText(e *event.Secrets) string {
	if e == nil || e.Before == 0 && e.After == 0 {
		return ""
	}
	change := ""
	switch n := e.After - e.Before; {
	case n > 0:
		change = fmt.Sprintf(" (+%d)", n)
	case n < 0:
		change = fmt.Sprintf(" (−%d)", -n)
	}
	return fmt.Sprintf("Secrets stored in clear: %d%s", e.After, change)
}

// retryText returns the line about a provider call that will be repeated.
func retryText(e event.Retried) string {
	return fmt.Sprintf("Calling the provider (%s) failed with %q. Attempt %d of %d in %s...", e.Call, e.Match, e.Attempt, e.Attempts, e.Pause.Round(100*time.Millisecond))
}

// retries counts repeated provider calls.
type retries struct {
	calls int                  // the number of repetitions
	of    map[addr.Object]bool // the objects of the repeated calls
}

func (r *retries) add(e event.Retried) {
	r.calls++
	if r.of == nil {
		r.of = map[addr.Object]bool{}
	}
	r.of[e.Object] = true
}

// end returns the summary line and the number of repeated calls, and resets the counter.
func (r *retries) end() (string, int) {
	n, of := r.calls, len(r.of)
	*r = retries{}
	return fmt.Sprintf("Retries: %s for %s.", diag.Counted(n, "call", "calls"), diag.Counted(of, "object", "objects")), n
}

// roundText describes the start or the end of a round: one of several plans and applies of one command.
func roundText(e event.Round) string {
	switch {
	case !e.Ended && e.Left == 0:
		return fmt.Sprintf("Round %d: nothing is left to decide later", e.Number)
	case !e.Ended:
		return fmt.Sprintf("Round %d: %s to decide later", e.Number, diag.Counted(e.Left, "change", "changes"))
	}
	return fmt.Sprintf("Round %d complete. Resources: %d added, %d changed, %d destroyed.", e.Number, e.Added, e.Changed, e.Destroyed)
}

// actionText returns the lines about an invocation of an action, in Terraform's words. For other events it returns "".
func (o Options) actionText(e event.Event) string {
	by := func(of event.Invocation) string { return EscapeLine(actionview.Title(of)) }
	switch e := e.(type) {
	case event.ActionStarted:
		return o.paint("Action started: "+by(e.Invocation), bold)
	case event.ActionProgress:
		return o.paint("Action "+by(e.Invocation)+":", bold) + " " + o.colored(e.Message)
	case event.ActionDone:
		if e.Failed {
			return o.paint("Action errored: "+by(e.Invocation), bold)
		}
		return o.paint("Action complete: "+by(e.Invocation), bold)
	}
	return ""
}
