// Package stateview shows reports about states: their history, the examination of a state, its journal and its backups,
// leases (opened ephemeral resources) without a recorded end, stored secrets, and the result of removing secrets from
// copies.
package stateview

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/view"
	"github.com/lethe-iac/lethe/internal/view/jsondoc"
	"github.com/lethe-iac/lethe/internal/workspace"
)

// ExaminationText writes an examination of a state as text. It returns the error of w.
func ExaminationText(w io.Writer, x *workspace.Examination) error {
	var b strings.Builder
	line := func(format string, a ...any) { fmt.Fprintln(&b, view.EscapeLine(fmt.Sprintf(format, a...))) }
	switch s := x.State; {
	case s.Missing:
		line("State    %s: missing", s.Where)
	default:
		line("State    %s: %s", s.Where, copyText(s))
	}
	journals := x.Stored
	if x.Journal != nil {
		journals = append([]*workspace.JournalReport{x.Journal}, journals...)
	}
	if len(journals) == 0 {
		line("Journal  none: no run was interrupted")
	}
	for _, f := range journals {
		line("Journal  %s: %s", f.Path, strings.Join(journalText(f), "; "))
		if f.Recovery != nil {
			for _, u := range f.Recovery.Unknown {
				line("  unknown  %s", u)
			}
		}
		for _, l := range f.Leases {
			line("  lease    %s", l)
		}
	}
	newest := true
	for _, c := range x.Copies {
		text := copyText(c)
		if c.Snapshot != nil && newest {
			text += "; the newest usable backup"
			newest = false
		}
		line("Backup   %s, written %s: %s", c.Where, c.Time.Format(time.DateTime)+"Z", text)
	}
	if x.Older > 0 {
		line("Backup   %s, not checked: lethe state history lists them", diag.Counted(x.Older, "older former state", "older former states"))
	}
	for _, f := range x.Files {
		line("File     %s: it may have changes that the state lacks", f)
	}
	for _, objects := range x.Twice {
		var names []string
		for _, o := range objects {
			names = append(names, o.String())
		}
		line("Twice    %s have the same ID: this may be one real object", strings.Join(names, " and "))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// copyText describes a copy of a state.
func copyText(c workspace.Copy) string {
	if c.Snapshot == nil {
		return "it cannot be read. " + strings.ReplaceAll(c.Problem, "\n", " ")
	}
	return fmt.Sprintf("whole, serial %d, lineage %s, %s", c.Snapshot.Serial, c.Snapshot.Lineage, diag.Counted(c.Snapshot.Len(), "object", "objects"))
}

// journalText describes the content of a journal.
func journalText(f *workspace.JournalReport) []string {
	var out []string
	if f.Running {
		out = append(out, "a process is using it")
	}
	if f.Recovery == nil {
		return append(out, "it does not belong to this state: "+f.Problem)
	}
	r := f.Recovery
	if r.Changes > 0 && !r.Written {
		out = append(out, fmt.Sprintf("the run %s recorded %s that the state lacks", r.Header.Run, diag.Counted(r.Changes, "change", "changes")))
	}
	if n := len(r.Refused); n > 0 && !r.Written {
		out = append(out, diag.Counted(n, "object", "objects")+" that others have changed since")
	}
	if r.Missing > 0 || r.Damaged > 0 {
		out = append(out, fmt.Sprintf("damaged: %s cannot be read", diag.Counted(max(r.Missing, 1), "record", "records")))
	}
	if n := len(r.Unknown); n > 0 {
		out = append(out, diag.Counted(n, "call whose outcome is unknown", "calls whose outcome is unknown"))
	}
	if n := len(f.Leases); n > 0 {
		out = append(out, diag.Counted(n, "lease that was left open", "leases that were left open"))
	}
	if len(out) == 0 {
		out = append(out, "the state has all its changes")
	}
	return out
}

// examinationDocument is the document of `state check -json`.
type examinationDocument struct {
	Format  string             `json:"format_version"`
	Whole   bool               `json:"whole"`
	State   copyDocument       `json:"state"`
	Journal *journalDocument   `json:"journal,omitempty"`
	Stored  []*journalDocument `json:"journals_in_store,omitempty"`
	Backups []copyDocument     `json:"backups"`
	Older   int                `json:"older_backups,omitempty"` // the number of older backups, which were not read
	Files   []string           `json:"files"`
	Twice   [][]string         `json:"same_id"`
}

type copyDocument struct {
	Where   string         `json:"where"`
	Missing bool           `json:"missing,omitempty"`
	Problem string         `json:"problem,omitempty"`
	Written string         `json:"written,omitempty"`
	Serial  jsondoc.Serial `json:"serial"`
	Lineage string         `json:"lineage,omitempty"`
	Objects int            `json:"objects"`
}

type journalDocument struct {
	Where   string               `json:"where"`
	Running bool                 `json:"running"`
	Problem string               `json:"problem,omitempty"`
	Run     string               `json:"run,omitempty"`
	Changes int                  `json:"changes"` // number of recorded changes that the state lacks
	Missing int                  `json:"missing_records"`
	Damaged int                  `json:"damaged_bytes"`
	Unknown []unansweredDocument `json:"unknown"`
	Leases  []leaseDocument      `json:"leases"`
}

type unansweredDocument struct {
	Address  string `json:"address"`
	Deposed  string `json:"deposed,omitempty"`
	Action   string `json:"action"`
	Provider string `json:"provider"`
	Run      string `json:"run"`
	Time     string `json:"time"`
}

// ExaminationJSON writes an examination of a state as one line of JSON, in the form of examinationDocument, and returns
// the error of w.
func ExaminationJSON(w io.Writer, x *workspace.Examination) error {
	doc := examinationDocument{Format: "1.0", Whole: x.Whole(), State: copyOf(x.State), Backups: []copyDocument{}, Older: x.Older, Files: append([]string{}, x.Files...), Twice: [][]string{}}
	for _, c := range x.Copies {
		doc.Backups = append(doc.Backups, copyOf(c))
	}
	for _, objects := range x.Twice {
		var names []string
		for _, o := range objects {
			names = append(names, o.String())
		}
		doc.Twice = append(doc.Twice, names)
	}
	if f := x.Journal; f != nil {
		doc.Journal = journalOf(f)
	}
	for _, f := range x.Stored {
		doc.Stored = append(doc.Stored, journalOf(f))
	}
	return jsondoc.Write(w, doc, jsondoc.OneLine)
}

func copyOf(c workspace.Copy) copyDocument {
	d := copyDocument{Where: c.Where, Missing: c.Missing, Problem: c.Problem}
	if !c.Time.IsZero() {
		d.Written = c.Time.UTC().Format(time.RFC3339Nano)
	}
	if c.Snapshot != nil {
		d.Serial, d.Lineage, d.Objects = jsondoc.Serial(c.Snapshot.Serial), c.Snapshot.Lineage, c.Snapshot.Len()
	}
	return d
}

func journalOf(f *workspace.JournalReport) *journalDocument {
	d := &journalDocument{Where: f.Path, Running: f.Running, Problem: f.Problem, Unknown: []unansweredDocument{}}
	if r := f.Recovery; r != nil {
		d.Run, d.Missing, d.Damaged = r.Header.Run, r.Missing, r.Damaged
		if !r.Written {
			d.Changes = r.Changes
		}
		for _, u := range r.Unknown {
			d.Unknown = append(d.Unknown, unansweredDocument{u.Object.Instance.String(), u.Object.Deposed, u.Action, u.Provider.String(), u.Run, u.Time.UTC().Format(time.RFC3339Nano)})
		}
	}
	running := ""
	if f.Running {
		running = d.Run
	}
	d.Leases = leasesOf(f.Leases, running)
	return d
}
