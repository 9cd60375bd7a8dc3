package state

// overriddenKey is a top-level key of a state file. Terraform and OpenTofu ignore it.
const overriddenKey = "lethe_allow_destroy"

// Overridden returns the addresses of the protected objects that the last run destroyed because the option
// -allow-destroy named them.
func (s *Snapshot) Overridden() []string { return s.list(overriddenKey) }

// WithOverridden returns the snapshot with the list that Overridden returns. A nil list removes the key.
func (s *Snapshot) WithOverridden(list []string) *Snapshot { return s.withList(overriddenKey, list) }
