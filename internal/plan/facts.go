package plan

import "slices"

const (
	known   facts = 1 << iota // the facts are found
	changed                   // something that it is made from has a real step
	gone                      // something that it is made from goes down
	fresh                     // something that it is made from was not there before
	looked                    // something that it is made from is looked at though it does not change: conditions of it may fail
)

// vertexFacts are those of everything that v stands for. Objects are not looked through: what they
// are made from shows in their own steps.
func (p *problem) vertexFacts(v Vertex) facts {
	if p.facts[v]&known != 0 {
		return p.facts[v]
	}
	p.facts[v] = known // should there be a cycle, it ends here
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
			f |= changed | gone
		}
	}
	if comes && !existed {
		f |= fresh
	}
	return f
}

// holdFacts are those of everything that a hold's settings are made from, over values and holds.
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

// downFace is the face of the hold that takes an object down.
func (p *problem) downFace(k int32, createFirst bool) Face {
	f := p.holdFacts(k)
	switch {
	case p.Destroy:
		return Before
	case f&fresh != 0, createFirst && f&gone == 0:
		return After
	}
	return Before
}

// freshDowns lists the current objects that go down through a hold whose settings before are not
// known.
func (p *problem) freshDowns() []int32 {
	var list []int32
	for i := range p.Objects {
		x := &p.Objects[i]
		if !x.Down || x.Deposed {
			continue
		}
		fresh := p.anyFresh(x.DownHolds)
		if x.Provisioners != nil {
			for _, holds := range x.Provisioners.Before {
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
