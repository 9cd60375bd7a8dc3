package plan

// open gives the session of a hold for a face, made when it is first asked for.
func (b *building) open(k int32, face Face) session {
	if b.holdFacts(k)&changed == 0 { // one session serves everything
		face = After
		if b.Destroy {
			face = Before
		}
	}
	if s := b.sessions[face][k]; s.up != 0 {
		return s
	}
	up, down := node{kind: HoldUp, face: face, index: k, late: true}, node{kind: HoldDown, face: face, index: k}
	s := session{b.add(up), b.add(down)}
	b.sessions[face][k] = s
	b.waits(s.down, s.up)
	for _, over := range b.Holds[k].Over {
		t := b.open(over, face)
		b.needs(s.up, t.up)
		b.waits(t.down, s.down)
	}
	if face == After && b.holdFacts(k)&changed != 0 {
		b.needs(s.up, b.ready(k))
	}
	return s
}

// use puts the steps of an object between the ups and downs of the holds they work through.
func (b *building) use(o int32) {
	x, e := &b.Objects[o], b.objs[o]
	if x.Up {
		b.useUp(e.up, x.UpHolds)
	} else if b.all.up && !x.Deposed && b.Groups[x.Group].Declared {
		b.passOn(o)
	}
	if x.Down {
		b.useDown(e.downLast, x.DownHolds, b.object[o])
	}
	if p := x.Provisioners; p != nil && x.Up {
		for i, holds := range p.After { // the nodes of an object stand in a row
			b.useUp(e.up+1+id(i), holds)
		}
	}
	if p := x.Provisioners; p != nil && x.Down {
		for i, holds := range p.Before {
			b.useDown(e.down+id(i), holds, b.object[o])
		}
	}
}

func (b *building) useUp(n id, holds []int32) {
	for _, k := range holds {
		s := b.open(k, After)
		b.needs(n, s.up)
		if b.holdFacts(k)&looked != 0 {
			b.needs(n, b.ready(k))
		}
		b.waits(s.down, n)
		if b.all.late && b.holdFacts(k)&gone != 0 {
			b.needs(b.served(k), n)
		}
	}
}

// passOn lets what depends on an object without work come after what the holds are made from that it would go through.
func (b *building) passOn(o int32) {
	for _, k := range b.Objects[o].UpHolds {
		if b.holdFacts(k)&changed != 0 {
			b.needs(b.upOf(o), b.ready(k))
		}
	}
}

// served is after the ups through a hold: what its settings are made from is create-first only if
// it goes after them.
func (b *building) served(k int32) id {
	if b.users[k] != 0 {
		return b.users[k]
	}
	n := b.add(node{kind: Gate})
	b.users[k] = n
	for _, over := range b.Holds[k].Over {
		b.needs(b.served(over), n)
	}
	for _, r := range b.Holds[k].Settings {
		if b.whole(r) {
			b.needs(b.gate(used, r.To), n)
			continue
		}
		for _, o := range b.named(r) {
			if b.object[o] {
				b.needs(b.objs[o].down, n)
			}
		}
	}
	return n
}

func (b *building) useDown(n id, holds []int32, createFirst bool) {
	for _, k := range holds {
		face := b.downFace(k, createFirst)
		s := b.open(k, face)
		if b.nodes[n-1].face = face; b.holdFacts(k)&changed == 0 && !b.Destroy {
			b.nodes[n-1].face = After
		}
		b.needs(n, s.up)
		b.waits(s.down, n)
		if face == After || b.holdFacts(k)&changed == 0 {
			continue
		}
		b.soft = append(b.soft, b.after(b.closed(closedDown, k), n, true))
		if createFirst {
			b.last(k)
		} else {
			b.needs(b.closed(closedUp, k), n)
		}
	}
}

// last notes that the before session of a hold, and of what it is over, lasts beyond the ups.
func (b *building) last(k int32) {
	if b.lasting[k] {
		return
	}
	b.lasting[k] = true
	for _, over := range b.Holds[k].Over {
		b.last(over)
	}
}

// closeSessions lets what the settings of before sessions are made from wait for their end.
func (b *building) closeSessions() {
	for k := range b.Holds {
		s := b.sessions[Before][k]
		if s.up == 0 || b.holdFacts(int32(k))&changed == 0 {
			continue
		}
		b.soft = append(b.soft, b.after(b.closed(closedDown, int32(k)), s.down, false))
		if !b.lasting[k] {
			b.waits(b.closed(closedUp, int32(k)), s.down)
		}
	}
}

// ready is after the ups of all that the settings of a hold are made from.
func (b *building) ready(k int32) id {
	if b.sources[k] != 0 || !b.all.up {
		return b.sources[k]
	}
	n := b.add(node{kind: Gate})
	b.sources[k] = n
	for _, r := range b.Holds[k].Settings {
		if b.whole(r) {
			b.needs(n, b.gate(upOut, r.To))
			continue
		}
		for _, o := range b.named(r) {
			if !b.Objects[o].Deposed {
				b.needs(n, b.upOf(o))
			}
		}
	}
	for _, over := range b.Holds[k].Over {
		b.needs(n, b.ready(over))
	}
	return n
}

// closed is after the downs through the before session of a hold: the destroy-first ones for
// closedUp, all for closedDown. What the settings are made from comes, or goes, after that.
func (b *building) closed(r role, k int32) id {
	memo := b.hold[r-closedUp]
	if memo[k] != 0 {
		return memo[k]
	}
	n := b.add(node{kind: Gate})
	memo[k] = n
	for _, over := range b.Holds[k].Over {
		b.needs(b.closed(r, over), n)
	}
	for _, ref := range b.Holds[k].Settings {
		b.block(r, ref, n)
	}
	return n
}

// block lets the steps of what is referred to wait for n, through values.
func (b *building) block(r role, ref Ref, n id) {
	if !b.whole(ref) {
		b.blockObjects(r, b.named(ref), n)
		return
	}
	seen := b.has(r, ref.To)
	g := b.gate(r, ref.To)
	b.needs(g, n)
	switch {
	case seen:
	case !b.isGate(ref.To):
		b.blockObjects(r, b.objects(ref.To), g)
	default:
		for _, e := range b.declared.Of(ref.To) {
			b.block(r, Ref{e.To, e.At}, g)
		}
	}
}

func (b *building) blockObjects(r role, objects []int32, n id) {
	for _, o := range objects {
		switch x := &b.Objects[o]; {
		case x.Deposed:
		case r == closedUp && x.Up && !x.Still:
			b.needs(b.objs[o].up, n)
		case r == closedDown && x.Down:
			b.needs(b.objs[o].down, n)
		}
	}
}
