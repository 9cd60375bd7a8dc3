package plan

// The rules of order.go, as edges between the gates of groups and the steps of objects. What has no
// work is simply missing in an edge.

// groupRules order the gates of one group.
func (b *building) groupRules(g Vertex) {
	todo := b.todo[g]
	if b.all.up && !todo.up && b.Groups[g].Declared {
		b.needs(b.gate(upOut, g), b.gate(upIn, g)) // without work it passes the order on
	}
	if b.all.down() && !todo.down() {
		b.needs(b.gate(downOut, g), b.gate(downIn, g))
	}
	if todo.up && b.all.early {
		b.needs(b.gate(cleared, g), b.gate(drained, g)) // rule 3: what refers to it goes before
	}
	if todo.late && b.all.up {
		b.needs(b.gate(lastIn, g), b.gate(used, g)) // rule 3: what refers to it comes before
	}
}

// objectRules order the steps of one object among the gates of its group.
func (b *building) objectRules(o int32) {
	x, e, first := &b.Objects[o], b.objs[o], b.object[o]
	g := x.Group
	if e.up != 0 {
		b.needs(e.up, b.gate(upIn, g))
		b.needs(b.gate(upOut, g), e.upLast)
		if b.has(cleared, g) {
			b.needs(e.up, b.gate(cleared, g))
		}
	}
	if e.down == 0 {
		return
	}
	b.needs(e.down, b.gate(downIn, g))
	b.needs(b.gate(downOut, g), e.downLast)
	if !first {
		b.needs(b.gate(emptied, g), e.downLast)
	}
	if first && b.has(lastIn, g) {
		b.needs(e.down, b.gate(lastIn, g))
	}
	b.turn(o)
}

// lastRules let what comes last come after all work that others could see: after ups that are no reads, and destroy-first
// downs. A create-first down may wait for it. What depends on it (a module that is named as a whole has its checks, too) it
// does not wait for: these edges are soft.
func (b *building) lastRules() {
	var done id
	for o := range b.Objects {
		if b.Groups[b.Objects[o].Group].Last && b.objs[o].up != 0 {
			if done == 0 {
				done = b.add(node{kind: Gate})
			}
			b.needs(b.objs[o].up, done)
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
			b.soft = append(b.soft, b.after(done, e.upLast, true))
		}
		if e.downLast != 0 && !b.object[o] {
			b.soft = append(b.soft, b.after(done, e.downLast, true))
		}
	}
}

// turn is rule 3 for an object and itself. One that goes and does not come again stands in for
// that, for what its group refers to and what refers to its group.
func (b *building) turn(o int32) {
	x, e, g := &b.Objects[o], b.objs[o], b.Objects[o].Group
	up, upLast := e.up, e.upLast
	if x.Deposed && x.Current >= 0 {
		upLast = b.objs[x.Current].upLast
	}
	declared := b.all.up && b.Groups[g].Declared
	switch {
	case b.object[o] && upLast != 0:
		b.needs(e.down, upLast)
	case b.object[o] && declared:
		b.needs(e.down, b.gate(upIn, g))
	case up != 0:
		b.needs(up, e.downLast)
	case declared:
		b.needs(b.gate(upOut, g), e.downLast)
	}
}

// upOf is the end of an object's up; one without work gets a gate.
func (b *building) upOf(o int32) id {
	e, g := &b.objs[o], b.Objects[o].Group
	if e.upLast == 0 {
		e.upLast = b.add(node{kind: Gate})
		b.needs(e.upLast, b.gate(upIn, g))
		b.needs(b.gate(upOut, g), e.upLast)
	}
	return e.upLast
}

// upIs is the beginning of an object's up.
func (b *building) upIs(o int32) id {
	if b.objs[o].up != 0 {
		return b.objs[o].up
	}
	return b.upOf(o)
}

// declaredRules are those for x → d in the configuration.
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
			b.needs(b.gate(upIn, e.From), b.gate(upOut, e.To)) // rule 1
			b.follow(e)
		}
		b.neighbours(e)
	default:
		for _, d := range b.named(r) {
			b.toOne(e.From, d)
		}
	}
}

