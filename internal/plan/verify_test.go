package plan

import (
	"context"
	"fmt"
	"slices"

	"github.com/lethe-iac/lethe/internal/walk"
)

// verifier checks the steps of an ordered plan against the rules that users may rely on, by plain search. It shares no
// code with Order.
type verifier struct {
	in           *Input
	s            *Steps
	wrong        []string // the violations of rules that were found
	fallback     bool     // whether an object is create-first (as with create_before_destroy) because the prior settings of its provider are not known
	contradicted int      // number of before sessions (with prior settings) that end after a source of their settings was destroyed
	twoSessions  bool     // a hold has both sessions: with prior settings, and with planned settings

	needs, any [][]bool            // by step: the steps that it needs, and all steps that it waits for, directly or indirectly
	up, down   map[int32]span      // by object: the first and last step of its creation (up) and destruction (down)
	sessions   map[sessionKey]span // the first and last step of each session (opened hold)
	declared   [][]int32           // by object: the objects to which its configuration refers, through values
	recorded   [][]int32           // by object: the objects to which the state says that it refers, through gates
	soft       []softPair          // the pairs that softly checks
}

// softPair is a step that uses or ends a before session (a provider or lease with prior settings) of a hold, and the
// step that destroys a source of these settings. The first step comes first, unless dependencies in the state
// contradict.
type softPair struct {
	step, source int
	hold         int32
}

type span struct{ first, last int }

type sessionKey struct {
	hold int32
	face Face
}

func verify(in *Input, s *Steps) *verifier {
	v := &verifier{in: in, s: s, up: map[int32]span{}, down: map[int32]span{}, sessions: map[sessionKey]span{}}
	visit := func(context.Context, walk.Node, *walk.Fan) bool { return true }
	if c := s.Graph().Run(context.Background(), walk.RunOptions{Workers: 1, Run: visit}).Stuck; c != nil {
		v.bad("a cycle: %v", c)
		return v
	}
	v.close()
	v.find()
	v.dependencies()
	v.first()
	for x := range int32(len(in.Objects)) {
		v.rules(x)
	}
	for x := range int32(len(in.Objects)) {
		v.uses(x)
		v.last(x)
	}
	v.ends()
	v.softly()
	return v
}

func (v *verifier) bad(format string, a ...any) { v.wrong = append(v.wrong, fmt.Sprintf(format, a...)) }

func (v *verifier) name(o int32) string { return v.in.Name(false, o) }

// close computes v.needs and v.any: the direct and indirect predecessors of each step.
func (v *verifier) close() {
	n := len(v.s.List)
	v.needs, v.any = make([][]bool, n), make([][]bool, n)
	var visit func(step int)
	visit = func(step int) {
		if v.any[step] != nil {
			return
		}
		needs, anyOf := make([]bool, n), make([]bool, n)
		v.any[step] = anyOf
		ns, ws := v.s.Edges(step)
		for _, d := range append(slices.Clone(ns), ws...) {
			visit(d)
			anyOf[d] = true
			for i, b := range v.any[d] {
				anyOf[i] = anyOf[i] || b
			}
		}
		for _, d := range ns {
			needs[d] = true
			for i, b := range v.needs[d] {
				needs[i] = needs[i] || b
			}
		}
		v.needs[step] = needs
		if v.s.List[step].Kind == HoldDown && len(ns) > 0 {
			v.bad("%s needs something; the end of a session only waits", v.s.Label(step))
		}
	}
	for i := range n {
		visit(i)
	}
}

