package plan

// firsts records which objects and groups (resources in one module instance) are create-first: a replacement creates
// the new object before it destroys the old object. An up creates, updates or reads an object. A down destroys or
// forgets it.
type firsts struct {
	object []bool   // by object: the object has a down, which comes after the ups
	cause  []Vertex // by object: the group whose create_before_destroy made the object create-first; -1 without such a group, or if it is the group of the object
	group  []bool   // by group: create_before_destroy is set for the group, or for a group that depends on it in the configuration
}

// spreading is the computation that extends create-first from objects and groups to their dependencies. A vertex is a
// group or a gate; a gate is a local, a variable or an output, or a resource in all its module instances. A hold is a
// provider instance or an ephemeral resource. The sources of a hold are the objects to which its settings refer.
type spreading struct {
	*problem
	firsts
	by     []Vertex  // by group: the group whose create_before_destroy made the group create-first; -1 without such a group, or if it is the group itself
	passed [2][]bool // by direction and vertex: the dependencies of the vertex have been reached
	held   [2][]bool // by direction and hold: the sources of its settings have been reached
	queue  []passing // vertices whose dependencies have yet to be reached
}

// These are the two kinds of references along which create-first spreads: references in the configuration and
// references in the state.
const (
	asDeclared = iota
	asRecorded
)

// passing is an entry of the queue: a vertex (the field from) whose dependencies become create-first, and the group
// (cause) that made this vertex create-first. direction is asDeclared or asRecorded.
type passing struct {
	from, cause Vertex
	direction   int
}

// spread finds the objects and groups that are create-first. Create-first spreads in two ways:
//
//   - along declared references, from groups that set create_before_destroy, even if the plan changes none of their
//     objects. The order of replacements depends on the result, and the state stores it;
//   - along recorded references, from the objects whose downs come last. A dependency must not go down before its
//     dependents.
//
// Deposed objects and the objects in extra are create-first. An object that goes down without an up is create-first if
// it is stored as create-first.
func (p *problem) spread(extra []int32) firsts {
	s := &spreading{problem: p, by: make([]Vertex, len(p.Groups))}
	for direction := range s.passed {
		s.passed[direction], s.held[direction] = make([]bool, p.vertices), make([]bool, len(p.Holds))
	}
	s.object, s.cause, s.group = make([]bool, len(p.Objects)), make([]Vertex, len(p.Objects)), make([]bool, len(p.Groups))
	for o := range s.cause {
		s.cause[o] = -1
	}
	for g := range p.Groups {
		if p.Groups[g].Declared && p.Groups[g].CreateFirst {
			s.declare(Vertex(g), -1)
		}
	}
	s.drain()
	for o := range p.Objects {
		switch x := &p.Objects[o]; {
		case x.Deposed, !x.Up && x.CreateFirst:
			s.last(int32(o), -1)
		case x.Up && s.group[x.Group]:
			s.last(int32(o), s.by[x.Group])
		}
	}
	for _, o := range extra {
		s.last(o, -1)
	}
	s.drain()
	return s.firsts
}

// declare makes the group g create-first in the configuration, and extends this to the sources of the holds that its
// objects use. cause is the group that made g create-first, or -1 if g itself sets create_before_destroy.
func (s *spreading) declare(g, cause Vertex) {
	if s.group[g] {
		return
	}
	s.group[g], s.by[g] = true, cause
	if cause < 0 {
		cause = g
	}
	s.queue = append(s.queue, passing{g, cause, asDeclared})
	for _, o := range s.objects(g) {
		x := &s.Objects[o]
		s.holds(x.UpHolds, cause, asDeclared)
		s.holds(x.DownHolds, cause, asDeclared)
		if x.Provisioners != nil {
			s.holdsOf(x.Provisioners.Ups(), cause, asDeclared)
			s.holdsOf(x.Provisioners.Downs(), cause, asDeclared)
		}
	}
}

// last makes the object o create-first if it has a down: the down comes after the ups. cause is the group that made it
// create-first, or -1.
func (s *spreading) last(o int32, cause Vertex) {
	x := &s.Objects[o]
	if s.object[o] || !x.Down {
		return
	}
	s.object[o], s.cause[o] = true, cause
	if cause < 0 {
		cause = x.Group
	}
	s.queue = append(s.queue, passing{x.Group, cause, asRecorded})
	s.holds(x.DownHolds, cause, asRecorded)
	if x.Provisioners != nil {
		s.holdsOf(x.Provisioners.Downs(), cause, asRecorded)
	}
}

func (s *spreading) holdsOf(steps [][]int32, cause Vertex, direction int) {
	for _, ks := range steps {
		s.holds(ks, cause, direction)
	}
}

func (s *spreading) holds(ks []int32, cause Vertex, direction int) {
	for _, k := range ks {
		if s.held[direction][k] {
			continue
		}
		s.held[direction][k] = true
		for _, r := range s.Holds[k].Settings {
			s.made(r.To, cause, direction)
		}
		s.holds(s.Holds[k].Over, cause, direction)
	}
}

// made extends create-first to v, to which the settings of a hold refer, because an object that uses the hold is
// create-first. direction is asDeclared or asRecorded: the kind of references along which the search has reached the
// hold.
func (s *spreading) made(v, cause Vertex, direction int) {
	switch {
	case direction == asDeclared && s.isGate(v):
		s.queue = append(s.queue, passing{v, cause, direction})
	case direction == asDeclared:
		s.declare(v, cause)
	case !s.isGate(v):
		s.allLast(v, cause)
	case !s.passed[direction][v]: // v is a gate of configuration references, so passed is unused for the other direction
		s.passed[direction][v] = true
		for _, e := range s.declared.Of(v) {
			s.made(e.To, cause, direction)
		}
	}
}

func (s *spreading) allLast(g, cause Vertex) {
	for _, o := range s.objects(g) {
		s.last(o, cause)
	}
}

func (s *spreading) drain() {
	for len(s.queue) > 0 {
		x := s.queue[0]
		s.queue = s.queue[1:]
		if s.passed[x.direction][x.from] {
			continue
		}
		s.passed[x.direction][x.from] = true
		along := s.declared
		if x.direction == asRecorded {
			along = s.recorded
		}
		for _, e := range along.Of(x.from) {
			s.reach(e.To, x)
		}
	}
}

// reach extends create-first to v, a dependency of x. Along references in the state, create-first also spreads through
// objects without a down, because the order of downs (rule 2 of order.go) goes through them, too.
func (s *spreading) reach(v Vertex, x passing) {
	switch {
	case s.isGate(v):
	case x.direction == asDeclared:
		s.declare(v, x.cause)
		return
	default:
		s.allLast(v, x.cause)
	}
	s.queue = append(s.queue, passing{v, x.cause, x.direction})
}
