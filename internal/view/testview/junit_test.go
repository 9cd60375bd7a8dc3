package testview

import (
	"bytes"
	"encoding/xml"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/config/testfile"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/suite"
	"github.com/lethe-iac/lethe/internal/view"
)

// TestJUnitIsXML checks that a report is well-formed XML, also if a message contains characters that XML forbids.
func TestJUnitIsXML(t *testing.T) {
	const odd = "a\x01b\x1b[31m ]]> & < \ufffe\uffff"
	r := &suite.Run{Run: &testfile.Run{Name: "r"}, Status: suite.Fail, Messages: []string{odd}, Failed: 1, Diags: []diag.Diagnostic{diag.Errorf("Test assertion failed", "%s", odd), diag.Warningf("Odd", "%s", odd)}}
	var b bytes.Buffer
	o := Options{Options: view.Options{Sources: &diag.Sources{}}}
	if err := WriteJUnit(&b, []*suite.File{{File: &testfile.File{Name: "f"}, Runs: []*suite.Run{r}}}, o); err != nil {
		t.Fatal(err)
	}
	for d := xml.NewDecoder(&b); ; {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// TestReportsMaskMessages checks that all reports mask the titles and details of diagnostics and the messages of
// assertions, if objects may show a value but messages may not.
func TestReportsMaskMessages(t *testing.T) {
	const canary = "canary-5d2e-region"
	f := &suite.File{File: &testfile.File{Name: "f"}}
	r := &suite.Run{
		Run: &testfile.Run{Name: "r"}, File: f, Status: suite.Fail, Messages: []string{"bad " + canary, "more"}, Failed: 2,
		Diags: []diag.Diagnostic{diag.Errorf("No region "+canary, "There is no %s.", canary)},
	}
	f.Runs = []*suite.Run{r}
	o := Options{Options: view.Options{Sources: &diag.Sources{}, Now: time.Now, ScrubMessage: func(s string) string { return strings.ReplaceAll(s, canary, "(sensitive value)") }}}
	var b bytes.Buffer
	if err := WriteJUnit(&b, []*suite.File{f}, o); err != nil {
		t.Fatal(err)
	}
	(&JSON{O: o, Out: view.NewJSON(&b, "1", o.Options)}).Run(r, suite.Complete)
	(&Text{O: o, Out: view.NewHuman(&b, &b, o.Options)}).Run(r, suite.Complete)
	if text := b.String(); strings.Contains(text, canary) || strings.Count(text, "No region (sensitive value)") != 4 || !strings.Contains(text, "including: bad (sensitive value)") {
		t.Error(text)
	}
}