// find fills v.up, v.down and v.sessions with the steps of objects and holds, and checks that each step occurs once.
func (v *verifier) find() {
	seen := map[Step]bool{}
	for i, x := range v.s.List {
		if x.Kind == Gate {
			continue
		}
		if x.Lazy != (x.Kind == HoldUp) || seen[x] {
			v.bad("%s is there twice, or late", v.s.Label(i))
		}
		if x.Kind == Down || x.Kind == DestroyProvision {
			x.Face = Before // the face of a Down step selects the settings (prior or planned) of its provider
		}
		seen[x] = true
		switch x.Kind {
		case Up:
			v.up[x.Index] = span{i, i}
		case Down:
			v.down[x.Index] = span{i, i}
		}
	}
	for o := range v.in.Objects {
		x := &v.in.Objects[o]
		if x.Up != seen[Step{Kind: Up, Index: int32(o)}] || x.Down != seen[Step{Kind: Down, Index: int32(o)}] {
			v.bad("%s has the wrong steps", v.name(int32(o)))
		}
	}
	for i, x := range v.s.List {
		k := sessionKey{x.Index, x.Face}
		switch x.Kind {
		case HoldUp:
			v.sessions[k] = span{i, v.sessions[k].last}
		case HoldDown:
			v.sessions[k] = span{v.sessions[k].first, i}
		case Provision:
			v.provision(i, x)
		case DestroyProvision:
			u := v.down[x.Index]
			if !v.before(i, u.last) {
				v.bad("%s comes after the down", v.s.Label(i))
			}
			if x.Part == 0 {
				u.first = i
				v.down[x.Index] = u
			}
		}
	}
	for k := range v.sessions {
		if o := (sessionKey{k.hold, 1 - k.face}); v.sessions[o] != (span{}) {
			v.twoSessions = true
		}
	}
}

func (v *verifier) provision(i int, x Step) {
	u := v.up[x.Index]
	if !v.before(u.last, i) && u.last != i {
		v.bad("%s comes before what it follows", v.s.Label(i))
	}
	if int(x.Part) == len(v.in.Objects[x.Index].Provisioners.After)-1 {
		u.last = i
		v.up[x.Index] = u
	}
}

// before reports whether step a must have succeeded before step b.
func (v *verifier) before(a, b int) bool { return v.needs[b][a] }

// done reports whether step a must have ended before step b.
func (v *verifier) done(a, b int) bool { return v.any[b][a] }

// dependencies fills v.declared and v.recorded: it resolves references to groups and values into references to objects.
func (v *verifier) dependencies() {
	n := len(v.in.Objects)
	v.declared, v.recorded = make([][]int32, n), make([][]int32, n)
	for x := range v.in.Objects {
		o := &v.in.Objects[x]
		if !o.Deposed && v.in.Groups[o.Group].Declared || o.Deposed {
			v.declared[x] = v.follow(o.Group, o.Key, map[Vertex]bool{})
		}
		v.recorded[x] = v.remembered(o.Group, map[Vertex]bool{})
	}
}

func (v *verifier) objects(to Vertex, at At, key int32) []int32 {
	var out []int32
	for d := range v.in.Objects {
		o := &v.in.Objects[d]
		if o.Group == to && (at == All || at == Same && (o.Key == key || key < 0) || at == Only(o.Key)) {
			out = append(out, int32(d))
		}
	}
	return out
}

// follow lists the objects that a group or a value refers to in the configuration, through values, for the instance
// key.
func (v *verifier) follow(from Vertex, key int32, seen map[Vertex]bool) []int32 {
	var out []int32
	for _, e := range v.in.Declared {
		switch {
		case e.From != from || seen[e.To]:
		case int(e.To) >= len(v.in.Groups):
			seen[e.To] = true
			out = append(out, v.follow(e.To, -1, seen)...)
		default:
			out = append(out, v.objects(e.To, e.At, key)...)
		}
	}
	return out
}

// remembered lists the objects that a group or gate refers to in the state. References on cycles do not count.
func (v *verifier) remembered(from Vertex, seen map[Vertex]bool) []int32 {
	var out []int32
	for _, e := range v.in.Recorded {
		switch {
		case e.From != from || seen[e.To] || v.reaches(e.To, e.From):
		case int(e.To) >= len(v.in.Groups):
			seen[e.To] = true
			out = append(out, v.remembered(e.To, seen)...)
		default:
			out = append(out, v.objects(e.To, All, 0)...)
		}
	}
	return out
}

