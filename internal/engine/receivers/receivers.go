package receivers

import (
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/engine/declared"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
)

// Face is the one under which a declaration is kept: a steady one has only the after face.
func (r *Analysis) Face(d program.Decl, face frame.Face) frame.Face {
	if r.Steady(d) {
		return frame.After
	}
	return face
}

// Ephemerals are the ephemeral resources whose values a declaration receives: directly or through
// values, not through other resources or providers. What its provisioners receive is theirs.
func (r *Analysis) Ephemerals(d program.Decl) []program.Decl { return decls(r.Received(d)) }

func decls(list []Received) []program.Decl {
	var out []program.Decl
	for _, w := range list {
		out = append(out, w.Of)
	}
	return out
}

// Received are the ephemeral resources that a declaration receives, and which instances of them.
func (r *Analysis) Received(d program.Decl) []Received {
	if !r.Any {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.receivedBy(d)
}

func (r *Analysis) receivedBy(d program.Decl) []Received {
	found, ok := r.receivedOf[d]
	if !ok {
		info := r.prog.Decls()[d]
		found = r.behind(r.prog.Refs(d), receivesBy(info.Kind), info)
		r.receivedOf[d] = found
	}
	return found
}

// ByInstance reports whether the leases of an ephemeral resource are held one by one: each of its
// receivers says which instances it means.
func (r *Analysis) ByInstance(e program.Decl) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.whole == nil {
		r.whole = map[program.Decl]bool{}
		for _, d := range r.prog.Decls() {
			if ReceivesItself(d) {
				r.whole[d.ID] = true
			}
			if !Receives(d) {
				continue
			}
			all := slices.Clone(r.receivedBy(d.ID))
			if d.Kind == program.Resource {
				all = append(all, r.behind(r.prog.Refs(d.ID), byProvision, d)...)
			}
			for _, w := range all {
				r.whole[w.Of] = r.whole[w.Of] || w.Instances == nil
			}
		}
		for e, w := range r.exported() {
			r.whole[e] = r.whole[e] || w.Instances == nil
		}
	}
	return !r.whole[e]
}

// Exported is what outputs of modules hand on of an ephemeral resource, false if none does. Handing on is a
// use, although an output does nothing with the value.
func (r *Analysis) Exported(e program.Decl) (Received, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	w, ok := r.exported()[e]
	return w, ok
}

func (r *Analysis) exported() map[program.Decl]Received {
	if r.exports != nil {
		return r.exports
	}
	r.exports = map[program.Decl]Received{}
	for _, d := range r.prog.Decls() {
		if d.Kind != program.Output {
			continue
		}
		for _, w := range r.behind(r.prog.Refs(d.ID), byValue, d) {
			have, ok := r.exports[w.Of]
			switch {
			case !ok:
				have = w
			case have.Instances == nil || w.Instances == nil:
				have.Instances = nil
			default:
				have.Instances = append(slices.Clone(have.Instances), w.Instances...)
			}
			have.Through = append(have.Through, d.ID)
			r.exports[w.Of] = have
		}
	}
	return r.exports
}

// Referred reports whether anything else refers to a declaration.
func (r *Analysis) Referred(d program.Decl) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.named == nil {
		r.named = map[program.Decl]bool{}
		for _, x := range r.prog.Decls() {
			for _, ref := range r.prog.Refs(x.ID) {
				r.named[ref.To] = r.named[ref.To] || ref.To != x.ID
			}
		}
	}
	return r.named[d]
}

// Repeating are the ephemeral resources whose values decide about the instances of another one.
func (r *Analysis) Repeating(d program.Decl) []Received {
	r.mu.Lock()
	defer r.mu.Unlock()
	found, ok := r.repeats[d]
	if !ok {
		found = r.behind(r.prog.Refs(d), repeats, nil)
		r.repeats[d] = found
	}
	return found
}

// ReceivedByParts are the ephemeral resources whose values some provisioners and connections of a resource
// receive.
func (r *Analysis) ReceivedByParts(d program.Decl, parts []any) []Received {
	if !r.Any {
		return nil
	}
	var refs []program.Ref
	for _, p := range parts {
		refs = append(refs, r.prog.PartRefs(d, p)...)
	}
	return r.behind(refs, receivesBy(program.Provider), r.prog.Decls()[d])
}

