package plan

import (
	"fmt"

	"github.com/lethe-iac/lethe/internal/walk"
)

// Kind is what a step does.
type Kind uint8

// The kinds of steps.
const (
	Gate             Kind = iota // nothing: it saves edges
	Up                           // brings an object up
	Down                         // takes an object down
	Provision                    // runs a provisioner after an object's up
	DestroyProvision             // runs a provisioner before an object's down
	HoldUp                       // begins a session of a hold
	HoldDown                     // ends it
)

// Face is which values serve a step: those of what is there, or of what will be.
type Face uint8

// The faces.
const (
	Before Face = iota
	After
)

// Step is one thing to do.
type Step struct {
	Kind  Kind
	Face  Face   // of a session; of a down, that of the session it works through
	Part  uint16 // which of the object's provisioners
	Late  bool   // only when something that needs it waits for nothing else
	Index int32  // the object or hold; 0 of gates
}

// Steps are what a plan does, and in which order.
type Steps struct {
	List []Step

	First    []bool   // by object: it goes down, and create-first
	FirstFor []Vertex // by object: the group that made it so; -1 if none or it itself

	// CreateFirst says by group whether it is create-first as declared, by itself or through what
	// depends on it: that is what the state is to remember of its objects.
	CreateFirst []bool

	// Cyclic are the sets of groups and gates whose recorded dependencies form cycles. They are
	// not ordered among themselves by what is recorded.
	Cyclic [][]Vertex

	start []uint32 // what step i comes after is deps[start[i]:start[i+1]], twice a step plus 1 for a need
	deps  []uint32
	name  func(hold bool, index int32) string
}

// Graph is the graph to walk; its nodes are the steps, in order. Ends of sessions wait and are
// closers, so that they come though others failed. A cycle in it would be a bug of Order.
func (s *Steps) Graph() *walk.Graph {
	g := &walk.Graph{}
	g.Reserve(len(s.List), len(s.deps))
	for _, step := range s.List {
		if step.Kind == Gate {
			g.Gate(walk.Options{Late: step.Late})
		} else {
			g.Add(walk.Options{Late: step.Late, Closer: step.Kind == HoldDown})
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

// Label names a step: +A and -A for up and down, P' for a before session, +A.1 for what provisions
// A after its up, -A.1 for what does so before its down.
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
	case Down, DestroyProvision, HoldDown:
		name = "-" + name
	default:
		name = "+" + name
	}
	switch {
	case hold && x.Face == Before:
		name += "'"
	case x.Kind == Provision || x.Kind == DestroyProvision:
		name += fmt.Sprintf(".%d", x.Part+1)
	}
	return name
}
