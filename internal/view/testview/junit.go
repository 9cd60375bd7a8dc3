package testview

import (
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/suite"
	"github.com/lethe-iac/lethe/internal/view"
)

// These types are the JUnit format: a suite for each file, and a case for each run.

type testSuites struct {
	XMLName xml.Name    `xml:"testsuites"`
	Suites  []testSuite `xml:"testsuite"`
}

type testSuite struct {
	Name     string     `xml:"name,attr"`
	Tests    int        `xml:"tests,attr"`
	Skipped  int        `xml:"skipped,attr"`
	Failures int        `xml:"failures,attr"`
	Errors   int        `xml:"errors,attr"`
	Cases    []testCase `xml:"testcase"`
}

type testCase struct {
	Name      string   `xml:"name,attr"`
	Class     string   `xml:"classname,attr"`
	Time      string   `xml:"time,attr,omitempty"` // seconds
	Timestamp string   `xml:"timestamp,attr,omitempty"`
	Skipped   *outcome `xml:"skipped"`
	Failure   *outcome `xml:"failure"`
	Error     *outcome `xml:"error"`
	Stderr    *body    `xml:"system-err"`
}

type outcome struct {
	Message string `xml:"message,attr,omitempty"`
	Text    string `xml:",cdata"`
}

type body struct {
	Text string `xml:",cdata"`
}

// WriteJUnit writes the results of all files in the JUnit format. It returns the error of w.
func WriteJUnit(w io.Writer, files []*suite.File, o Options) error {
	o.Color, o.Plain, o.Width = false, true, 79
	doc := testSuites{}
	for _, f := range files {
		s := testSuite{Name: f.Name, Tests: len(f.Runs)}
		for _, r := range f.Runs {
			switch r.Status {
			case suite.Skip, suite.Pending:
				s.Skipped++
			case suite.Fail:
				s.Failures++
			case suite.Error:
				s.Errors++
			}
			s.Cases = append(s.Cases, o.testCase(f, r))
		}
		doc.Suites = append(doc.Suites, s)
	}
	text, err := xml.MarshalIndent(doc, "", "  ")
	if err == nil {
		_, err = io.WriteString(w, `<?xml version="1.0" encoding="UTF-8"?>`+string(text))
	}
	return err
}

// noCharacters replaces characters that XML does not permit, even if they are escaped. Control characters are already
// escaped.
var noCharacters = strings.NewReplacer("\ufffe", "\ufffd", "\uffff", "\ufffd")

func (o Options) testCase(f *suite.File, r *suite.Run) testCase {
	c := testCase{Name: r.Name, Class: f.Name}
	if !r.Began.IsZero() {
		c.Time = strconv.FormatFloat(r.Took.Seconds(), 'f', -1, 64)
		c.Timestamp = r.Began.UTC().Format(time.RFC3339)
	}
	var errors, warnings strings.Builder
	for _, d := range o.Silence.Filter(r.Diags) {
		to := &errors
		if d.Severity == diag.Warning {
			to = &warnings
		}
		_, _ = noCharacters.WriteString(to, view.DiagnosticText(d, o.Options))
	}
	switch r.Status {
	case suite.Skip, suite.Pending:
		c.Skipped = o.skipped(r)
	case suite.Fail:
		c.Failure = &outcome{o.failure(r), errors.String()}
	case suite.Error:
		c.Error = &outcome{"Encountered an error", errors.String()}
	}
	if warnings.Len() > 0 {
		c.Stderr = &body{warnings.String()}
	}
	return c
}

// skipped returns the reason why a run was skipped.
func (o Options) skipped(r *suite.Run) *outcome {
	if r.Because == nil {
		return &outcome{"Testcase skipped due to an interrupt", o.Name() + " received an interrupt and stopped gracefully. This caused all remaining testcases to be skipped"}
	}
	return &outcome{"Testcase skipped due to a previous testcase error", fmt.Sprintf("Previous testcase %q ended in error, which caused the remaining tests in the file to be skipped", r.Because.Name)}
}

// failure returns a text about the assertions that failed.
func (o Options) failure(r *suite.Run) string {
	if len(r.Messages) == 0 {
		return "Test run failed"
	}
	what := ""
	if len(r.Messages) > 1 {
		what = ", including"
	}
	text := fmt.Sprintf("%d of %d assertions failed%s: %s", r.Failed, len(r.Asserts), what, r.Messages[0])
	if o.ScrubMessage != nil {
		text = o.ScrubMessage(text)
	}
	return o.Free(text)
}