// behind says which instances they mean as well, for a declaration that has the references.
func (r *Analysis) behind(refs []program.Ref, own func(program.Ref) bool, of *program.Declaration) []Received {
	t := tracer{Analysis: r, seen: map[visited]bool{}, keyed: of != nil && keyed(of)}
	for _, ref := range refs {
		if own(ref) {
			t.visit(ref, true, true)
		}
	}
	return t.found
}

// keyed reports whether each instance of a declaration receives by itself.
func keyed(d *program.Declaration) bool {
	return d.Kind == program.Provider || d.Kind == program.Resource && d.Resource.Mode != addr.Ephemeral
}

// tracer follows values to the ephemeral resources that they come from.
type tracer struct {
	*Analysis
	seen  map[visited]bool
	keyed bool // what is asked about has a key of its own
	found []Received
}

// visited is a declaration that a search has visited: a module call around what is asked about counts
// otherwise than one that is merely referred to.
type visited struct {
	decl   program.Decl
	around bool
}

// follow goes on along references. around says that they are those of something that is asked
// about, or of a call around it.
func (t *tracer) follow(refs []program.Ref, along func(program.Ref) bool, around bool) {
	for _, ref := range refs {
		if along(ref) {
			t.visit(ref, around, false)
		}
	}
}

// visit follows a reference to a declaration. direct says that what is asked about names it.
func (t *tracer) visit(ref program.Ref, around, direct bool) {
	d := t.prog.Decls()[ref.To]
	if d.Kind == program.Resource {
		if d.Resource.Mode == addr.Ephemeral {
			t.add(ref, direct)
		}
		return
	}
	at := visited{ref.To, around && d.Kind == program.Call && ref.Use&program.ByModule != 0}
	if t.seen[at] {
		return
	}
	t.seen[at] = true
	next := t.prog.Refs(ref.To)
	switch d.Kind {
	case program.Provider:
	case program.Call:
		if at.around {
			t.follow(next, fromAround, true)
		} else {
			t.follow(next, repeats, false)
		}
	case program.ModuleContents:
		t.follow(next, t.inside, false)
	default:
		t.follow(next, passes, false)
	}
}

// add adds an ephemeral resource, or instances of it.
func (t *tracer) add(ref program.Ref, direct bool) {
	i := slices.IndexFunc(t.found, func(w Received) bool { return w.Of == ref.To })
	known := ref.Use&program.ByDepends == 0 && (ref.Key == program.Fixed || ref.Key == program.Same && direct && t.keyed)
	one := Instance{Same: ref.Key == program.Same, Key: ref.Fixed}
	switch {
	case i < 0 && known:
		t.found = append(t.found, Received{Of: ref.To, Instances: []Instance{one}})
	case i < 0:
		t.found = append(t.found, Received{Of: ref.To})
	case !known:
		t.found[i].Instances = nil
	case t.found[i].Instances != nil && !slices.Contains(t.found[i].Instances, one):
		t.found[i].Instances = append(t.found[i].Instances, one)
	}
}

// inside reports whether a reference of a whole module is to an ephemeral resource in it, or to a
// module in it.
func (t *tracer) inside(ref program.Ref) bool {
	k := t.prog.Decls()[ref.To].Kind
	return k == program.Resource || k == program.ModuleContents
}

// fromAround reports whether what a module call refers to is received by what is in the module.
func fromAround(ref program.Ref) bool {
	return ref.Use&(program.ByRepeat|program.ByDepends|program.ByModule) != 0
}

// repeats reports whether a reference decides about a repetition. What a module is repeated by passes
// its value on: each.value may be in the arguments.
func repeats(ref program.Ref) bool { return ref.Use&program.ByRepeat != 0 }

// Receives reports whether a declaration receives values by itself: a receiver of the glossary. Others only
// pass values on.
func Receives(d *program.Declaration) bool {
	return d.Kind == program.Resource || d.Kind == program.Provider || declared.HasConditions(d)
}

// ReceivesItself reports whether an ephemeral resource has conditions: they receive it.
func ReceivesItself(d *program.Declaration) bool {
	return d.Kind == program.Resource && d.Resource.Mode == addr.Ephemeral && declared.HasResourceConditions(d)
}

