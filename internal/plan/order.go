package plan

// How steps are ordered
//
// An up (+x) creates, updates or reads the object x. A down (-x) destroys or forgets it. Each object that exists has a
// down, and each declared instance has an up, possibly without work. The order of an up or down without work still
// applies to the steps before and after it. A down comes before the ups (destroy-first), or after them if the object is
// create-first (create_before_destroy). One object refers to another in two ways: in the configuration (declared) and
// in the state (recorded). For these two sets and objects z, w, x, d the rules are:
//
//	1. +d before +x            for declared x → d
//	2. -x before -d            for recorded x → d
//	3. -z before +w            for w = z and its neighbours in either set,
//	   or, if z is create-first, +w before -z
//	4. +x after all other ups except reads and after destroy-first downs, if x comes last
//
// A declared create-first object makes its declared dependencies create-first. A create-first down makes the downs of
// its recorded dependencies create-first, and the downs of the objects to which the settings of its provider and its
// ephemeral resources refer. Therefore the dependents of a destroy-first down are destroy-first, too, and the following
// order satisfies all rules:
//
//   - the destroy-first downs, in recorded order;
//   - the ups, in declared order;
//   - the create-first downs, in recorded order.
//
// Instances of one resource are not ordered among themselves, even if moves brought them together from ordered
// resources. Hence no configuration and state make a cycle. An edited state may have cyclic recorded references: Order
// drops the edges inside each strongly connected component.
//
// Holds are provider instances and ephemeral resources. A hold is open while a step uses it. The sources of a hold are
// the objects to which its settings refer. A hold is opened once, or twice if a source changes. Each time is a session:
//
//   - The before session has the prior settings. Refreshes and destroy-first downs use it. Create-first downs use it if
//     a source goes down.
//   - The after session has the planned settings. All other steps use it.
//
// The ups of the sources come before the start of the after session. They come after the destroy-first downs that use
// the before session. The downs of the sources come after all downs that use the before session. If recorded
// dependencies contradict this last rule, the recorded dependencies prevail. If the prior settings are not known, downs
// use the after session. If this makes a cycle, the objects of these downs become create-first.
//
// A group is a resource in one module instance. A gate is a node without work. Most edges connect gates of groups, not
// objects: if a thousand instances refer to a thousand others, the graph has two thousand edges. rules.go adds the
// edges. emit.go removes gates that have no work before or after them. Time and memory are linear in the numbers of
// objects, edges and uses of holds.

// Order returns the steps of a plan and their order. Equal inputs have equal results.
func Order(in *Input) *Steps {
	p := newProblem(in)
	s := &Steps{Cyclic: p.cyclic, name: in.Name}
	first := p.spread(nil)
	g := &p.build(first).graph
	if !g.acyclic() && !g.harden() {
		if fresh := p.freshDowns(); fresh != nil {
			first = p.spread(fresh)
			g = &p.build(first).graph
			_ = g.acyclic() || g.harden()
		}
	}
	s.First, s.FirstFor, s.CreateFirst = first.object, first.cause, first.group
	g.emit(s)
	return s
}

// CreateFirst returns for each group of the input whether create_before_destroy is set for the group, or for a group
// that depends on it in the configuration. Order returns these facts in Steps.CreateFirst.
func CreateFirst(in *Input) []bool { return newProblem(in).spread(nil).group }

// build returns the graph of the plan. The edges in graph.soft may be dropped to break cycles.
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

// steps adds the steps of the object o: its up and its down, with their provisioners and actions.
func (b *building) steps(o int32) {
	x, e := &b.Objects[o], &b.objs[o]
	var p Provisioners
	if x.Provisioners != nil {
		p = *x.Provisioners
	}
	todo := &b.todo[x.Group]
	if x.Down {
		e.down, e.downLast = b.chain(o, links{DestroyInvoke, len(p.BeforeDown), 0}, links{DestroyProvision, len(p.Before), 0}, links{Down, 1, 0}, links{DestroyInvoke, len(p.AfterDown), len(p.BeforeDown)})
		todo.early = todo.early || !b.object[o]
		todo.late = todo.late || b.object[o]
	}
	if x.Up {
		e.up, e.upLast = b.chain(o, links{Invoke, len(p.BeforeUp), 0}, links{Up, 1, 0}, links{Provision, len(p.After), 0}, links{Invoke, len(p.AfterUp), len(p.BeforeUp)})
		todo.up = true
	}
	b.all = work{b.all.up || todo.up, b.all.early || todo.early, b.all.late || todo.late}
}

// links are n consecutive steps of a kind. Their Step.Part is numbered from first.
type links struct {
	kind     Kind
	n, first int
}

// chain adds consecutive steps of an object. Each step needs the previous step. chain returns the first and the last
// step, or 0 if parts have no steps.
func (b *building) chain(o int32, parts ...links) (first, last id) {
	for _, l := range parts {
		for i := range l.n {
			last = b.graph.add(node{kind: l.kind, index: o, part: uint16(l.first + i)})
			if first == 0 {
				first = last
			} else {
				b.graph.needs(last, last-1)
			}
		}
	}
	return first, last
}
