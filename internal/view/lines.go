package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/event"
)

// words are how an operation is told of.
type words struct{ begins, ends, still, fails, action string }

// vocabulary has the words of every operation; the machine formats use them too.
var vocabulary = map[event.Op]words{
	event.Refresh:   {"Refreshing state...", "Refresh complete", "refreshing", "Refresh errored", "refresh"},
	event.Import:    {"Preparing import...", "", "importing", "Import errored", "import"},
	event.ReadData:  {"Reading...", "Read complete", "reading", "Read errored", "read"},
	event.Create:    {"Creating...", "Creation complete", "creating", "Creation errored", "create"},
	event.Update:    {"Modifying...", "Modifications complete", "modifying", "Modifications errored", "update"},
	event.Delete:    {"Destroying...", "Destruction complete", "destroying", "Destruction errored", "delete"},
	event.Forget:    {"", "Removed from the state, not destroyed", "forgetting", "", "forget"},
	event.Open:      {"Opening...", "Opening complete", "opening", "Opening errored", "open"},
	event.Renew:     {"Renewing...", "Renewal complete", "renewing", "Renewal errored", "renew"},
	event.Close:     {"Closing...", "Closing complete", "closing", "Closing errored", "close"},
	event.Provision: {"", "", "provisioning", "", "provision"},
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
	return fmt.Sprintf("Leases: %d opened, %d renewed, %d closed%s; longest held %s.", e.Opened, e.Renewed, e.Closed, left, held(e.Longest))
}

// held is a duration in tenths of seconds.
func held(d time.Duration) string { return fmt.Sprintf("%.1fs", d.Seconds()) }

// interrupted says what an interrupt does. The texts of the first two are looked for by tools.
func (h *Human) interrupted(times int) {
	switch times {
	case 1:
		h.write(h.out, fmt.Sprintf("\nInterrupt received.\nPlease wait for %s to exit or data loss may occur.\nGracefully shutting down...\n\n", h.o.product()))
	case 2:
		h.write(h.errOut, "\nTwo interrupts received. Exiting immediately. Note that data loss may have occurred.\n\n")
	default:
		h.write(h.errOut, "\n"+unfinished(h.ops.list(), h.opened))
		if h.live != nil {
			h.live.finish()
		}
	}
}

// unfinished names what a program leaves behind that exits at once.
func unfinished(ops []*op, opened map[addr.Object]bool) string {
	var b strings.Builder
	b.WriteString("Exiting now.\n")
	var unknown, open []string
	for _, o := range ops {
		switch o.op {
		case event.Create, event.Update, event.Delete, event.Provision, event.Open, event.Close:
			unknown = append(unknown, fmt.Sprintf("  - %s (%s)", escapeLine(o.object.String()), o.words().still))
		}
	}
	for o := range opened {
		open = append(open, "  - "+escapeLine(o.String()))
	}
	slices.Sort(open)
	if len(unknown) > 0 {
		b.WriteString("\nThe outcome of these operations is not known:\n" + strings.Join(unknown, "\n") + "\n")
	}
	if len(open) > 0 {
		b.WriteString("\nThese leases stay open:\n" + strings.Join(open, "\n") + "\n")
	}
	return b.String()
}
