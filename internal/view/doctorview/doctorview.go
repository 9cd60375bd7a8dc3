// Package doctorview shows the findings of the command doctor, which checks the surroundings of Lethe.
package doctorview

import (
	"fmt"
	"io"
	"strings"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/view"
	"github.com/lethe-iac/lethe/internal/view/jsondoc"
)

// Level is the severity of a finding.
type Level string

// The levels.
const (
	OK      Level = "ok"
	Note    Level = "note"    // useful information, no problem
	Problem Level = "problem" // something is wrong
)

// Finding is one fact about the surroundings of the program.
type Finding struct {
	Level  Level
	Area   string // the subject, such as "locks"
	Text   string // the finding as sentences
	Action string // the advice to the user, as a sentence; "": the user need not act
}

// Findings are the findings of all checks, in the order in which they are printed.
type Findings []Finding

// Problems returns the number of problems.
func (list Findings) Problems() int {
	n := 0
	for _, f := range list {
		if f.Level == Problem {
			n++
		}
	}
	return n
}

// Text writes one line for each finding, and at the end the number of problems. It returns the first error of w.
func (list Findings) Text(w io.Writer) error {
	width := 0
	for _, f := range list {
		width = max(width, len(f.Area))
	}
	for _, f := range list {
		line := fmt.Sprintf("%-7s  %-*s  %s", f.Level, width, f.Area, strings.Join(strings.Fields(f.Text+" "+f.Action), " "))
		if _, err := fmt.Fprintln(w, view.EscapeLine(line)); err != nil {
			return err
		}
	}
	end := "No problem was found."
	if n := list.Problems(); n > 0 {
		end = diag.Counted(n, "problem was", "problems were") + " found."
	}
	_, err := fmt.Fprintf(w, "\n%s\n", end)
	return err
}

type document struct {
	Format   string            `json:"format_version"`
	Problems int               `json:"problems"`
	Findings []findingDocument `json:"findings"`
}

type findingDocument struct {
	Level  Level  `json:"level"`
	Area   string `json:"area"`
	Text   string `json:"text"`
	Action string `json:"action,omitempty"`
}

// JSON writes the findings as one line of JSON, in the form of the type document, and returns the error of w.
func (list Findings) JSON(w io.Writer) error {
	doc := document{Format: "1.0", Problems: list.Problems(), Findings: []findingDocument{}}
	for _, f := range list {
		doc.Findings = append(doc.Findings, findingDocument(f))
	}
	return jsondoc.Write(w, doc, jsondoc.OneLine)
}
