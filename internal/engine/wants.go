package engine

import (
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/lang"
)

// Who receives a lease follows from the configuration alone: from references, along values, to the
// ephemeral resources behind them.

// face is the one under which a declaration is kept: a steady one has only the after face.
func (r *reach) face(d lang.Decl, face lang.Face) lang.Face {
	if r.steady(d) {
		return lang.After
	}
	return face
}

// ephemerals are the ephemeral resources whose values a declaration receives: directly or through
// values, not through other resources or providers. What its provisioners receive is theirs.
func (r *reach) ephemerals(d lang.Decl) []lang.Decl { return decls(r.wants(d)) }

func decls(wants []want) []lang.Decl {
	var out []lang.Decl
	for _, w := range wants {
		out = append(out, w.of)
	}
	return out
}

// want is an ephemeral resource that a declaration receives.
type want struct {
	of   lang.Decl
	some []instanceOf // the instances that are meant, where each reference says which; nil: all
	by   []lang.Decl  // outputs that hand it on
}

// instanceOf is one instance: the one with the key of whoever refers to it, or another one.
type instanceOf struct {
	same bool
	key  addr.Key
}

// keys are the instances that the instance with the key own receives; nil: all.
func (w want) keys(own addr.Key) []addr.Key {
	if w.some == nil {
		return nil
	}
	out := make([]addr.Key, len(w.some))
	for i, x := range w.some {
		out[i] = x.of(own)
	}
	return out
}

func (i instanceOf) of(own addr.Key) addr.Key {
	if i.same {
		return own
	}
	return i.key
}

// wants are the ephemeral resources that a declaration receives, and which instances of them.
func (r *reach) wants(d lang.Decl) []want {
	if !r.any {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.wantsOf(d)
}

func (r *reach) wantsOf(d lang.Decl) []want {
	found, ok := r.holds[d]
	if !ok {
		info := r.prog.Decls()[d]
		found = r.wantsBehind(r.prog.Refs(d), receivesBy(info.Kind), info)
		r.holds[d] = found
	}
	return found
}

// apart reports whether the leases of an ephemeral resource are held one by one: whoever receives it
// says which instance it means.
func (r *reach) apart(e lang.Decl) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.whole == nil {
		r.whole = map[lang.Decl]bool{}
		for _, d := range r.prog.Decls() {
			if receivesItself(d) {
				r.whole[d.ID] = true
			}
			if !receiver(d) {
				continue
			}
			all := slices.Clone(r.wantsOf(d.ID))
			if d.Kind == lang.Resource {
				all = append(all, r.wantsBehind(r.prog.Refs(d.ID), byProvision, d)...)
			}
			for _, w := range all {
				r.whole[w.of] = r.whole[w.of] || w.some == nil
			}
		}
		for e, w := range r.exported() {
			r.whole[e] = r.whole[e] || w.some == nil
		}
	}
	return !r.whole[e]
}

// export is what outputs of modules hand on of an ephemeral resource: that is a use, although it does
// nothing.
func (r *reach) export(e lang.Decl) (want, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	w, ok := r.exported()[e]
	return w, ok
}

func (r *reach) exported() map[lang.Decl]want {
	if r.exports != nil {
		return r.exports
	}
	r.exports = map[lang.Decl]want{}
	for _, d := range r.prog.Decls() {
		if d.Kind != lang.Output {
			continue
		}
		for _, w := range r.wantsBehind(r.prog.Refs(d.ID), byValue, d) {
			have, ok := r.exports[w.of]
			switch {
			case !ok:
				have = w
			case have.some == nil || w.some == nil:
				have.some = nil
			default:
				have.some = append(slices.Clone(have.some), w.some...)
			}
			have.by = append(have.by, d.ID)
			r.exports[w.of] = have
		}
	}
	return r.exports
}

// referred reports whether anything else refers to a declaration.
func (r *reach) referred(d lang.Decl) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.named == nil {
		r.named = map[lang.Decl]bool{}
		for _, x := range r.prog.Decls() {
			for _, ref := range r.prog.Refs(x.ID) {
				r.named[ref.To] = r.named[ref.To] || ref.To != x.ID
			}
		}
	}
	return r.named[d]
}

// repeating are the ephemeral resources whose values decide about the instances of another one.
func (r *reach) repeating(d lang.Decl) []want {
	r.mu.Lock()
	defer r.mu.Unlock()
	found, ok := r.repeats[d]
	if !ok {
		found = r.wantsBehind(r.prog.Refs(d), repeats, nil)
		r.repeats[d] = found
	}
	return found
}

