package view

import (
	"io"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/view/jsondoc"
)

// validateDocument is the result of `validate -json`, format 1.0.
type validateDocument struct {
	Format      string               `json:"format_version"`
	Valid       bool                 `json:"valid"`
	Errors      int                  `json:"error_count"`
	Warnings    int                  `json:"warning_count"`
	Silenced    any                  `json:"silenced_warnings,omitempty"` // numbers by code; not in Terraform
	Diagnostics []jsondoc.Diagnostic `json:"diagnostics"`
}

// WriteValidateJSON writes the result of `validate -json`, indented for people. It omits the warnings that o.Silence
// hides, reads source lines from o.Sources, masks messages with o.ScrubMessage, and all strings with o.Scrub.
func WriteValidateJSON(w io.Writer, ds []diag.Diagnostic, o Options) error {
	doc := validateDocument{Format: formatValidate}
	ds = o.Silence.Filter(ds)
	if counts := o.Silence.Take(); len(counts) > 0 {
		doc.Silenced = jsondoc.Members(counts, func(n int) int { return n })
	}
	for _, d := range ds {
		if d.Severity == diag.Error {
			doc.Errors++
		}
		doc.Diagnostics = append(doc.Diagnostics, jsondoc.DiagnosticOf(o.named(d), o.Sources))
	}
	doc.Valid, doc.Warnings = doc.Errors == 0, len(ds)-doc.Errors
	return jsondoc.WriteScrubbed(w, doc, jsondoc.LaidOut, o.Scrub)
}

// DiagnosticDocument returns a diagnostic with masked messages, for a JSON document or for a line of -json.
func DiagnosticDocument(d diag.Diagnostic, o Options) jsondoc.Diagnostic {
	return jsondoc.DiagnosticOf(o.named(d), o.Sources)
}