// OpensItself reports whether an ephemeral resource is opened in a walk in which nothing acts on its
// value: for its own conditions; because an output of a module hands it on; because its provider is
// under test, and nothing at all refers to it. whole says that nothing is left out of the walk.
func (r *Analysis) OpensItself(e *program.Declaration, whole bool) bool {
	if ReceivesItself(e) || !whole {
		return ReceivesItself(e)
	}
	if _, is := r.Exported(e.ID); is {
		return true
	}
	return !r.Referred(e.ID) && r.tested != nil && r.tested(r.prog.Decls()[r.prog.ProviderOf(e.ID)].Provider.Provider)
}

// OwnKeys are the instances that are opened so; nil: all.
func (r *Analysis) OwnKeys(e *program.Declaration) []addr.Key {
	w, is := r.Exported(e.ID)
	if ReceivesItself(e) || !is {
		return nil
	}
	return w.Keys(addr.NoKey)
}

// Needed are the ephemeral resources that the declarations among these receive: directly, for their
// own conditions, or to obtain others that are received.
func (r *Analysis) Needed(among func(program.Decl) bool) map[program.Decl]bool {
	out := map[program.Decl]bool{}
	var todo []program.Decl
	for _, d := range r.prog.Decls() {
		lease := d.Kind == program.Resource && d.Resource.Mode == addr.Ephemeral
		switch {
		case !among(d.ID): // nothing is evaluated of it
		case lease && ReceivesItself(d):
			todo = append(todo, d.ID)
		case !lease && Receives(d):
			todo = append(todo, r.Ephemerals(d.ID)...)
		}
	}
	for len(todo) > 0 {
		e := todo[len(todo)-1]
		if todo = todo[:len(todo)-1]; !out[e] {
			out[e] = true
			todo = append(todo, r.Ephemerals(e)...)
		}
	}
	return out
}

// OnlyWritten finds the ephemeral resources whose values only write-only arguments receive, by
// themselves or through others like it: no argument of a managed resource takes an ephemeral value
// but those.
func (r *Analysis) OnlyWritten() map[program.Decl]bool {
	out := map[program.Decl]bool{}
	obtained := map[program.Decl][]program.Decl{} // by ephemeral resource: those that its arguments take
	var wanted []program.Decl
	for _, d := range r.prog.Decls() {
		lease := d.Kind == program.Resource && d.Resource.Mode == addr.Ephemeral
		if lease {
			out[d.ID] = true
			if ReceivesItself(d) {
				wanted = append(wanted, d.ID)
			}
		}
		if !Receives(d) {
			continue
		}
		written := lease || d.Kind == program.Resource && d.Resource.Mode == addr.Managed
		others := decls(r.behind(r.prog.Refs(d.ID), otherThanByArguments, nil))
		for _, e := range r.Ephemerals(d.ID) {
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
func otherThanByArguments(ref program.Ref) bool {
	return ref.Use&^(program.ByProvision|program.ByNull|program.ByValue) != 0
}

// receivesBy says for which reasons a declaration of a kind receives what it refers to. Provisioners
// are on their own, ephemeralasnull needs no value, and values receive only what tests them.
func receivesBy(k program.Kind) func(program.Ref) bool {
	not := program.ByNull
	switch k {
	case program.Resource:
		not |= program.ByProvision
	case program.Variable:
		not |= program.ByModule
	case program.Output:
		return func(ref program.Ref) bool { return ref.Use&program.ByCondition != 0 }
	}
	return func(ref program.Ref) bool { return ref.Use&^not != 0 }
}

func byProvision(ref program.Ref) bool { return ref.Use&program.ByProvision != 0 }

func byValue(ref program.Ref) bool { return ref.Use&program.ByValue != 0 }

// passes reports whether what a value refers to is passed on with it: what its conditions look at
// is not.
func passes(ref program.Ref) bool { return ref.Use&^(program.ByCondition|program.ByNull) != 0 }

// Among are those of a sorted list that some name; nil: the whole list.
func Among(list, some []addr.Key) []addr.Key {
	if some == nil {
		return list
	}
	var out []addr.Key
	for _, k := range some {
		if i, there := slices.BinarySearchFunc(list, k, addr.Key.Compare); there {
			out = append(out, list[i])
		}
	}
	return out
}