func (v *verifier) reaches(from, to Vertex) bool {
	seen := map[Vertex]bool{}
	var visit func(x Vertex) bool
	visit = func(x Vertex) bool {
		if x == to {
			return true
		}
		if seen[x] {
			return false
		}
		seen[x] = true
		for _, e := range v.in.Recorded {
			if e.From == x && visit(e.To) {
				return true
			}
		}
		return false
	}
	return visit(from)
}

// first checks which objects are create-first, with and without the fallback for prior settings that are not known.
func (v *verifier) first() {
	plain := v.spread(false)
	if slices.Equal(plain, v.s.First) {
		return
	}
	v.fallback = true
	if !slices.Equal(v.spread(true), v.s.First) {
		v.bad("create-first is %v, and should be %v or %v", v.s.First, plain, v.spread(true))
	}
}

// kept returns, by group, whether it is create-first in the configuration: the group or a group that refers to it sets
// create_before_destroy.
func (v *verifier) kept() []bool {
	kept := make([]bool, len(v.in.Groups))
	var reach func(to Vertex)
	values := map[Vertex]bool{}
	reach = func(to Vertex) {
		if int(to) >= len(kept) {
			if values[to] {
				return
			}
			values[to] = true
		} else {
			if kept[to] {
				return
			}
			kept[to] = true
		}
		for _, e := range v.in.Declared {
			if e.From == to {
				reach(e.To)
			}
		}
		for i := range v.in.Objects {
			if x := &v.in.Objects[i]; x.Group == to {
				for _, k := range v.allHolds(x) {
					for _, r := range v.settings(k) {
						reach(r.To)
					}
				}
			}
		}
	}
	for g := range kept {
		if v.in.Groups[g].Declared && v.in.Groups[g].CreateFirst {
			reach(Vertex(g))
		}
	}
	return kept
}

// spread returns, by object, whether it is create-first. It repeats the rules until nothing changes.
func (v *verifier) spread(fallback bool) []bool {
	kept := v.kept()
	if !slices.Equal(kept, v.s.CreateFirst) {
		v.bad("create-first as declared are %v, and should be %v", v.s.CreateFirst, kept)
	}
	first := make([]bool, len(v.in.Objects))
	for i := range first {
		x := &v.in.Objects[i]
		first[i] = x.Down && (x.Deposed || x.Up && kept[x.Group] || !x.Up && x.CreateFirst ||
			fallback && slices.ContainsFunc(v.downHolds(x), v.fresh))
	}
	for changed := true; changed; {
		changed = false
		all := func(g Vertex) {
			for i := range first {
				if x := &v.in.Objects[i]; x.Group == g && x.Down && !first[i] {
					first[i], changed = true, true
				}
			}
		}
		for i := range first {
			if !first[i] {
				continue
			}
			x := &v.in.Objects[i]
			for to := range v.in.Groups {
				if v.leads(x.Group, Vertex(to)) {
					all(Vertex(to))
				}
			}
			for _, k := range v.downHolds(x) {
				for _, r := range v.settings(k) {
					for _, g := range v.madeFrom(r.To) {
						all(g)
					}
				}
			}
		}
	}
	return first
}

// leads reports whether the state has a path of references from one group to another, through groups and gates, without
// references on cycles.
func (v *verifier) leads(from, to Vertex) bool {
	seen := map[Vertex]bool{}
	var visit func(x Vertex) bool
	visit = func(x Vertex) bool {
		if seen[x] {
			return false
		}
		seen[x] = true
		for _, e := range v.in.Recorded {
			if e.From == x && !v.reaches(e.To, e.From) && (e.To == to || visit(e.To)) {
				return true
			}
		}
		return false
	}
	return visit(from)
}

// madeFrom returns the groups from which the value x is computed, or x itself if it is a group.
func (v *verifier) madeFrom(x Vertex) []Vertex {
	if int(x) < len(v.in.Groups) {
		return []Vertex{x}
	}
	var out []Vertex
	for _, e := range v.in.Declared {
		if e.From == x {
			out = append(out, v.madeFrom(e.To)...)
		}
	}
	return out
}

