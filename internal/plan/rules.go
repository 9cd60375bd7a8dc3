package plan

// This file adds the edges of the rules that order.go lists. A group is a resource in one module instance. The up of an
// object creates, updates or reads it. The down of an object destroys or forgets it: before the ups (destroy-first), or
// after them if the object is create-first. x → d means that x refers to d. Edges connect the steps of objects with the
// gates of their groups. A gate is a node without work, which saves edges. A step without work has the id 0, and its
// edges are left out.

// groupRules adds the edges between the gates of the group g.
func (b *building) groupRules(g Vertex) {
	todo := b.todo[g]
	if b.all.up && !todo.up && b.Groups[g].Declared {
		b.graph.needs(b.gate(upOut, g), b.gate(upIn, g)) // a group without ups passes the order on to its dependents
	}
	if b.all.down() && !todo.down() {
		b.graph.needs(b.gate(downOut, g), b.gate(downIn, g))
	}
	if todo.up && b.all.early {
		b.graph.needs(b.gate(cleared, g), b.gate(drained, g)) // rule 3: dependents of the group go down before the group comes up
	}
	if todo.late && b.all.up {
		b.graph.needs(b.gate(lastIn, g), b.gate(used, g)) // rule 3: the ups of dependents of the group come before the create-first downs of the group
	}
}

// objectRules adds the edges between the steps of the object o and the gates of its group.
func (b *building) objectRules(o int32) {
	x, e, first := &b.Objects[o], b.objs[o], b.object[o]
	g := x.Group
	if e.up != 0 {
		b.graph.needs(e.up, b.gate(upIn, g))
		b.graph.needs(b.gate(upOut, g), e.upLast)
		if b.has(cleared, g) {
			b.graph.needs(e.up, b.gate(cleared, g))
		}
	}
	if e.down == 0 {
		return
	}
	b.graph.needs(e.down, b.gate(downIn, g))
	b.graph.needs(b.gate(downOut, g), e.downLast)
	if !first {
		b.graph.needs(b.gate(emptied, g), e.downLast)
	}
	if first && b.has(lastIn, g) {
		b.graph.needs(e.down, b.gate(lastIn, g))
	}
	b.turn(o)
}

// lastRules orders the ups of groups with Group.Last: data sources in checks. They come after all work with a visible
// effect: after ups that are not reads, and after destroy-first downs. A create-first down may wait for them. Edges to
// their own dependents are soft (dropped on a cycle), for example if a resource refers to a whole module with its
// checks.
func (b *building) lastRules() {
	var done id
	for o := range b.Objects {
		if b.Groups[b.Objects[o].Group].Last && b.objs[o].up != 0 {
			if done == 0 {
				done = b.graph.add(node{kind: Gate})
			}
			b.graph.needs(b.objs[o].up, done)
		}
	}
	if done == 0 {
		return
	}
	for o := range b.Objects {
		x, e := &b.Objects[o], b.objs[o]
		if b.Groups[x.Group].Last {
			continue
		}
		if e.upLast != 0 && !x.Still && !b.Groups[x.Group].Reads {
			b.graph.soft = append(b.graph.soft, b.graph.after(done, e.upLast, true))
		}
		if e.downLast != 0 && !b.object[o] {
			b.graph.soft = append(b.graph.soft, b.graph.after(done, e.downLast, true))
		}
	}
}

// turn applies rule 3 to the up and the down of the object o. The down of an object without an up is ordered relative
// to the gates of its group, because dependencies and dependents of the group are ordered by these gates.
func (b *building) turn(o int32) {
	x, e, g := &b.Objects[o], b.objs[o], b.Objects[o].Group
	up, upLast := e.up, e.upLast
	if x.Deposed && x.Current >= 0 {
		upLast = b.objs[x.Current].upLast
	}
	declared := b.all.up && b.Groups[g].Declared
	switch {
	case b.object[o] && upLast != 0:
		b.graph.needs(e.down, upLast)
	case b.object[o] && declared:
		b.graph.needs(e.down, b.gate(upIn, g))
	case up != 0:
		b.graph.needs(up, e.downLast)
	case declared:
		b.graph.needs(b.gate(upOut, g), e.downLast)
	}
}

// upOf returns the last step of the up of the object o. If the up has no work, upOf returns a gate in its place.
func (b *building) upOf(o int32) id {
	e, g := &b.objs[o], b.Objects[o].Group
	if e.upLast == 0 {
		e.upLast = b.graph.add(node{kind: Gate})
		b.graph.needs(e.upLast, b.gate(upIn, g))
		b.graph.needs(b.gate(upOut, g), e.upLast)
	}
	return e.upLast
}

// upIs returns the first step of an object's up (its creation, update or read). If the up has no work, it returns a gate: a
// node without work that only has edges.
func (b *building) upIs(o int32) id {
	if b.objs[o].up != 0 {
		return b.objs[o].up
	}
	return b.upOf(o)
}

