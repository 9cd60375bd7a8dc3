package doctorcmd

import (
	"strings"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/workdir"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/view/doctorview"
)

// checking is one run of the command doctor.
type checking struct {
	call     *base.Call
	dir      *workdir.Directory // nil if the settings cannot be read
	findings doctorview.Findings

	unreadable bool // the store can be read, but its state cannot; then the command does not check the leases
}

func (x *checking) add(level doctorview.Level, area, text, action string) {
	x.findings = append(x.findings, doctorview.Finding{Level: level, Area: area, Text: text, Action: action})
}

// within calls check, and turns the diagnostics that check adds to the bag of the command into findings about area:
// errors into problems, and warnings into notes. It empties the bag.
func (x *checking) within(area string, check func()) {
	check()
	for _, d := range x.call.Bag.List() {
		level := doctorview.Note
		if d.Severity == diag.Error {
			level = doctorview.Problem
		}
		text := d.Summary + ": " + d.Detail
		if d.Subject != nil && d.Subject.Filename != "" {
			text += " (" + d.Subject.Filename + ")"
		}
		x.add(level, area, strings.TrimSpace(text), "")
	}
	x.call.Bag.Clear()
}
