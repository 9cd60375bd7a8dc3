package testview

import (
	"bytes"
	"encoding/xml"
	"io"
	"testing"

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
