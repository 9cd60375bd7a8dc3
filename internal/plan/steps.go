package plan

import (
	"fmt"

	"github.com/lethe-iac/lethe/internal/walk"
)

// Kind tells what a step does.
type Kind uint8

// The kinds of steps.
const (
	Gate             Kind = iota // a step without work: it replaces many edges of the graph by few
	Up                           // the up of an object: creates, updates or reads it
	Down                         // the down of an object: destroys or forgets it
	Provision                    // runs a provisioner after an object's up
	DestroyProvision             // runs a provisioner before an object's down
	HoldUp                       // begins a session of a hold: configures a provider or opens an ephemeral resource
	HoldDown                     // ends a session of a hold: stops the provider or closes the ephemeral resource
	Invoke                       // invokes an action around an object's up
	DestroyInvoke                // invokes an action around an object's down
)

// Face selects the values with which a step works: the prior values (Before) or the planned values (After).
type Face uint8

// The faces of a hold: Before has the prior settings, After the planned settings.
const (
	Before Face = iota
	After
)

// Step is one unit of work of an apply.
type Step struct {
	Kind  Kind
	Face  Face   // for HoldUp and HoldDown: the face of the settings; for a down: the face of the provider's settings
	Part  uint16 // index of the provisioner or of the action among the steps of the same kind of the object
	Lazy  bool   // the step runs only if a step that needs it waits for nothing else
	Index int32  // index of the object or the hold in Input; 0 for gates
}

// Steps has the steps of an apply, and for each step the steps that must run before it.
type Steps struct {
	List []Step

	First    []bool   // by object: it has a down that comes after the ups (create-first)
	FirstFor []Vertex // by object: the group that made it create-first; -1 without such a group, or if it is the group of the object

	// CreateFirst has, by group, whether create_before_destroy is set for the group, or for a group that depends on it
	// in the configuration. The state stores this with the objects of the group.
	CreateFirst []bool

	// Cyclic are the sets of groups and gates whose dependencies in the state are cyclic. The dependencies in the state
	// inside a set do not order its members.
	Cyclic [][]Vertex

	start []uint32 // the predecessors of step i are deps[start[i]:start[i+1]], each as 2×step, plus 1 for a need
	deps  []uint32
	name  func(hold bool, index int32) string
}

// Graph returns the graph that an apply walks. Its nodes are the steps, in the order of List. The ends of sessions
// (HoldDown) are closers, which run even if other steps fail. A cycle in the graph would be a bug of Order.
func (s *Steps) Graph() *walk.Graph {
	g := &walk.Graph{}
	g.Reserve(len(s.List), len(s.deps))
	for _, step := range s.List {
		if step.Kind == Gate {
			g.Gate(walk.Options{Lazy: step.Lazy})
		} else {
			g.Add(walk.Options{Lazy: step.Lazy, Closer: step.Kind == HoldDown})
		}
	}
	for n := range s.List {
		for _, d := range s.deps[s.start[n]:s.start[n+1]] {
			if d&1 != 0 {
				g.Needs(walk.Node(n), walk.Node(d>>1))
			} else {
				g.Waits(walk.Node(n), walk.Node(d>>1))
			}
		}
	}
	return g
}

// Label returns the name of a step: +A and -A for the up and the down of the object A, +P and -P for the start and the
// end of a session of the hold P, +P' and -P' for a session with the prior settings of P, +A.1 for the first
// provisioner after the up of A, -A.1 for the first before its down, +A!1 and -A!1 for the first action around its up
// and its down, and the number of the step, such as (7), for a gate.
func (s *Steps) Label(step int) string {
	x := s.List[step]
	if x.Kind == Gate {
		return fmt.Sprintf("(%d)", step)
	}
	hold := x.Kind == HoldUp || x.Kind == HoldDown
	name := fmt.Sprint(x.Index)
	if s.name != nil {
		name = s.name(hold, x.Index)
	}
	switch x.Kind {
	case Down, DestroyProvision, DestroyInvoke, HoldDown:
		name = "-" + name
	default:
		name = "+" + name
	}
	switch {
	case hold && x.Face == Before:
		name += "'"
	case x.Kind == Provision || x.Kind == DestroyProvision:
		name += fmt.Sprintf(".%d", x.Part+1)
	case x.Kind == Invoke || x.Kind == DestroyInvoke:
		name += fmt.Sprintf("!%d", x.Part+1)
	}
	return name
}
