package plan

import "slices"

// open returns the session of a hold (a provider instance or an ephemeral resource) with the prior settings (face
// Before) or the planned settings (face After). A session is the time between two steps: the start (start of a
// provider, or opening of an ephemeral resource) and the end (stop or close). The first call creates these steps. If
// the plan does not change the settings, one session is used for both faces: the session After, or in a destroy plan
// the session Before.
func (b *building) open(k int32, face Face) session {
	if b.holdFacts(k)&changed == 0 { // the settings do not change: one session is enough
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

// use orders the steps of an object between the start and the end of the sessions (configured providers, open ephemeral
// resources) that the steps use.
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

// passOn handles an object whose up has no work. Its dependents come after the objects to which the settings of its
// holds (provider, ephemeral resources) refer, as if the object had an up.
func (b *building) passOn(o int32) {
	for _, k := range b.Objects[o].UpHolds {
		if b.holdFacts(k)&changed != 0 {
			b.graph.needs(b.upOf(o), b.ready(k))
		}
	}
}

// served returns the gate (a node without work) that comes after all ups that use the hold k. The create-first downs
// (destructions after the ups) of the sources of k come after this gate. The sources are the objects to which the
// settings of k refer.
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

// last records that the sessions with the prior settings of the hold k, and of the holds that k uses, remain open
// during the ups.
func (b *building) last(k int32) {
	if b.lasting[k] {
		return
	}
	b.lasting[k] = true
	for _, done := range b.Holds[k].Over {
		b.last(done)
	}
}

// closeSessions orders the steps of the sources of each hold (the objects to which its settings refer) after the end of
// the session with the prior settings, if the settings change.
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

// ready returns the gate that comes after the ups of all objects to which the settings of the hold k refer. It returns
// 0 if the plan has no ups.
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

// closed returns the gate that comes after the downs that use the session of the hold k with the prior settings. For
// the role closedUp, these are the downs before the ups (destroy-first), and the ups of the sources of k come after the
// gate. For closedDown, these are all downs, and the downs of the sources come after the gate. The sources are the
// objects to which the settings of k refer.
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

// block makes the objects to which ref refers, directly or through locals, variables and outputs, wait for n: their ups
// for the role closedUp, their downs for closedDown.
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
