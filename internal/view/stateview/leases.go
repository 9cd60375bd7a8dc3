package stateview

import (
	"io"
	"time"

	"github.com/lethe-iac/lethe/internal/state/journal"
	"github.com/lethe-iac/lethe/internal/view/jsondoc"
)

// LeasesText writes a list of leases (opened ephemeral resources) without a recorded end. running is the run in
// progress, or "" without one. LeasesText returns the error of w.
func LeasesText(w io.Writer, leases []journal.Lease, running string) error {
	lines := [][]string{{"LEASE", "PROVIDER", "OPENED", "RUN"}}
	for _, l := range leases {
		run := l.Run
		if run == running {
			run += " (in progress)"
		}
		lines = append(lines, []string{l.Object, l.Provider.ForDisplay(), l.Time.UTC().Format(time.DateTime) + "Z", run})
	}
	return table(w, lines)
}

// leasesDocument is the document of `leases list -json`.
type leasesDocument struct {
	Format string          `json:"format_version"`
	Leases []leaseDocument `json:"leases"`
}

type leaseDocument struct {
	Address  string `json:"address"`
	Provider string `json:"provider"`
	Opened   string `json:"opened"`
	Run      string `json:"run"`
	Running  bool   `json:"running"` // the run that opened the lease is still in progress
}

// LeasesJSON writes a list of leases (opened ephemeral resources) without a recorded end as a document. running is the
// run in progress, or "" without one. LeasesJSON returns the error of w.
func LeasesJSON(w io.Writer, leases []journal.Lease, running string) error {
	return jsondoc.Write(w, leasesDocument{Format: "1.0", Leases: leasesOf(leases, running)}, jsondoc.OneLine)
}

func leasesOf(leases []journal.Lease, running string) []leaseDocument {
	out := []leaseDocument{}
	for _, l := range leases {
		out = append(out, leaseDocument{l.Object, l.Provider.String(), l.Time.UTC().Format(time.RFC3339Nano), l.Run, l.Run == running})
	}
	return out
}