func (v *verifier) downHolds(x *Object) []int32 {
	ks := slices.Clone(x.DownHolds)
	if x.Provisioners != nil {
		for _, p := range x.Provisioners.Before {
			ks = append(ks, p...)
		}
	}
	return ks
}

func (v *verifier) allHolds(x *Object) []int32 {
	ks := append(slices.Clone(x.UpHolds), x.DownHolds...)
	if x.Provisioners != nil {
		for _, p := range append(slices.Clone(x.Provisioners.After), x.Provisioners.Before...) {
			ks = append(ks, p...)
		}
	}
	return ks
}

// settings returns the references in the settings of the hold k (a provider or lease) and of the holds that k needs.
func (v *verifier) settings(k int32) []Ref {
	out := slices.Clone(v.in.Holds[k].Settings)
	for _, o := range v.in.Holds[k].Over {
		out = append(out, v.settings(o)...)
	}
	return out
}

// sources returns the objects that the settings of the hold k refer to.
func (v *verifier) sources(k int32) []int32 {
	var out []int32
	for _, r := range v.settings(k) {
		if int(r.To) >= len(v.in.Groups) {
			out = append(out, v.follow(r.To, -1, map[Vertex]bool{})...)
		} else {
			out = append(out, v.objects(r.To, r.At, -1)...)
		}
	}
	return slices.DeleteFunc(out, func(o int32) bool { return v.in.Objects[o].Deposed })
}

func (v *verifier) real(o int32) bool { return v.in.Objects[o].Up && !v.in.Objects[o].Still }

func (v *verifier) changed(k int32) bool {
	return slices.ContainsFunc(v.sources(k), func(o int32) bool { return v.real(o) || v.in.Objects[o].Down })
}

func (v *verifier) removed(k int32) bool {
	return slices.ContainsFunc(v.sources(k), func(o int32) bool { return v.in.Objects[o].Down })
}

// fresh reports whether the prior settings of the hold k are not known, because a source of the settings had no object
// before.
func (v *verifier) fresh(k int32) bool {
	h := &v.in.Holds[k]
	if h.NoBefore || slices.ContainsFunc(h.Over, v.fresh) {
		return true
	}
	var fresh func(r Ref) bool
	fresh = func(r Ref) bool {
		if int(r.To) >= len(v.in.Groups) {
			return slices.ContainsFunc(v.in.Declared, func(e Edge) bool { return e.From == r.To && fresh(Ref{e.To, e.At}) })
		}
		existed, comes := false, false
		for _, o := range v.objects(r.To, r.At, -1) {
			if !v.in.Objects[o].Deposed {
				existed = existed || v.in.Objects[o].Existed
				comes = comes || v.real(o)
			}
		}
		return comes && !existed
	}
	return slices.ContainsFunc(h.Settings, fresh)
}

// rules checks the rules 1 to 3 in the comment of order.go for the object x.
func (v *verifier) rules(x int32) {
	o := &v.in.Objects[x]
	up, hasUp := v.up[x]
	down, hasDown := v.down[x]
	if hasUp {
		v.reach(x, v.declared, func(d int32) {
			if u, ok := v.up[d]; ok && !v.before(u.last, up.first) {
				v.bad("%s comes up before %s, to which it refers", v.name(x), v.name(d))
			} else if !ok && !v.in.Objects[d].Deposed {
				v.through(x, d)
			}
		})
	}
	if hasDown {
		v.reach(x, v.recorded, func(d int32) {
			if u, ok := v.down[d]; ok && !v.before(down.last, u.first) {
				v.bad("%s goes down before %s, which referred to it", v.name(d), v.name(x))
			}
			if u, ok := v.up[d]; ok && !v.s.First[x] && !v.before(down.last, u.first) {
				v.bad("%s comes up before %s has gone, which referred to it", v.name(d), v.name(x))
			}
		})
		self := x
		if o.Deposed {
			self = o.Current
		}
		v.across(x, self)
	}
	if !o.Deposed {
		for _, d := range v.declared[x] {
			v.across(x, d)
			v.across(d, x)
		}
	}
	for _, d := range v.recorded[x] {
		v.across(x, d)
		v.across(d, x)
	}
}

