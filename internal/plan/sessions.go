package plan

import "slices"

// open returns the session of a hold (a provider instance or an ephemeral resource) with the prior settings (face
// Before) or the planned settings (After). The first call creates it. If the plan does not change the settings, one
// session serves both faces: After, or Before in a destroy plan.
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
	up, down := node{kind: HoldUp, face: face, index: k, lazy: true}, node{kind: HoldDown, face: face, index: k}
	s := session{b.graph.add(up), b.graph.add(down)}
	b.sessions[face][k] = s
	b.graph.waits(s.down, s.up)
	for _, done := range b.Holds[k].Over {
		t := b.open(done, face)
		b.graph.needs(s.up, t.up)
		b.graph.waits(t.down, s.down)
	}
	if face == After && b.holdFacts(k)&changed != 0 {
		b.graph.needs(s.up, b.ready(k))
	}
	return s
}

// use orders the steps of an object between the begin and the end of the sessions that they work through.
func (b *building) use(o int32) {
	x, e := &b.Objects[o], b.objs[o]
	var p Provisioners
	if x.Provisioners != nil {
		p = *x.Provisioners
	}
	if x.Up {
		b.useUp(e.up+id(len(p.BeforeUp)), x.UpHolds)
	} else if b.all.up && !x.Deposed && b.Groups[x.Group].Declared {
		b.passOn(o)
	}
	if x.Down {
		b.useDown(e.downLast-id(len(p.AfterDown)), x.DownHolds, b.object[o])
	}
	// The nodes of an object are consecutive.
	if x.Up && x.Provisioners != nil {
		for i, holds := range slices.Concat(p.BeforeUp, [][]int32{nil}, p.After, p.AfterUp) {
			b.useUp(e.up+id(i), holds)
		}
	}
	if x.Down && x.Provisioners != nil {
		for i, holds := range slices.Concat(p.BeforeDown, p.Before, [][]int32{nil}, p.AfterDown) {
			b.useDown(e.down+id(i), holds, b.object[o])
		}
	}
}

func (b *building) useUp(n id, holds []int32) {
	for _, k := range holds {
		s := b.open(k, After)
		b.graph.needs(n, s.up)
		if b.holdFacts(k)&looked != 0 {
			b.graph.needs(n, b.ready(k))
		}
		b.graph.waits(s.down, n)
		if b.all.late && b.holdFacts(k)&removed != 0 {
			b.graph.needs(b.served(k), n)
		}
	}
}

// passOn orders the dependents of an object without work after the sources of the holds that it would work through.
func (b *building) passOn(o int32) {
	for _, k := range b.Objects[o].UpHolds {
		if b.holdFacts(k)&changed != 0 {
			b.graph.needs(b.upOf(o), b.ready(k))
		}
	}
}

// served returns the gate after the ups through a hold. The create-first downs of the sources come after it.
func (b *building) served(k int32) id {
	if b.users[k] != 0 {
		return b.users[k]
	}
	n := b.graph.add(node{kind: Gate})
	b.users[k] = n
	for _, done := range b.Holds[k].Over {
		b.graph.needs(b.served(done), n)
	}
	for _, r := range b.Holds[k].Settings {
		if b.whole(r) {
			b.graph.needs(b.gate(used, r.To), n)
			continue
		}
		for _, o := range b.named(r) {
			if b.object[o] {
				b.graph.needs(b.objs[o].down, n)
			}
		}
	}
	return n
}

func (b *building) useDown(n id, holds []int32, createFirst bool) {
	for _, k := range holds {
		face := b.downFace(k, createFirst)
		s := b.open(k, face)
		if b.graph.nodes[n-1].face = face; b.holdFacts(k)&changed == 0 && !b.Destroy {
			b.graph.nodes[n-1].face = After
		}
		b.graph.needs(n, s.up)
		b.graph.waits(s.down, n)
		if face == After || b.holdFacts(k)&changed == 0 {
			continue
		}
		b.graph.soft = append(b.graph.soft, b.graph.after(b.closed(closedDown, k), n, true))
		if createFirst {
			b.last(k)
		} else {
			b.graph.needs(b.closed(closedUp, k), n)
		}
	}
}

// last records that the before sessions of a hold, and of the holds under it, remain open during the ups.
func (b *building) last(k int32) {
	if b.lasting[k] {
		return
	}
	b.lasting[k] = true
	for _, done := range b.Holds[k].Over {
		b.last(done)
	}
}

// closeSessions orders the steps of the sources after the end of the before sessions that they configure.
func (b *building) closeSessions() {
	for k := range b.Holds {
		s := b.sessions[Before][k]
		if s.up == 0 || b.holdFacts(int32(k))&changed == 0 {
			continue
		}
		b.graph.soft = append(b.graph.soft, b.graph.after(b.closed(closedDown, int32(k)), s.down, false))
		if !b.lasting[k] {
			b.graph.waits(b.closed(closedUp, int32(k)), s.down)
		}
	}
}

// ready returns the gate after the ups of all sources of a hold's settings. It returns 0 if the plan has no ups.
func (b *building) ready(k int32) id {
	if b.sources[k] != 0 || !b.all.up {
		return b.sources[k]
	}
	n := b.graph.add(node{kind: Gate})
	b.sources[k] = n
	for _, r := range b.Holds[k].Settings {
		if b.whole(r) {
			b.graph.needs(n, b.gate(upOut, r.To))
			continue
		}
		for _, o := range b.named(r) {
			if !b.Objects[o].Deposed {
				b.graph.needs(n, b.upOf(o))
			}
		}
	}
	for _, done := range b.Holds[k].Over {
		b.graph.needs(n, b.ready(done))
	}
	return n
}

// closed returns the gate after the downs through the before session of a hold: the destroy-first downs for closedUp,
// all downs for closedDown. The ups or downs of the sources come after it.
func (b *building) closed(r role, k int32) id {
	memo := b.hold[r-closedUp]
	if memo[k] != 0 {
		return memo[k]
	}
	n := b.graph.add(node{kind: Gate})
	memo[k] = n
	for _, done := range b.Holds[k].Over {
		b.graph.needs(b.closed(r, done), n)
	}
	for _, ref := range b.Holds[k].Settings {
		b.block(r, ref, n)
	}
	return n
}

// block makes the steps of the objects that ref means, directly or through values, wait for n.
func (b *building) block(r role, ref Ref, n id) {
	if !b.whole(ref) {
		b.blockObjects(r, b.named(ref), n)
		return
	}
	seen := b.has(r, ref.To)
	g := b.gate(r, ref.To)
	b.graph.needs(g, n)
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
			b.graph.needs(b.objs[o].up, n)
		case r == closedDown && x.Down:
			b.graph.needs(b.objs[o].down, n)
		}
	}
}
