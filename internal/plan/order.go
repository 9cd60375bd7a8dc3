package plan

// How steps are ordered
//
// Every object that exists has a down, every declared instance an up; those without work only
// pass the order on, with what the settings of the holds that they would go through are made from. An object refers to others in two ways, by the configuration (declared) and
// as the state remembers it (recorded). With these two sets, and z, w, x, d for objects:
//
//	1. +d before +x            for declared x → d
//	2. -x before -d            for recorded x → d
//	3. -z before +w            for w = z and its neighbours in either set,
//	   or, if z is create-first, +w before -z
//	4. +x after all other ups that are no reads and destroy-first downs, if x comes last
//
// What is declared create-first makes create-first what it depends on as declared. A create-first
// down makes create-first the downs of what its object depends on as recorded, and of what the
// settings of the holds that it goes through are made from. So what is destroyed and depended on a
// destroy-first object is destroy-first itself, and this order satisfies all rules: the
// destroy-first downs, in recorded order; the ups, in declared order; the create-first downs, in
// recorded order. Instances of one resource have no order among themselves, also not where moves
// brought them together from resources that had one. Hence there is no cycle, for any configuration and state. (Recorded sets that are cyclic in themselves come from edited
// states; they lose the edges inside the component.)
//
// Holds, that is provider instances and ephemeral resources, are up while a step works through
// them: one session, or two when something that their settings are made from changes. A before
// session serves refreshes, destroy-first downs, and create-first downs if something that its
// settings are made from goes down; an after session the rest. What the settings are made from
// comes up before the after session opens; it comes up only when the destroy-first downs through
// the before session are over, and goes down only when all of them are. That last edge is the one
// that recorded dependencies can contradict: then they win. Where the settings before are not
// known, downs use the after session; if that closes a cycle, these objects are create-first.
//
// Edges do not run between objects but through gates of their groups, so that a thousand instances
// which refer to a thousand others are two thousand edges. In the rules for groups (rules.go),
// gates without work before or after them are left out again (emit.go). Everything is linear in
// objects, edges and uses of holds.

// Order finds the steps and their order. It is pure: equal inputs give equal steps.
func Order(in *Input) *Steps {
	p := newProblem(in)
	s := &Steps{Cyclic: p.cyclic, name: in.Name}
	first := p.spread(nil)
	g := p.build(first)
	if !g.acyclic() && !g.harden() {
		if fresh := p.freshDowns(); fresh != nil {
			first = p.spread(fresh)
			g = p.build(first)
			_ = g.acyclic() || g.harden()
		}
	}
	s.First, s.FirstFor, s.CreateFirst = first.object, first.cause, first.group
	g.emit(s)
	return s
}

// CreateFirst is Steps.CreateFirst of the steps of in, for where nothing else of them is needed.
func CreateFirst(in *Input) []bool { return newProblem(in).spread(nil).group }

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