// last checks that an object of a group that comes last (a data source in a check block) comes after all steps with a
// visible effect.
func (v *verifier) last(x int32) {
	if !v.in.Groups[v.in.Objects[x].Group].Last {
		return
	}
	for o := range int32(len(v.in.Objects)) {
		g := v.in.Groups[v.in.Objects[o].Group]
		if up, ok := v.up[o]; ok && v.real(o) && !g.Last && !g.Reads && !v.before(up.last, v.up[x].first) {
			v.bad("%s comes before %s, and is to be last", v.name(x), v.name(o))
		}
		if down, ok := v.down[o]; ok && !v.s.First[o] && !v.before(down.last, v.up[x].first) {
			v.bad("%s comes before %s has gone, and is to be last", v.name(x), v.name(o))
		}
	}
}

// reach calls f for each direct and indirect dependency of the object x along edges.
func (v *verifier) reach(x int32, edges [][]int32, f func(int32)) {
	seen := map[int32]bool{}
	var visit func(x int32)
	visit = func(x int32) {
		for _, d := range edges[x] {
			if !seen[d] {
				seen[d] = true
				f(d)
				visit(d)
			}
		}
	}
	visit(x)
}

// through checks that the object x comes after the sources of the holds of the object d. x refers to d, which has no
// steps.
func (v *verifier) through(x, d int32) {
	for _, k := range v.in.Objects[d].UpHolds {
		for _, from := range v.sources(k) {
			if u, ok := v.up[from]; ok && v.changed(k) && !v.before(u.last, v.up[x].first) {
				v.bad("%s comes up before %s, from which hold %d of %s is made, to which it refers", v.name(x), v.name(from), k, v.name(d))
			}
		}
	}
}

// across checks rule 3 of order.go for the neighbours z and w: z is destroyed before w is created, or, if z is
// create-first, after w.
func (v *verifier) across(z, w int32) {
	down, ok := v.down[z]
	up, ok2 := v.up[w]
	if !ok || !ok2 {
		return
	}
	if v.s.First[z] && !v.before(up.last, down.first) {
		v.bad("create-first %s goes before its neighbour %s comes", v.name(z), v.name(w))
	}
	if !v.s.First[z] && !v.before(down.last, up.first) {
		v.bad("%s comes before its destroy-first neighbour %s goes", v.name(w), v.name(z))
	}
}

// uses checks that each step of the object x runs while the sessions (opened holds) that it needs are open.
func (v *verifier) uses(x int32) {
	o := &v.in.Objects[x]
	for i, s := range v.s.List {
		if s.Index != x {
			continue
		}
		switch s.Kind {
		case Up:
			v.usesUp(i, o.UpHolds)
		case Provision:
			v.usesUp(i, o.Provisioners.After[s.Part])
		case Down:
			v.usesDown(i, x, o.DownHolds)
		case DestroyProvision:
			v.usesDown(i, x, o.Provisioners.Before[s.Part])
		}
	}
}

func (v *verifier) usesUp(step int, holds []int32) {
	for _, k := range holds {
		v.inside(step, k, After)
		for _, d := range v.sources(k) {
			if up, ok := v.up[d]; ok && v.changed(k) && !v.before(up.last, step) {
				v.bad("%s comes before %s, from which the settings of %d are made", v.s.Label(step), v.name(d), k)
			}
			if down, ok := v.down[d]; ok && v.s.First[d] && !v.before(step, down.first) {
				v.bad("create-first %s goes before %s, which works through hold %d", v.name(d), v.s.Label(step), k)
			}
		}
	}
}

func (v *verifier) usesDown(step int, x int32, holds []int32) {
	for _, k := range holds {
		face := Before
		if !v.in.Destroy && (v.fresh(k) || v.s.First[x] && !v.removed(k)) {
			face = After
		}
		v.inside(step, k, face)
		if face == After {
			continue
		}
		for _, d := range v.sources(k) {
			if up, ok := v.up[d]; ok && v.real(d) && !v.s.First[x] && !v.before(step, up.first) {
				v.bad("%s changes before %s, which works through what was made from it", v.name(d), v.s.Label(step))
			}
			if down, ok := v.down[d]; ok {
				v.soft = append(v.soft, softPair{step, down.first, k})
			}
		}
	}
}

