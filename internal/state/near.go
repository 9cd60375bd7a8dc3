package state

import (
	"fmt"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
)

// Near returns the end of the message about a target without objects: the address that was likely meant.
func (s *Snapshot) Near(t addr.Target) string {
	if t.Mode != 0 {
		return s.NearInstance(t.AsInstance())
	}
	var names []string
	for _, r := range s.Resources() {
		names = append(names, r.Addr.Module.String(), r.Addr.Module.Module().String())
	}
	return diag.DidYouMean(targetText(t), names)
}

// NearInstance is Near for an instance: the instances of its resource, or another address.
func (s *Snapshot) NearInstance(i addr.Instance) string {
	var there, names []string
	for o := range s.Resource(i.Abs()).Objects() {
		if !o.IsDeposed() {
			there = append(there, o.Instance.String())
		}
	}
	if len(there) > 0 {
		return fmt.Sprintf(" The state has %s.", diag.Some(there))
	}
	for o := range s.Objects() {
		names = append(names, o.Instance.String(), o.Instance.Abs().String())
	}
	return diag.DidYouMean(i.String(), names)
}

// targetText is a target as written, keys left out staying out.
func targetText(t addr.Target) string {
	if t.Mode == 0 {
		return t.AsModule().String()
	}
	return t.AsInstance().String()
}
