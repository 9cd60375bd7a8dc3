package plan

import "slices"

// The facts about the sources of a vertex or of a hold. The sources of a group are its objects. The sources of a gate,
// or of a hold (a provider instance or an ephemeral resource), are the objects to which the gate, or the settings of
// the hold, refer. An up creates, updates or reads an object. A down destroys or forgets it.
const (
	known   facts = 1 << iota // the facts have been computed
	changed                   // a source has a step that changes it
	removed                   // a source goes down
	fresh                     // a source did not exist before
	looked                    // a source has an up without a change: its conditions may fail
)

// vertexFacts returns the union of the facts of the objects in v. If v is a gate, it uses the objects that v refers to,
// directly or through other gates. It does not follow the references of the objects: an object's own steps show the
// effect of its sources.
func (p *problem) vertexFacts(v Vertex) facts {
	if p.facts[v]&known != 0 {
		return p.facts[v]
	}
	p.facts[v] = known // ends the recursion on a cycle
	f := known
	if !p.isGate(v) {
		f |= p.objectFacts(p.objects(v))
	} else {
		for _, e := range p.declared.Of(v) {
			f |= p.refFacts(Ref{e.To, e.At})
		}
	}
	p.facts[v] = f
	return f
}

func (p *problem) refFacts(r Ref) facts {
	if p.whole(r) {
		return p.vertexFacts(r.To)
	}
	return p.objectFacts(p.named(r))
}

func (p *problem) objectFacts(objects []int32) facts {
	var f facts
	existed, comes := false, false
	for _, o := range objects {
		x := &p.Objects[o]
		if x.Deposed {
			continue
		}
		existed = existed || x.Existed
		switch {
		case x.Up && x.Still:
			f |= looked
		case x.Up:
			comes = true
			f |= changed
		}
		if x.Down {
			f |= changed | removed
		}
	}
	if comes && !existed {
		f |= fresh
	}
	return f
}

// holdFacts returns the facts of the sources of a hold's settings, including sources behind values and other holds. If
// the prior settings are not known (Hold.NoBefore), the facts include fresh.
func (p *problem) holdFacts(k int32) facts {
	if p.held[k]&known != 0 {
		return p.held[k]
	}
	p.held[k] = known
	f, h := known, &p.Holds[k]
	if h.NoBefore {
		f |= fresh
	}
	for _, r := range h.Settings {
		f |= p.refFacts(r)
	}
	for _, o := range h.Over {
		f |= p.holdFacts(o)
	}
	p.held[k] = f
	return f
}

// downFace returns the face of the hold's session that the down of an object uses. createFirst is true if the object is
// destroyed after its replacement is created. The face is After if a source is fresh, or if createFirst is true and no
// source goes down. Otherwise, and in a destroy plan, it is Before.
func (p *problem) downFace(k int32, createFirst bool) Face {
	f := p.holdFacts(k)
	switch {
	case p.Destroy:
		return Before
	case f&fresh != 0, createFirst && f&removed == 0:
		return After
	}
	return Before
}

// freshDowns returns the current objects whose downs need a hold with unknown prior settings.
func (p *problem) freshDowns() []int32 {
	var list []int32
	for i := range p.Objects {
		x := &p.Objects[i]
		if !x.Down || x.Deposed {
			continue
		}
		fresh := p.anyFresh(x.DownHolds)
		if x.Provisioners != nil {
			for _, holds := range x.Provisioners.Downs() {
				fresh = fresh || p.anyFresh(holds)
			}
		}
		if fresh {
			list = append(list, int32(i))
		}
	}
	return list
}

func (p *problem) anyFresh(holds []int32) bool {
	return slices.ContainsFunc(holds, func(k int32) bool { return p.holdFacts(k)&fresh != 0 })
}
