package combine

// explained leaves out of what differs from Terraform what differs on purpose: each rule is a row of
// docs/differences.md, or a fault of Terraform that Lethe does not share, and names its reason.
func explained(found []Finding, s *Scenario, st *Step, a, b *Outcome) []Finding {
	return found
}
