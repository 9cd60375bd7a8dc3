package combine

import (
	"fmt"
	"os"
	"slices"

	"github.com/lethe-iac/lethe/test/combine/cloud"
)

// Play runs a scenario and judges it. It returns the findings of the first step that has any, because later findings
// may follow from them. An error means that the scenario could not be run. Play removes the directory of the lab first.
func (l *Lab) Play(s *Scenario) ([]Finding, error) {
	found, _, err := l.play(s)
	return found, err
}

// play is Play, and also returns the outcomes of Lethe's steps.
func (l *Lab) play(s *Scenario) ([]Finding, []*Outcome, error) {
	if err := os.RemoveAll(l.Dir); err != nil {
		return nil, nil, err
	}
	x, err := l.side("lethe", l.Lethe)
	if err != nil {
		return nil, nil, err
	}
	defer x.close()
	var y *side
	other := peer
	switch {
	case l.Terraform != "" && !s.Alone:
		y, err = l.side("terraform", l.Terraform)
	case s.Twice:
		other = twin
		y, err = l.side(twin, l.Lethe)
	}
	if err != nil {
		return nil, nil, err
	}
	if y != nil {
		defer y.close()
	}
	var outcomes []*Outcome
	known := map[string]bool{}
	for n, st := range slices.Concat(s.Steps, []*Step{s.last()}) {
		a, err := x.step(st)
		if err != nil {
			return nil, nil, fmt.Errorf("step %d: %w", n+1, err)
		}
		outcomes = append(outcomes, a)
		found := x.judge(n, st, a)
		if y != nil && other == twin && (st.Do.Process || len(st.Faults) > 0) {
			y.close() // the twin (a second Lethe) ends here, because a fault may hit another of its calls
			y = nil
		}
		if y != nil {
			b, err := y.step(st.as(other))
			if err != nil {
				return nil, nil, fmt.Errorf("step %d of %s: %w", n+1, other, err)
			}
			left, apart := beside(x, y, a, b), false
			if other == twin && a.rounds() != b.rounds() {
				left, apart = nil, true // only the side that applied directly has made the changes of later rounds
			}
			if other == peer {
				left, apart = explained(left, st, a, b, known)
				if st.fault(cloud.Crash, cloud.Lost) { // which other calls were in progress at a crash of the provider is random
					left, apart = nil, true
				}
			}
			found = append(found, findings(n, left, other)...)
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

// The peers of a scenario are Terraform or the twin. The twin is Lethe, which applies directly if the scenario saves a
// plan, and saves a plan if the scenario applies directly.
const (
	peer = "Terraform"
	twin = "twin"
)

// as returns the step for the other side: the same step for Terraform, and a changed copy for the twin.
func (st *Step) as(other string) *Step {
	if other == peer {
		return st
	}
	c := *st
	c.Do.Direct = !st.Do.Direct
	return &c
}

// last returns a step that destroys everything, with the configuration of the last step.
func (s *Scenario) last() *Step {
	st := &Step{Config: &Module{}}
	if len(s.Steps) > 0 {
		last := s.Steps[len(s.Steps)-1]
		st.Config, st.Do.Process = last.Config, last.Do.Process
	}
	st.Do.Apply, st.Do.Direct, st.Do.Destroy = true, true, true
	return st
}

// emptied checks that a successful destroy leaves no object in the state, and no object in the cloud that the engine
// managed.
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
