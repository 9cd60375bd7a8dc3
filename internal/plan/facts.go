package plan

import "slices"

// The facts about the sources of a vertex (a group of objects, or a gate) or of a hold (a provider instance or an
// ephemeral resource). The sources of a group are its objects. The sources of a gate (a local, a variable or an output)
// and of a hold are the objects to which the gate, or the settings of the hold, refer. Deposed objects do not count. An
// up creates, updates or reads an object. A down destroys or forgets it.
const (
	known   facts = 1 << iota // the facts have been computed
	changed                   // a source has a step with a visible effect: an up that is not Object.Still, or a down
	removed                   // a source has a down: it is destroyed or forgotten
	// fresh is set if none of the sources of one reference existed before and the plan creates at least one of them. It
	// is also set if the prior settings of the hold are not known (Hold.NoBefore).
	fresh
	looked // a source has an up without a visible effect (Object.Still), in which conditions may fail
)

// vertexFacts returns the union of the facts of the objects in v. If v is a gate, these are the objects to which v
// refers, directly or through other gates. vertexFacts does not follow the references of the objects, because the steps
// of an object show the effect of its sources.
func (p *problem) vertexFacts(v Vertex) facts {
	if p.facts[v]&known != 0 {
		return p.facts[v]
	}
	p.facts[v] = known // stops the recursion if v is on a cycle
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

// holdFacts returns the facts of the sources of a hold's settings, including sources that it refers to through locals,
// variables, outputs and other holds. If the prior settings are not known (Hold.NoBefore), the facts include fresh.
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

// downFace returns which settings the hold k has during the down of an object: the prior settings (Before) or the
// planned settings (After). createFirst is true if the object is destroyed after its replacement is created. In a
// destroy plan the face is Before. In other plans the face is After if a source of the settings is fresh, or if
// createFirst is true and no source goes down. Otherwise it is Before.
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

// freshDowns returns the current objects (not deposed) whose downs need a hold with the fact fresh: its prior settings
// are not known.
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
