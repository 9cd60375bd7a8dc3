package plan

// firsts says what is create-first.
type firsts struct {
	object []bool   // by object: its down, if there is one, comes after the ups
	cause  []Vertex // by object: the group that made it create-first, or -1
	group  []bool   // by group: create-first as declared, by itself or through what depends on it
}

// spreading is how create-first reaches what the create-first objects depend on.
type spreading struct {
	*problem
	firsts
	by     []Vertex  // by group: the group that made it create-first as declared, -1 if none or it itself
	passed [2][]bool // by vertex: passed on from there, along each set
	held   [2][]bool // by hold: passed on to what its settings are made from
	queue  []passing // to be passed on
}

// The two ways in which it spreads.
const (
	asDeclared = iota
	asRecorded
)

type passing struct {
	from, cause Vertex
	way         int
}

// spread finds what is create-first. It spreads in two ways. Along declared references from groups
// that are declared so, also where the plan at hand changes nothing of it: that is what replacements go by, and
// what the state is to remember. And along recorded ones from the downs that come last by then,
// since what an object referred to may not go before it. Of the objects that go and do not come
// again, those go last that are stored so. The objects in extra do, too.
func (p *problem) spread(extra []int32) firsts {
	s := &spreading{problem: p, by: make([]Vertex, len(p.Groups))}
	for way := range s.passed {
		s.passed[way], s.held[way] = make([]bool, p.vertices), make([]bool, len(p.Holds))
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

// declare makes a group create-first as declared.
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
			s.holdsOf(x.Provisioners.After, cause, asDeclared)
			s.holdsOf(x.Provisioners.Before, cause, asDeclared)
		}
	}
}

// last puts the down of an object after the ups.
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
		s.holdsOf(x.Provisioners.Before, cause, asRecorded)
	}
}

func (s *spreading) holdsOf(steps [][]int32, cause Vertex, way int) {
	for _, ks := range steps {
		s.holds(ks, cause, way)
	}
}

func (s *spreading) holds(ks []int32, cause Vertex, way int) {
	for _, k := range ks {
		if s.held[way][k] {
			continue
		}
		s.held[way][k] = true
		for _, r := range s.Holds[k].Settings {
			s.made(r.To, cause, way)
		}
		s.holds(s.Holds[k].Over, cause, way)
	}
}

// made is when settings of a hold that something create-first works through are made from v.
func (s *spreading) made(v, cause Vertex, way int) {
	switch {
	case way == asDeclared && s.isGate(v):
		s.queue = append(s.queue, passing{v, cause, way})
	case way == asDeclared:
		s.declare(v, cause)
	case !s.isGate(v):
		s.allLast(v, cause)
	case !s.passed[way][v]: // a gate is in one of the two sets: this one is free
		s.passed[way][v] = true
		for _, e := range s.declared.Of(v) {
			s.made(e.To, cause, way)
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
		if s.passed[x.way][x.from] {
			continue
		}
		s.passed[x.way][x.from] = true
		along := s.declared
		if x.way == asRecorded {
			along = s.recorded
		}
		for _, e := range along.Of(x.from) {
			s.reach(e.To, x)
		}
	}
}

// reach is when what is create-first depends on v. Along recorded references it goes on where
// nothing goes down, too: that is how rule 2 goes on.
func (s *spreading) reach(v Vertex, x passing) {
	switch {
	case s.isGate(v):
	case x.way == asDeclared:
		s.declare(v, x.cause)
		return
	default:
		s.allLast(v, x.cause)
	}
	s.queue = append(s.queue, passing{v, x.cause, x.way})
}
