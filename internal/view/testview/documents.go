package testview

import (
	"bytes"
	"slices"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/suite"
	"github.com/lethe-iac/lethe/internal/view"
)

// Documents returns the texts in which the test command searches for the secrets of expect_no_leak. They are the state
// after the run in its stored form, the plan of each round (plan and apply) as in show -json, the text that a person
// would see without colors, and the log. The text for people shows the state, the plans and the diagnostics of the run,
// which the parameter reported has. The name of a text completes the message "was found in". Documents omits the state
// of a run without an apply, and a state or a plan that cannot be encoded.
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
