package plan

// firsts says what is create-first.
type firsts struct {
	object []bool
	cause  []Vertex // by object: the group that made it create-first, or -1
}

// spreading is how create-first reaches what the create-first objects depend on.
type spreading struct {
	*problem
	firsts
	group []bool    // all objects of the group are create-first, but deposed ones are that anyway
	sets  []uint8   // by vertex: the sets along which it was passed on
	held  []bool    // by hold: passed on to what its settings are made from
	queue []passing // to be passed on
	cause []Vertex  // by group: the group that made it create-first
}

const (
	alongDeclared uint8 = 1 << iota
	alongRecorded
)

type passing struct {
	from  Vertex
	sets  uint8
	cause Vertex
}

// spread finds what is create-first: groups that are declared so, entries without a declaration
// that are stored so, deposed objects, the objects in extra, and everything that they depend on.
func (p *problem) spread(extra []int32) firsts {
	s := &spreading{problem: p, group: make([]bool, len(p.Groups)), sets: make([]uint8, p.vertices),
		held: make([]bool, len(p.Holds)), cause: make([]Vertex, len(p.Groups))}
	s.object, s.firsts.cause = make([]bool, len(p.Objects)), make([]Vertex, len(p.Objects))
	for g := range p.Groups {
		s.seed(Vertex(g))
	}
	for _, o := range extra {
		s.one(o, alongDeclared|alongRecorded)
	}
	for len(s.queue) > 0 {
		x := s.queue[0]
		s.queue = s.queue[1:]
		s.pass(x)
	}
	for o := range s.object {
		s.firsts.cause[o] = -1
		if g := p.Objects[o].Group; s.group[g] && !s.object[o] {
			s.object[o] = true
			if !p.ownFirst(g) {
				s.firsts.cause[o] = s.cause[g]
			}
		}
	}
	return s.firsts
}

// ownFirst reports whether the group is create-first by itself.
func (p *problem) ownFirst(g Vertex) bool { return p.Groups[g].Declared && p.Groups[g].CreateFirst }

// seed finds what is create-first by itself.
func (s *spreading) seed(g Vertex) {
	if s.ownFirst(g) {
		s.whole(g, g)
	}
	for _, o := range s.objects(g) {
		switch x := &s.Objects[o]; {
		case x.Deposed:
			s.one(o, alongRecorded)
		case x.CreateFirst && !s.Groups[g].Declared:
			s.one(o, alongDeclared|alongRecorded)
		}
	}
}

// one makes a single object create-first.
func (s *spreading) one(o int32, sets uint8) {
	g := s.Objects[o].Group
	s.object[o] = true
	s.queue = append(s.queue, passing{g, sets, g})
	s.through(o, g)
}

// whole makes a group create-first.
func (s *spreading) whole(g, cause Vertex) {
	if s.group[g] {
		return
	}
	s.group[g], s.cause[g] = true, cause
	s.queue = append(s.queue, passing{g, alongDeclared | alongRecorded, cause})
	for _, o := range s.objects(g) {
		s.through(o, cause)
	}
}

// through spreads through the holds of an object.
func (s *spreading) through(o int32, cause Vertex) {
	x := &s.Objects[o]
	s.holds(x.UpHolds, cause)
	s.holds(x.DownHolds, cause)
	if x.Provisioners == nil {
		return
	}
	for _, step := range [][][]int32{x.Provisioners.After, x.Provisioners.Before} {
		for _, holds := range step {
			s.holds(holds, cause)
		}
	}
}

func (s *spreading) holds(ks []int32, cause Vertex) {
	for _, k := range ks {
		if s.held[k] {
			continue
		}
		s.held[k] = true
		for _, r := range s.Holds[k].Settings {
			s.reach(r.To, alongDeclared, cause)
		}
		s.holds(s.Holds[k].Over, cause)
	}
}

// reach is when what is create-first depends on v.
func (s *spreading) reach(v Vertex, sets uint8, cause Vertex) {
	if s.isGate(v) {
		s.queue = append(s.queue, passing{v, sets, cause})
	} else {
		s.whole(v, cause)
	}
}

func (s *spreading) pass(x passing) {
	sets := x.sets &^ s.sets[x.from]
	s.sets[x.from] |= sets
	if sets&alongDeclared != 0 {
		for _, e := range s.declared.from(x.from) {
			s.reach(e.To, alongDeclared, x.cause)
		}
	}
	if sets&alongRecorded != 0 {
		for _, e := range s.recorded.from(x.from) {
			s.reach(e.To, alongRecorded, x.cause)
		}
	}
}
