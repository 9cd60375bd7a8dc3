package state

import (
	"fmt"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
)

// Near returns a hint for the message about a target that has no objects: " Did you mean …?" with a similar address, or
// "".
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

// NearInstance is like Near, for an instance without a current object. If the instance has deposed objects, the hint
// says that the next apply destroys them. If other instances of its resource exist, the hint lists them.
func (s *Snapshot) NearInstance(i addr.Instance) string {
	var there, names []string
	for o := range s.Resource(i.Abs()).Objects() {
		switch {
		case o.Instance == i:
			return " It has only deposed objects, which the next apply destroys."
		case !o.IsDeposed():
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

// targetText returns a target in the form in which the user wrote it, without the instance keys that the user omitted.
func targetText(t addr.Target) string {
	if t.Mode == 0 {
		return t.AsModule().String()
	}
	return t.AsInstance().String()
}