// follow is rule 3 for x → d in the configuration: x goes before d comes.
func (b *building) follow(e Edge) {
	left := b.leavingOver(e.From)
	switch {
	case left == 0:
	case b.isGate(e.To):
		b.needs(b.gate(passed, e.To), left)
	case b.todo[e.To].up:
		b.needs(b.gate(cleared, e.To), left)
	}
}

// recordedRules are those for x → d in the state.
func (b *building) recordedRules(e Edge) {
	x, d := e.From, e.To
	if b.all.down() {
		b.needs(b.gate(downIn, d), b.gate(downOut, x)) // rule 2
	}
	if b.all.up {
		switch {
		case b.isGate(x):
			b.needs(b.gate(upIn, x), b.gate(upOut, d))
		case b.todo[x].late:
			b.needs(b.gate(lastIn, x), b.gate(upOut, d)) // rule 3: after the ups it refers to
		}
		if left := b.leaving(d); left != 0 && (b.isGate(x) || b.todo[x].up) {
			b.needs(b.ahead(x), left) // rule 3: d goes before x comes
		}
		if b.all.early { // rule 3: x goes before d comes, and before what d referred to comes
			b.needs(b.gate(drained, d), b.gate(drained, x))
			if !b.isGate(x) {
				b.needs(b.gate(drained, d), b.leaving(x))
			}
		}
	}
	b.neighbours(e)
}

// ahead is what waits for the destroy-first downs of what x refers to.
func (b *building) ahead(x Vertex) id {
	if b.isGate(x) {
		return b.gate(emptied, x)
	}
	return b.gate(cleared, x)
}

// leaving is the end of the destroy-first downs of d.
func (b *building) leaving(d Vertex) id {
	if b.all.early && (b.isGate(d) || b.todo[d].early) {
		return b.gate(emptied, d)
	}
	return 0
}

// neighbours is rule 3 for x → d in either set: x comes before the old d goes.
func (b *building) neighbours(e Edge) {
	if b.all.up && b.all.late && (b.isGate(e.To) || b.todo[e.To].late) {
		b.needs(b.gate(used, e.To), b.comes(e.From))
	}
}

// leavingOver is the end of the destroy-first downs of x; for a value, of what refers to it. In the
// configuration that reaches through values only: were it to go on through objects, as it does in
// the state, then the two together could go round in a circle.
func (b *building) leavingOver(x Vertex) id {
	if b.isGate(x) && b.all.early {
		return b.gate(passed, x)
	}
	return b.leaving(x)
}

// comes is the end of the ups of x; for a gate, of what refers to it.
func (b *building) comes(x Vertex) id {
	if b.isGate(x) {
		return b.gate(used, x)
	}
	return b.gate(upOut, x)
}

// toOne are the rules for x → d where d is one object.
func (b *building) toOne(x Vertex, d int32) {
	e := b.objs[d]
	if !b.Objects[d].Deposed && b.all.up {
		b.needs(b.gate(upIn, x), b.upOf(d)) // rule 1
		if b.all.early && e.up != 0 {       // rule 3: x goes before d comes
			b.needs(e.up, b.leavingOver(x))
		}
	}
	switch {
	case e.down == 0 || !b.all.up:
	case b.object[d]: // x comes before the old d goes
		b.needs(e.down, b.comes(x))
	default: // d goes before x comes
		b.needs(b.gate(upIn, x), e.downLast)
	}
}

// pair are the rules for x → d between two objects.
func (b *building) pair(x, d int32) {
	if !b.all.up {
		return
	}
	if !b.Objects[x].Deposed && !b.Objects[d].Deposed {
		b.needs(b.upIs(x), b.upOf(d)) // rule 1
	}
	b.across(x, d)
	b.across(d, x)
}

// across is rule 3 for z and w that are neighbours.
func (b *building) across(z, w int32) {
	if b.objs[z].down == 0 || b.objs[w].up == 0 {
		return
	}
	if b.object[z] {
		b.needs(b.objs[z].down, b.objs[w].upLast)
	} else {
		b.needs(b.objs[w].up, b.objs[z].downLast)
	}
}