// parts are the ephemeral resources whose values some provisioners and connections of a resource
// receive.
func (r *reach) parts(d lang.Decl, parts []any) []want {
	if !r.any {
		return nil
	}
	var refs []lang.Ref
	for _, p := range parts {
		refs = append(refs, r.prog.PartRefs(d, p)...)
	}
	return r.wantsBehind(refs, receivesBy(lang.Provider), r.prog.Decls()[d])
}

// ephemeralsBehind are the ephemeral resources behind references: those of refs for which own holds,
// and then those that the values on the way are made from.
func (r *reach) ephemeralsBehind(refs []lang.Ref, own func(lang.Ref) bool) []lang.Decl {
	return decls(r.wantsBehind(refs, own, nil))
}

// wantsBehind says which instances they mean as well, for a declaration that has the references.
func (r *reach) wantsBehind(refs []lang.Ref, own func(lang.Ref) bool, of *lang.Declaration) []want {
	t := tracer{reach: r, seen: map[traced]bool{}, keyed: of != nil && keyed(of)}
	for _, ref := range refs {
		if own(ref) {
			t.come(ref, true, true)
		}
	}
	return t.found
}

// keyed reports whether each instance of a declaration receives by itself.
func keyed(d *lang.Declaration) bool {
	return d.Kind == lang.Provider || d.Kind == lang.Resource && d.Resource.Mode != addr.Ephemeral
}

// tracer follows values to the ephemeral resources that they come from.
type tracer struct {
	*reach
	seen  map[traced]bool
	keyed bool // what is asked about has a key of its own
	found []want
}

// traced is a declaration that was come by: a module call around what is asked about counts
// otherwise than one that is merely referred to.
type traced struct {
	decl   lang.Decl
	around bool
}

// follow goes on along references. around says that they are those of something that is asked
// about, or of a call around it.
func (t *tracer) follow(refs []lang.Ref, along func(lang.Ref) bool, around bool) {
	for _, ref := range refs {
		if along(ref) {
			t.come(ref, around, false)
		}
	}
}

// come comes to a declaration. direct says that what is asked about names it.
func (t *tracer) come(ref lang.Ref, around, direct bool) {
	d := t.prog.Decls()[ref.To]
	if d.Kind == lang.Resource {
		if d.Resource.Mode == addr.Ephemeral {
			t.find(ref, direct)
		}
		return
	}
	at := traced{ref.To, around && d.Kind == lang.Call && ref.Use&lang.ByModule != 0}
	if t.seen[at] {
		return
	}
	t.seen[at] = true
	next := t.prog.Refs(ref.To)
	switch d.Kind {
	case lang.Provider:
	case lang.Call:
		if at.around {
			t.follow(next, fromAround, true)
		} else {
			t.follow(next, repeats, false)
		}
	case lang.Whole:
		t.follow(next, t.inside, false)
	default:
		t.follow(next, passes, false)
	}
}

// find adds an ephemeral resource, or instances of it.
func (t *tracer) find(ref lang.Ref, direct bool) {
	i := slices.IndexFunc(t.found, func(w want) bool { return w.of == ref.To })
	known := ref.Use&lang.ByDepends == 0 && (ref.Key == lang.Fixed || ref.Key == lang.Same && direct && t.keyed)
	one := instanceOf{same: ref.Key == lang.Same, key: ref.Fixed}
	switch {
	case i < 0 && known:
		t.found = append(t.found, want{of: ref.To, some: []instanceOf{one}})
	case i < 0:
		t.found = append(t.found, want{of: ref.To})
	case !known:
		t.found[i].some = nil
	case t.found[i].some != nil && !slices.Contains(t.found[i].some, one):
		t.found[i].some = append(t.found[i].some, one)
	}
}

// inside reports whether a reference of a whole module is to an ephemeral resource in it, or to a
// module in it.
func (t *tracer) inside(ref lang.Ref) bool {
	k := t.prog.Decls()[ref.To].Kind
	return k == lang.Resource || k == lang.Whole
}

// fromAround reports whether what a module call refers to is received by what is in the module.
func fromAround(ref lang.Ref) bool {
	return ref.Use&(lang.ByRepeat|lang.ByDepends|lang.ByModule) != 0
}

// repeats reports whether a reference decides about a repetition. What a module is repeated by passes
// its value on: each.value may be in the arguments.
func repeats(ref lang.Ref) bool { return ref.Use&lang.ByRepeat != 0 }

// receiver reports whether a declaration receives values by itself; others only pass them on.
func receiver(d *lang.Declaration) bool {
	return d.Kind == lang.Resource || d.Kind == lang.Provider || tested(d)
}

