package plan

// build makes the graph, the soft edges apart.
func (p *problem) build(f firsts) *building {
	b := &building{problem: p, firsts: f, objs: make([]ends, len(p.Objects)), todo: make([]work, len(p.Groups)),
		sources: make([]id, len(p.Holds)), users: make([]id, len(p.Holds)), lasting: make([]bool, len(p.Holds))}
	for face := range b.sessions {
		b.sessions[face] = make([]session, len(p.Holds))
		b.hold[face] = make([]id, len(p.Holds))
	}
	for o := range p.Objects {
		b.steps(int32(o))
	}
	for g := range p.Groups {
		b.groupRules(Vertex(g))
	}
	for _, e := range p.declared.All() {
		b.declaredRules(e)
	}
	for _, e := range p.recorded.All() {
		b.recordedRules(e)
	}
	for o := range p.Objects {
		b.objectRules(int32(o))
		b.use(int32(o))
	}
	b.lastRules()
	b.closeSessions()
	return b
}

// steps makes the steps of an object.
func (b *building) steps(o int32) {
	x, e := &b.Objects[o], &b.objs[o]
	var before, after [][]int32
	if x.Provisioners != nil {
		before, after = x.Provisioners.Before, x.Provisioners.After
	}
	todo := &b.todo[x.Group]
	if x.Down {
		e.down, e.downLast = b.chain(o, DestroyProvision, before, Down)
		todo.early = todo.early || !b.object[o]
		todo.late = todo.late || b.object[o]
	}
	if x.Up {
		e.up, e.upLast = b.chain(o, Provision, after, Up)
		todo.up = true
	}
	b.all = work{b.all.up || todo.up, b.all.early || todo.early, b.all.late || todo.late}
}

// chain makes an object's own step with its provisioners after it, or before it if it is a down.
func (b *building) chain(o int32, kind Kind, provisioners [][]int32, own Kind) (first, last id) {
	link := func(n node) {
		last = b.add(n)
		if first == 0 {
			first = last
		} else {
			b.needs(last, last-1)
		}
	}
	if own == Up {
		link(node{kind: own, index: o})
	}
	for i := range provisioners {
		link(node{kind: kind, index: o, part: uint16(i)})
	}
	if own == Down {
		link(node{kind: own, index: o})
	}
	return first, last
}
