package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/event"
)

// words are how an operation is reported.
type words struct {
	begins, ends, still, fails, action string
	kind                               string // the first part of the types of lines of -json; "" if there are none
}

// vocabulary has the words of every operation; the machine formats use them too.
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
}

// about is a line about an object.
func (h *Human) about(o addr.Object, text string) string {
	return h.o.paint(escapeLine(o.String())+": "+h.free(text), bold)
}

// ident is what identifies an object, as lines end with it.
func ident(key, value string) string {
	if value == "" {
		return ""
	}
	if key == "" {
		key = "id"
	}
	return " [" + key + "=" + escapeLine(value) + "]"
}

func (h *Human) started(e event.Started) string {
	if e.Op == event.Import && h.o.Importing {
		return h.about(e.Object, fmt.Sprintf("Importing from ID %q...", e.ID))
	}
	text := vocabulary[e.Op].begins
	if text == "" || e.Op == event.Refresh && h.o.Concise {
		return ""
	}
	return h.about(e.Object, text+ident(e.IDKey, e.ID))
}

func (h *Human) done(e event.Done) string {
	if e.Op == event.Import && h.o.Importing {
		return h.o.paint(escapeLine(e.Object.String())+": Import prepared!", bold, green) + "\n  Prepared " + escapeLine(e.Object.Type) + " for import"
	}
	text := vocabulary[e.Op].ends
	switch e.Op {
	case event.Refresh:
		return ""
	case event.Forget:
		return h.about(e.Object, text)
	case event.Delete:
		return h.about(e.Object, text+" after "+seconds(e.Took))
	}
	if text == "" {
		return ""
	}
	return h.about(e.Object, text+" after "+seconds(e.Took)+ident(e.IDKey, e.ID))
}

// seconds is a duration in whole seconds: 0s, 1m10s.
func seconds(d time.Duration) string { return d.Truncate(time.Second).String() }

// summary ends an apply.
func (h *Human) summary(e event.Summary) {
	h.write(h.out, "\n"+h.o.paint(summaryText(e), bold, green)+"\n")
	h.line(h.leases)
	h.leases = ""
}

func summaryText(e event.Summary) string {
	forgotten := ""
	if e.Forgotten > 0 {
		forgotten = fmt.Sprintf(", %d forgotten", e.Forgotten)
	}
	if e.Operation == "destroy" {
		return fmt.Sprintf("Destroy complete! Resources: %d destroyed%s.", e.Destroyed, forgotten)
	}
	imported := ""
	if e.Imported > 0 {
		imported = fmt.Sprintf("%d imported, ", e.Imported)
	}
	return fmt.Sprintf("Apply complete! Resources: %s%d added, %d changed, %d destroyed%s.", imported, e.Added, e.Changed, e.Destroyed, forgotten)
}

// leasesText sums up the leases of a walk.
func leasesText(e event.Leases) string {
	left := ""
	if e.Left > 0 {
		left = fmt.Sprintf(", %d left open", e.Left)
	}
	return fmt.Sprintf("Leases: %d opened, %d renewed, %d closed%s; longest held %.1fs.", e.Opened, e.Renewed, e.Closed, left, e.Longest.Seconds())
}

// interrupted says what an interrupt does. Who makes the program end at once names what it leaves.
func (h *Human) interrupted(times int) {
	out := h.errOut
	if times == 1 {
		out = h.out
	}
	h.write(out, "\n"+interruptText(times, h.o.product(), &h.ops)+"\n")
	if times > 2 && h.live != nil {
		h.live.finish()
	}
}

// interruptText says what an interrupt does, what it waits for, and what another one would do. The
// first sentences are looked for by tools.
func interruptText(times int, product string, ops *running) string {
	switch times {
	case 1:
		return fmt.Sprintf("Interrupt received.\nPlease wait for %s to exit or data loss may occur.\nGracefully shutting down...\n%sA second interrupt gives up what is still under way, and ends within 3 seconds. A third ends at once.\n", product, ops.pending())
	case 2:
		return fmt.Sprintf("Two interrupts received. Exiting immediately. Note that data loss may have occurred.\n%sCalls are given up after a second, then leases are closed; %s ends within 3 seconds. A third interrupt ends at once.\n", ops.pending(), product)
	}
	return "Exiting now.\n"
}

// pending lists what is under way, and the leases that are open.
func (r *running) pending() string {
	var b strings.Builder
	closing := map[addr.Object]bool{}
	for _, o := range r.list() {
		closing[o.object] = closing[o.object] || o.op == event.Close
		fmt.Fprintf(&b, "  - %s (%s, %s)\n", escapeLine(o.object.String()), o.words().still, seconds(max(r.now().Sub(o.began), 0)))
	}
	for _, m := range r.transfers() {
		fmt.Fprintf(&b, "  - %s (downloading, %s)\n", escapeLine(m.name), m.progress(r.now()))
	}
	var open []string
	for o := range r.leases {
		if !closing[o] {
			open = append(open, "  - "+escapeLine(o.String())+" (open)\n")
		}
	}
	slices.Sort(open)
	b.WriteString(strings.Join(open, ""))
	if b.Len() == 0 {
		return "Nothing is under way.\n"
	}
	return "Under way:\n" + b.String()
}
