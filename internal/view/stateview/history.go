package stateview

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/view"
	"github.com/lethe-iac/lethe/internal/view/jsondoc"
)

// HistoryText writes a list of states as a table. The current state is the first. HistoryText returns the error of w.
func HistoryText(w io.Writer, states []store.Past) error {
	lines := [][]string{{"SERIAL", "WRITTEN", "WHO", "OPERATION", "ADDED", "CHANGED", "REMOVED"}}
	for i, p := range states {
		line := []string{strconv.FormatUint(p.Serial, 10), written(p.Time), p.Who, store.ShortOperation(p.Operation), "", "", ""}
		if len(p.Overridden) > 0 {
			line[3] = strings.TrimPrefix(line[3]+" -allow-destroy="+strings.Join(p.Overridden, ","), " ")
		}
		if c := p.Counts; c != nil {
			line[4], line[5], line[6] = strconv.Itoa(c.Added), strconv.Itoa(c.Changed), strconv.Itoa(c.Removed)
		}
		if i == 0 {
			line[1] = strings.TrimSpace(line[1] + " (now)")
		}
		lines = append(lines, line)
	}
	return table(w, lines)
}

// written returns a time for a table, or "" if the time is unknown.
func written(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.Format(time.DateTime) + "Z"
}

// table writes lines of cells as columns. The first line is the head. An empty cell is written as "-". table returns
// the error of w.
func table(w io.Writer, lines [][]string) error {
	width := make([]int, len(lines[0]))
	for _, line := range lines {
		for n, cell := range line {
			if line[n] = view.EscapeLine(cell); cell == "" {
				line[n] = "-"
			}
			width[n] = max(width[n], utf8.RuneCountInString(line[n]))
		}
	}
	for _, line := range lines {
		text := ""
		for n, cell := range line {
			text += cell + strings.Repeat(" ", width[n]-utf8.RuneCountInString(cell)+2)
		}
		if _, err := fmt.Fprintln(w, strings.TrimRight(text, " ")); err != nil {
			return err
		}
	}
	return nil
}

// historyDocument is the document of `state history -json`.
type historyDocument struct {
	Format string         `json:"format_version"`
	States []pastDocument `json:"states"`
}

type pastDocument struct {
	Serial    jsondoc.Serial  `json:"serial"`
	Lineage   string          `json:"lineage"`
	Time      string          `json:"time,omitempty"`
	Present   bool            `json:"present"`
	Who       string          `json:"who,omitempty"`
	Operation string          `json:"operation,omitempty"`
	Overrides []string        `json:"allow_destroy,omitempty"`
	Changes   *countsDocument `json:"changes,omitempty"`
}

type countsDocument struct {
	Added   int `json:"added"`
	Changed int `json:"changed"`
	Removed int `json:"removed"`
}

// HistoryJSON writes a list of states as one line of JSON, in the form of historyDocument, and returns the error of w.
// The first state is marked as the current one. Times are in RFC 3339 and UTC, and "" if unknown.
func HistoryJSON(w io.Writer, states []store.Past) error {
	doc := historyDocument{Format: "1.0", States: []pastDocument{}}
	for i, p := range states {
		d := pastDocument{jsondoc.Serial(p.Serial), p.Lineage, "", i == 0, p.Who, store.ShortOperation(p.Operation), p.Overridden, nil}
		if !p.Time.IsZero() {
			d.Time = p.Time.UTC().Format(time.RFC3339Nano)
		}
		if c := p.Counts; c != nil {
			d.Changes = &countsDocument{c.Added, c.Changed, c.Removed}
		}
		doc.States = append(doc.States, d)
	}
	return jsondoc.Write(w, doc, jsondoc.OneLine)
}
