package testview

import (
	"bytes"
	"slices"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/suite"
	"github.com/lethe-iac/lethe/internal/view"
)

// Documents returns the texts that a run of a test produces: its state in the stored form, its plans in the form for
// programs, its output for people, and its log. reported has the diagnostics of the run. Documents omits a state or a
// plan that cannot be encoded.
func Documents(r *suite.Run, reported []diag.Diagnostic, o Options) []suite.Document {
	var out []suite.Document
	add := func(name string, text []byte, err error) {
		if err == nil {
			out = append(out, suite.Document{Name: name, Text: string(text)})
		}
	}
	o.Color = false
	var shown bytes.Buffer
	if r.State != nil {
		text, err := r.State.Bytes()
		add("the state", text, err)
		view.StateText(&shown, r.State, o.Schemas, o.Options)
	}
	plans := r.Earlier
	if r.Planned != nil {
		plans = append(slices.Clone(plans), r.Planned)
	}
	for _, p := range plans {
		var b bytes.Buffer
		err := view.WritePlanJSON(&b, p, r.Program(), o.Schemas, nil, o.Version)
		add("the plan", b.Bytes(), err)
		h := view.NewHuman(&shown, &shown, o.Options)
		h.Plan(p, view.PlanOptions{Applying: true, Schemas: o.Schemas})
		h.Finish()
	}
	for _, d := range reported {
		shown.WriteString(view.DiagnosticText(d, o.Options))
	}
	add("what is shown", shown.Bytes(), nil)
	add("the log", []byte(r.Log), nil)
	return out
}