// receivesItself reports whether an ephemeral resource has conditions: they receive it.
func receivesItself(d *lang.Declaration) bool {
	return d.Kind == lang.Resource && d.Resource.Mode == addr.Ephemeral && conditional(d)
}

// opensItself reports whether an ephemeral resource is opened in a walk in which nothing acts on its
// value: for its own conditions; because an output of a module hands it on; because its provider is
// under test, and nothing at all refers to it. whole says that nothing is left out of the walk.
func (r *run) opensItself(e *lang.Declaration, whole bool) bool {
	if receivesItself(e) || !whole {
		return receivesItself(e)
	}
	if _, is := r.reach.export(e.ID); is {
		return true
	}
	return !r.reach.referred(e.ID) && r.underTest(e)
}

// ownKeys are the instances that are opened so; nil: all.
func (r *run) ownKeys(e *lang.Declaration) []addr.Key {
	w, is := r.reach.export(e.ID)
	if receivesItself(e) || !is {
		return nil
	}
	return w.keys(addr.NoKey)
}

// underTest reports whether a test program runs the provider of a resource.
func (r *run) underTest(d *lang.Declaration) bool {
	return r.Tested != nil && r.Tested(r.prog.Decls()[r.prog.ProviderOf(d.ID)].Provider.Provider)
}

// received are the ephemeral resources that somebody receives who is among these: by himself, for his
// own conditions, or to obtain others that are received.
func (r *reach) received(among func(lang.Decl) bool) map[lang.Decl]bool {
	out := map[lang.Decl]bool{}
	var todo []lang.Decl
	for _, d := range r.prog.Decls() {
		lease := d.Kind == lang.Resource && d.Resource.Mode == addr.Ephemeral
		switch {
		case !among(d.ID): // nothing is evaluated of it
		case lease && receivesItself(d):
			todo = append(todo, d.ID)
		case !lease && receiver(d):
			todo = append(todo, r.ephemerals(d.ID)...)
		}
	}
	for len(todo) > 0 {
		e := todo[len(todo)-1]
		if todo = todo[:len(todo)-1]; !out[e] {
			out[e] = true
			todo = append(todo, r.ephemerals(e)...)
		}
	}
	return out
}

// onlyWritten finds the ephemeral resources whose values only write-only arguments receive, by
// themselves or through others like it: no argument of a managed resource takes an ephemeral value
// but those.
func (r *reach) onlyWritten() map[lang.Decl]bool {
	out := map[lang.Decl]bool{}
	obtained := map[lang.Decl][]lang.Decl{} // by ephemeral resource: those that its arguments take
	var wanted []lang.Decl
	for _, d := range r.prog.Decls() {
		lease := d.Kind == lang.Resource && d.Resource.Mode == addr.Ephemeral
		if lease {
			out[d.ID] = true
			if receivesItself(d) {
				wanted = append(wanted, d.ID)
			}
		}
		if !receiver(d) {
			continue
		}
		written := lease || d.Kind == lang.Resource && d.Resource.Mode == addr.Managed
		others := r.ephemeralsBehind(r.prog.Refs(d.ID), otherThanByArguments)
		for _, e := range r.ephemerals(d.ID) {
			switch {
			case !written || slices.Contains(others, e):
				wanted = append(wanted, e)
			case lease:
				obtained[d.ID] = append(obtained[d.ID], e)
			}
		}
	}
	for len(wanted) > 0 {
		e := wanted[len(wanted)-1]
		wanted = wanted[:len(wanted)-1]
		if out[e] {
			out[e] = false
			wanted = append(wanted, obtained[e]...)
		}
	}
	return out
}

// otherThanByArguments reports whether a resource receives what it refers to in a condition, or by
// depends_on.
func otherThanByArguments(ref lang.Ref) bool {
	return ref.Use&^(lang.ByProvision|lang.ByNull|lang.ByValue) != 0
}

// receivesBy says for which reasons a declaration of a kind receives what it refers to. Provisioners
// are on their own, ephemeralasnull needs no value, and values receive only what tests them.
func receivesBy(k lang.Kind) func(lang.Ref) bool {
	not := lang.ByNull
	switch k {
	case lang.Resource:
		not |= lang.ByProvision
	case lang.Variable:
		not |= lang.ByModule
	case lang.Output:
		return func(ref lang.Ref) bool { return ref.Use&lang.ByCondition != 0 }
	}
	return func(ref lang.Ref) bool { return ref.Use&^not != 0 }
}

func byValue(ref lang.Ref) bool { return ref.Use&lang.ByValue != 0 }

// passes reports whether what a value refers to is passed on with it: what its conditions look at
// is not.
func passes(ref lang.Ref) bool { return ref.Use&^(lang.ByCondition|lang.ByNull) != 0 }
