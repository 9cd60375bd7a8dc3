package base

import "github.com/lethe-iac/lethe/internal/diag"

// JSONFlag registers -json.
func (c *Call) JSONFlag() { c.Flags.BoolVar(&c.View.JSON, "json", false, "Print for programs.") }

// StreamFlags registers -json and -json-into, of a command whose JSON is a stream.
func (c *Call) StreamFlags() {
	c.JSONFlag()
	c.Flags.StringVar(&c.View.JSONInto, "json-into", "", "Write the JSON stream to this `file` as well.")
}

// SensitiveFlag registers -show-sensitive.
func (c *Call) SensitiveFlag() {
	c.Flags.BoolVar(&c.View.ShowSecrets, "show-sensitive", false, "Show sensitive values.")
}

// GatherFlags registers the flags that say whether diagnostics that say the same are shown as one.
func (c *Call) GatherFlags() {
	c.Flags.BoolVar(&c.View.gatherWarnings, "consolidate-warnings", true, "Show similar warnings as one.")
	c.Flags.BoolVar(&c.View.gatherErrors, "consolidate-errors", true, "Show similar errors as one.")
}

// apart are the severities of which everything is shown by itself.
func (f *ViewFlags) apart() []diag.Severity {
	var out []diag.Severity
	if !f.gatherWarnings {
		out = append(out, diag.Warning)
	}
	if !f.gatherErrors {
		out = append(out, diag.Error)
	}
	return out
}
