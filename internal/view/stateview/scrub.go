package stateview

import (
	"io"
	"time"

	"github.com/lethe-iac/lethe/internal/audit"
	"github.com/lethe-iac/lethe/internal/view/jsondoc"
)

// ScrubOutcome is an outcome of the command that removes secrets from copies.
type ScrubOutcome string

// These are the outcomes.
const (
	NothingFound ScrubOutcome = "nothing-found" // no copy contains a former secret
	DryRun       ScrubOutcome = "dry-run"
	Refused      ScrubOutcome = "refused"     // the user refused the removal, or a value would be lost
	Changed      ScrubOutcome = "changed"     // copies were changed; diagnostics name the copies that could not be changed
	Interrupted  ScrubOutcome = "interrupted" // the command was interrupted after it changed some copies
)

// Scrub is the result of removing secrets from copies.
type Scrub struct {
	Outcome     ScrubOutcome
	Removal     *audit.Removal // the values to remove with their copies, and the values that are kept
	Places      []*audit.Place // all places that were examined
	Plans       []string       // plan files to delete
	Changed     int            // the number of copies that were changed or deleted
	Commands    []string       // commands that delete versions in the service of the backend
	Unreachable []string       // sentences about places that Lethe cannot clean
}

type scrubDocument struct {
	Format      string             `json:"format_version"`
	Outcome     ScrubOutcome       `json:"outcome"`
	Secrets     []scrubbedDocument `json:"secrets"`
	Kept        []keptDocument     `json:"kept"`
	Plans       []string           `json:"plan_files"`
	Changed     int                `json:"copies_changed"`
	Commands    []string           `json:"commands"`
	Unread      []unreadDocument   `json:"not_examined"`
	Unreachable []string           `json:"not_cleaned"`
}

// scrubbedDocument is a value that was removed, or that a dry run would remove.
type scrubbedDocument struct {
	Label    int              `json:"value"`                    // a number for the value in this document
	Stored   []string         `json:"stored_as"`                // addresses with attributes
	Copies   []string         `json:"copies"`                   // names of the copies, without former states
	Versions []jsondoc.Serial `json:"earlier_versions"`         // serials of the former states with the value
	Since    string           `json:"readable_since,omitempty"` // RFC 3339 in UTC; "" if unknown
	Last     bool             `json:"last_copy"`                // no other copy of the value is known
	Alone    bool             `json:"alone,omitempty"`          // removed only from stored_as, because it is too short or too common
}

// keptDocument is an attribute in a copy whose values stay in the copy, with the labels (numbers) of the values.
type keptDocument struct {
	Stored string        `json:"stored_as"`
	Labels []int         `json:"values"`
	Why    audit.WhyKept `json:"reason"`
}

// unreadDocument is a copy that could not be examined, with the reason.
type unreadDocument struct {
	Name    string `json:"name"`
	Problem string `json:"problem"`
}

// JSON writes the result as one line of JSON, in the form of scrubDocument, and returns the error of w. No field has a
// secret: the document identifies a secret by a label (a number), and by the addresses of the attributes that stored
// it.
func (r Scrub) JSON(w io.Writer) error {
	doc := scrubDocument{
		Format: "1.0", Outcome: r.Outcome, Changed: r.Changed, Secrets: []scrubbedDocument{}, Kept: []keptDocument{}, Unread: []unreadDocument{},
		Plans: append([]string{}, r.Plans...), Commands: append([]string{}, r.Commands...), Unreachable: append([]string{}, r.Unreachable...),
	}
	for _, s := range r.Removal.Secrets {
		d := scrubbedDocument{Label: s.Label, Stored: s.Stored, Copies: []string{}, Versions: []jsondoc.Serial{}, Last: s.Last, Alone: s.Alone}
		for _, p := range s.Copies {
			if p.Kind == audit.Version {
				d.Versions = append(d.Versions, jsondoc.Serial(p.Serial))
			} else {
				d.Copies = append(d.Copies, p.Name)
			}
		}
		if !s.Since.IsZero() {
			d.Since = s.Since.UTC().Format(time.RFC3339)
		}
		doc.Secrets = append(doc.Secrets, d)
	}
	for _, k := range r.Removal.Kept {
		doc.Kept = append(doc.Kept, keptDocument{k.Stored, k.Labels, k.Why})
	}
	for _, p := range r.Places {
		if p.Problem != "" {
			doc.Unread = append(doc.Unread, unreadDocument{p.Name, p.Problem})
		}
	}
	return jsondoc.Write(w, doc, jsondoc.OneLine)
}
