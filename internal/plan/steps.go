package plan

import (
	"fmt"

	"github.com/lethe-iac/lethe/internal/walk"
)

// Kind is the kind of work of a step.
type Kind uint8

// The kinds of steps.
const (
	Gate             Kind = iota // does nothing, and saves edges
	Up                           // brings an object up
	Down                         // takes an object down
	Provision                    // runs a provisioner after an object's up
	DestroyProvision             // runs a provisioner before an object's down
	HoldUp                       // begins a session of a hold
	HoldDown                     // ends a session of a hold
	Invoke                       // invokes an action around an object's up
	DestroyInvoke                // invokes an action around an object's down
)

// Face selects the values that serve a step: the prior values or the planned values.
type Face uint8

// The faces.
const (
	Before Face = iota
	After
)

// Step is one unit of work.
type Step struct {
	Kind  Kind
	Face  Face   // for a session: its face; for a down: the face of the session that it works through
	Part  uint16 // index among the object's provisioners, or among the actions around the up or the down
	Lazy  bool   // runs only if a step that needs it waits for nothing else
	Index int32  // the object or hold; 0 for gates
}

// Steps are the steps of a plan with their order.
type Steps struct {
	List []Step

	First    []bool   // by object: it goes down, and is create-first
	FirstFor []Vertex // by object: the group that made it create-first; -1 if none or its own group

	// CreateFirst is true for groups that are create-first as declared, by their own setting or through dependents. The
	// state stores it with their objects.
	CreateFirst []bool

	// Cyclic are the sets of groups and gates whose recorded dependencies are cyclic. The recorded dependencies inside
	// a set do not order its members.
	Cyclic [][]Vertex

	start []uint32 // the predecessors of step i are deps[start[i]:start[i+1]], each as 2×step, plus 1 for a need
	deps  []uint32
	name  func(hold bool, index int32) string
}

// Graph returns the graph to walk. Its nodes are the steps, in the same order. The ends of sessions wait and are
// closers, so that they run even if other steps fail. A cycle in the graph is a bug of Order.
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

// Label returns the name of a step: +A and -A for the up and down of A, +P and -P for the begin and the end of a
// session of P, +P' and -P' if it is a before session, +A.1 for the first provisioner after the up of A, -A.1 for the
// first before its down, +A!1 and -A!1 for the first action around its up and its down, and the number of the step,
// such as (7), for a gate.
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