// declaredRules adds the edges for x → d, a reference in the configuration.
func (b *building) declaredRules(e Edge) {
	switch r := (Ref{e.To, e.At}); {
	case e.At == Same && !b.isGate(e.From) && !b.isGate(e.To):
		for _, x := range b.objects(e.From) {
			for _, d := range b.at(e.To, b.Objects[x].Key) {
				b.pair(x, d)
			}
		}
	case b.whole(r):
		if b.all.up {
			b.graph.needs(b.gate(upIn, e.From), b.gate(upOut, e.To)) // rule 1
			b.follow(e)
		}
		b.neighbours(e)
	default:
		for _, d := range b.named(r) {
			b.toOne(e.From, d)
		}
	}
}

// follow applies rule 3 to x → d, a reference in the configuration: the destroy-first downs of x come before the ups of
// d.
func (b *building) follow(e Edge) {
	left := b.leavingThrough(e.From)
	switch {
	case left == 0:
	case b.isGate(e.To):
		b.graph.needs(b.gate(passed, e.To), left)
	case b.todo[e.To].up:
		b.graph.needs(b.gate(cleared, e.To), left)
	}
}

// recordedRules adds the edges for x → d, a reference in the state.
func (b *building) recordedRules(e Edge) {
	x, d := e.From, e.To
	if b.all.down() {
		b.graph.needs(b.gate(downIn, d), b.gate(downOut, x)) // rule 2
	}
	if b.all.up {
		switch {
		case b.isGate(x):
			b.graph.needs(b.gate(upIn, x), b.gate(upOut, d))
		case b.todo[x].late:
			b.graph.needs(b.gate(lastIn, x), b.gate(upOut, d)) // rule 3: after the ups of the dependencies of x
		}
		if left := b.leaving(d); left != 0 && (b.isGate(x) || b.todo[x].up) {
			b.graph.needs(b.ahead(x), left) // rule 3: d goes down before x comes up
		}
		if b.all.early { // rule 3: x goes down before d comes up, and before the dependencies of d come up
			b.graph.needs(b.gate(drained, d), b.gate(drained, x))
			if !b.isGate(x) {
				b.graph.needs(b.gate(drained, d), b.leaving(x))
			}
		}
	}
	b.neighbours(e)
}

// ahead returns the gate before the ups of x, or of the resources behind the gate x. It waits for the destroy-first
// downs of the dependencies of x.
func (b *building) ahead(x Vertex) id {
	if b.isGate(x) {
		return b.gate(emptied, x)
	}
	return b.gate(cleared, x)
}

// leaving returns the gate after the destroy-first downs of d, or 0 if d has no such downs.
func (b *building) leaving(d Vertex) id {
	if b.all.early && (b.isGate(d) || b.todo[d].early) {
		return b.gate(emptied, d)
	}
	return 0
}

// neighbours applies rule 3 to x → d, a reference in the configuration or in the state: the ups of x come before the
// create-first downs of d.
func (b *building) neighbours(e Edge) {
	if b.all.up && b.all.late && (b.isGate(e.To) || b.todo[e.To].late) {
		b.graph.needs(b.gate(used, e.To), b.afterUps(e.From))
	}
}

// leavingThrough returns the gate after the destroy-first downs of x. If x is a value (a local, a variable or an
// output), these are the downs of the objects that refer to x, directly or through other values. leavingThrough does
// not follow the references of objects in the configuration: together with the references in the state, this could make
// a cycle.
func (b *building) leavingThrough(x Vertex) id {
	if b.isGate(x) && b.all.early {
		return b.gate(passed, x)
	}
	return b.leaving(x)
}

// afterUps returns the gate after the ups of x. If x is itself a gate (a value), these are the ups of the vertices that
// refer to x.
func (b *building) afterUps(x Vertex) id {
	if b.isGate(x) {
		return b.gate(used, x)
	}
	return b.gate(upOut, x)
}

// toOne applies the rules for x → d if the reference names one instance, so that d is one object.
func (b *building) toOne(x Vertex, d int32) {
	e := b.objs[d]
	if !b.Objects[d].Deposed && b.all.up {
		b.graph.needs(b.gate(upIn, x), b.upOf(d)) // rule 1
		if b.all.early && e.up != 0 {             // rule 3: x goes down before d comes up
			b.graph.needs(e.up, b.leavingThrough(x))
		}
	}
	switch {
	case e.down == 0 || !b.all.up:
	case b.object[d]: // x comes up before the old d goes down
		b.graph.needs(e.down, b.afterUps(x))
	default: // d goes down before x comes up
		b.graph.needs(b.gate(upIn, x), e.downLast)
	}
}

// pair applies the rules for x → d to the objects x and d, if the reference names the instance with the same key.
func (b *building) pair(x, d int32) {
	if !b.all.up {
		return
	}
	if !b.Objects[x].Deposed && !b.Objects[d].Deposed {
		b.graph.needs(b.upIs(x), b.upOf(d)) // rule 1
	}
	b.across(x, d)
	b.across(d, x)
}

// across applies rule 3 to two objects of which one refers to the other, if z has a down and w has an up: the down of z
// comes before the up of w, or after it if z is create-first.
func (b *building) across(z, w int32) {
	if b.objs[z].down == 0 || b.objs[w].up == 0 {
		return
	}
	if b.object[z] {
		b.graph.needs(b.objs[z].down, b.objs[w].upLast)
	} else {
		b.graph.needs(b.objs[w].up, b.objs[z].downLast)
	}
}