// inside checks that the session of the hold k with the settings of a face is open while a step uses it.
func (v *verifier) inside(step int, k int32, face Face) {
	if !v.changed(k) {
		face = After
		if v.in.Destroy {
			face = Before
		}
	}
	s, ok := v.sessions[sessionKey{k, face}]
	up := v.before
	if v.s.List[step].Kind == HoldDown {
		up = v.done // a HoldDown step runs even if other steps fail
	}
	if !ok || !up(s.first, step) || !v.done(step, s.last) {
		v.bad("%s works through hold %d outside its %v session", v.s.Label(step), k, face)
	}
	for _, o := range v.in.Holds[k].Over {
		v.inside(s.first, o, face)
		v.inside(s.last, o, face)
	}
}

// ends checks that sessions (opened holds) with prior settings end before the sources of these settings change.
func (v *verifier) ends() {
	for key, s := range v.sessions {
		k := key.hold
		if !v.changed(k) {
			continue
		}
		for _, d := range v.sources(k) {
			up, hasUp := v.up[d]
			down, hasDown := v.down[d]
			if key.face == After && hasUp && !v.before(up.last, s.first) {
				v.bad("the after session of hold %d opens before %s has come", k, v.name(d))
			}
			if key.face == Before && hasUp && v.real(d) && !v.lasting(k) && !v.done(s.last, up.first) {
				v.bad("%s changes while the before session of hold %d is open", v.name(d), k)
			}
			if key.face == Before && hasDown {
				v.soft = append(v.soft, softPair{s.last, down.first, k})
			}
		}
		if key.face == Before && !v.in.Destroy && v.fresh(k) {
			v.bad("a before session of hold %d, whose settings before are not known", k)
		}
	}
}

// lasting reports whether the before session (with prior settings) of the hold k, or of a hold that needs k, is used by
// the destruction of a create-first object.
func (v *verifier) lasting(k int32) bool {
	for i, s := range v.s.List {
		if s.Kind != Down && s.Kind != DestroyProvision || !v.s.First[s.Index] {
			continue
		}
		x := &v.in.Objects[s.Index]
		holds := x.DownHolds
		if s.Kind == DestroyProvision {
			holds = x.Provisioners.Before[s.Part]
		}
		for _, h := range holds {
			if v.removed(h) && !v.fresh(h) && v.isDone(h, k) && v.needs[i] != nil {
				return true
			}
		}
	}
	return false
}

func (v *verifier) isDone(h, k int32) bool {
	return h == k || slices.ContainsFunc(v.in.Holds[h].Over, func(o int32) bool { return v.isDone(o, k) })
}

// softly checks the pairs in v.soft. The order of such a pair may be missing if dependencies in the state contradict
// it. For a step and all sources of its hold, the order may be missing only if all pairs together make a cycle through
// the step and a source.
func (v *verifier) softly() {
	n := len(v.s.List)
	after := make([][]int, n)
	for step := range n {
		needs, waits := v.s.Edges(step)
		for _, d := range append(needs, waits...) {
			after[d] = append(after[d], step)
		}
	}
	for _, p := range v.soft {
		after[p.step] = append(after[p.step], p.source)
	}
	contradicted := map[softPair]bool{}
	for _, p := range v.soft {
		seen := make([]bool, n)
		var visit func(int) bool
		visit = func(x int) bool {
			if x == p.step {
				return true
			}
			if seen[x] {
				return false
			}
			seen[x] = true
			return slices.ContainsFunc(after[x], visit)
		}
		if visit(p.source) {
			contradicted[softPair{p.step, 0, p.hold}] = true
			v.contradicted++
		}
	}
	for _, p := range v.soft {
		if !v.done(p.step, p.source) && !contradicted[softPair{p.step, 0, p.hold}] {
			v.bad("%s goes before %s without a reason", v.s.Label(p.source), v.s.Label(p.step))
		}
	}
}
