package combine

import (
	"fmt"
	"os"
	"slices"
)

// Play runs a scenario and judges it. It stops at the first step with a finding: what comes after
// follows from it.
func (l *Lab) Play(s *Scenario) ([]Finding, error) {
	found, _, err := l.play(s)
	return found, err
}

func (l *Lab) play(s *Scenario) ([]Finding, []*Outcome, error) {
	if err := os.RemoveAll(l.Dir); err != nil {
		return nil, nil, err
	}
	x, err := l.side("lethe", l.Lethe, s)
	if err != nil {
		return nil, nil, err
	}
	defer x.close()
	var y *side
	if l.Terraform != "" && !s.Alone {
		if y, err = l.side("terraform", l.Terraform, s); err != nil {
			return nil, nil, err
		}
		defer y.close()
	}
	var outcomes []*Outcome
	for n, st := range slices.Concat(s.Steps, []*Step{s.last()}) {
		a, err := x.step(st)
		if err != nil {
			return nil, nil, fmt.Errorf("step %d: %w", n+1, err)
		}
		outcomes = append(outcomes, a)
		found := x.judge(n, st, a)
		if y != nil {
			b, err := y.step(st)
			if err != nil {
				return nil, nil, fmt.Errorf("step %d of Terraform: %w", n+1, err)
			}
			left, apart := explained(beside(x, y, a, b), s, st, a, b)
			found = append(found, findings(n, left)...)
			if apart && len(found) == 0 {
				return nil, outcomes, nil
			}
		}
		if n == len(s.Steps) {
			found = append(found, x.emptied(n, s, a)...)
		}
		found = slices.DeleteFunc(found, func(f Finding) bool { return l.Ignore != nil && l.Ignore.MatchString(f.Class) })
		if len(found) > 0 {
			return found, outcomes, nil
		}
	}
	return nil, outcomes, nil
}

// last destroys everything.
func (s *Scenario) last() *Step {
	st := &Step{Config: &Module{}}
	if len(s.Steps) > 0 {
		last := s.Steps[len(s.Steps)-1]
		st.Config, st.Do.Process = last.Config, last.Do.Process
	}
	st.Do.Apply, st.Do.Direct, st.Do.Destroy = true, true, true
	return st
}

// emptied is what destroy must leave behind: nothing.
func (x *side) emptied(n int, s *Scenario, o *Outcome) []Finding {
	if o.Apply == nil || o.Apply.Exit != 0 {
		return nil
	}
	var found []Finding
	o.After.managed(func(r *StateResource, i *StateInstance) {
		found = append(found, Finding{n, "destroy leaves something in the state", i.addr(r)})
	})
	for _, c := range o.Objects {
		if !x.foreign[c.ID] {
			found = append(found, Finding{n, "destroy leaves an object", c.ID})
		}
	}
	return found
}
