package receivers

import (
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/engine/declared"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
)

// Face returns the face that has the value of a declaration: the after face if it is steady, and face otherwise.
func (r *Analysis) Face(d program.Decl, face frame.Face) frame.Face {
	if r.Steady(d) {
		return frame.After
	}
	return face
}

// Ephemerals returns the ephemeral resources whose values a declaration receives, directly or through values. It does
// not follow other resources and providers. It excludes the resources that only provisioners receive.
func (r *Analysis) Ephemerals(d program.Decl) []program.Decl { return decls(r.Received(d)) }

func decls(list []Received) []program.Decl {
	var out []program.Decl
	for _, w := range list {
		out = append(out, w.Of)
	}
	return out
}

// Received returns the ephemeral resources that a declaration receives, and their instances.
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

// ByInstance reports whether the leases of an ephemeral resource are held separately, because all its receivers name
// instances.
func (r *Analysis) ByInstance(e program.Decl) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.whole == nil {
		r.whole = map[program.Decl]bool{}
		for _, d := range r.prog.Decls() {
			if ReceivesItself(d) {
				r.whole[d.ID] = true
			}
			if !Receives(d) && d.Kind != program.Action {
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

// Exported returns the instances of an ephemeral resource that module outputs return, and false if no output does. An
// output counts as a use, although it does not act on the value.
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

// Referred reports whether another declaration refers to the declaration.
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

// Repeating returns the ephemeral resources whose values determine the instances of a declaration.
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

// ReceivedByParts returns the ephemeral resources that the given provisioners, connections and actions of a resource
// receive. An action is a part by its config.Resource.
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

// behind returns the ephemeral resources behind those references for which own returns true, and their instances. of is
// the declaration that has the references; nil if instances do not matter.
func (r *Analysis) behind(refs []program.Ref, own func(program.Ref) bool, of *program.Declaration) []Received {
	t := tracer{Analysis: r, seen: map[visited]bool{}, keyed: of != nil && keyed(of)}
	for _, ref := range refs {
		if own(ref) {
			t.visit(ref, true, true)
		}
	}
	return t.found
}

// keyed reports whether the instances of a declaration receive separately.
func keyed(d *program.Declaration) bool {
	return d.Kind == program.Provider || d.Kind == program.Resource && d.Resource.Mode != addr.Ephemeral
}

// tracer follows values to the ephemeral resources that they come from.
type tracer struct {
	*Analysis
	seen  map[visited]bool
	keyed bool // the receiver's own instances have keys
	found []Received
}

// visited is a declaration that a search has visited. A module call around the receiver has other relevant references
// than a module call that the receiver refers to.
type visited struct {
	decl   program.Decl
	around bool
}

// follow follows the references for which along returns true. around is true if they are references of a module call
// around the receiver.
func (t *tracer) follow(refs []program.Ref, along func(program.Ref) bool, around bool) {
	for _, ref := range refs {
		if along(ref) {
			t.visit(ref, around, false)
		}
	}
}

// visit follows a reference to a declaration. direct is true if the receiver has the reference itself.
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

// add adds an ephemeral resource, or instances of it, to the result.
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

// inside reports whether a reference from the contents of a module is to a resource or to a module in it.
func (t *tracer) inside(ref program.Ref) bool {
	k := t.prog.Decls()[ref.To].Kind
	return k == program.Resource || k == program.ModuleContents
}

// fromAround reports whether the contents of a module receive a reference of its module call.
func fromAround(ref program.Ref) bool {
	return ref.Use&(program.ByRepeat|program.ByDepends|program.ByModule) != 0
}

// repeats reports whether a reference determines a repetition. The repetition of a module call passes its value on,
// because arguments may contain each.value.
func repeats(ref program.Ref) bool { return ref.Use&program.ByRepeat != 0 }

// Receives reports whether a declaration is a receiver as defined in the glossary. Other declarations only pass values
// on.
func Receives(d *program.Declaration) bool {
	return d.Kind == program.Resource || d.Kind == program.Provider || declared.HasConditions(d)
}

// ReceivesItself reports whether an ephemeral resource has conditions, which receive it.
func ReceivesItself(d *program.Declaration) bool {
	return d.Kind == program.Resource && d.Resource.Mode == addr.Ephemeral && declared.HasResourceConditions(d)
}

// OpensItself reports whether a walk opens an ephemeral resource that has no receiver. Possible reasons are:
//
//   - it has conditions;
//   - a module output returns its value, and whole is true;
//   - its provider echoes its settings, no declaration refers to it, and whole is true.
//
// whole is true if the walk covers the whole configuration.
func (r *Analysis) OpensItself(e *program.Declaration, whole bool) bool {
	if ReceivesItself(e) || !whole {
		return ReceivesItself(e)
	}
	if _, is := r.Exported(e.ID); is {
		return true
	}
	return !r.Referred(e.ID) && r.echoes != nil && r.echoes(r.prog.Decls()[r.prog.ProviderOf(e.ID)].Provider.Provider)
}

// OwnKeys returns the keys of the instances that open themselves; nil: all.
func (r *Analysis) OwnKeys(e *program.Declaration) []addr.Key {
	w, is := r.Exported(e.ID)
	if ReceivesItself(e) || !is {
		return nil
	}
	return w.Keys(addr.NoKey)
}

// Needed returns the ephemeral resources that the declarations in among receive directly, for their own conditions, or
// to obtain another lease that is received.
func (r *Analysis) Needed(among func(program.Decl) bool) map[program.Decl]bool {
	out := map[program.Decl]bool{}
	var todo []program.Decl
	for _, d := range r.prog.Decls() {
		lease := d.Kind == program.Resource && d.Resource.Mode == addr.Ephemeral
		switch {
		case !among(d.ID): // not evaluated
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

// OnlyWritten returns the ephemeral resources whose values only write-only arguments receive, directly or through other
// such ephemeral resources. Other arguments of managed resources cannot contain ephemeral values.
func (r *Analysis) OnlyWritten() map[program.Decl]bool {
	out := map[program.Decl]bool{}
	obtained := map[program.Decl][]program.Decl{} // by ephemeral resource: the ephemeral resources in its arguments
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

// otherThanByArguments reports whether a resource uses a reference in a condition, in depends_on, or elsewhere outside
// its arguments.
func otherThanByArguments(ref program.Ref) bool {
	return ref.Use&^(program.ByProvision|program.ByAction|program.ByNull|program.ByValue) != 0
}

// receivesBy returns a function that reports whether a declaration of kind k receives the target of a reference.
// Provisioners receive separately, ephemeralasnull needs no value, and an output receives only the references in its
// conditions.
func receivesBy(k program.Kind) func(program.Ref) bool {
	not := program.ByNull
	switch k {
	case program.Resource:
		not |= program.ByProvision | program.ByAction
	case program.Variable:
		not |= program.ByModule
	case program.Output:
		return func(ref program.Ref) bool { return ref.Use&program.ByCondition != 0 }
	}
	return func(ref program.Ref) bool { return ref.Use&^not != 0 }
}

func byProvision(ref program.Ref) bool { return ref.Use&(program.ByProvision|program.ByAction) != 0 }

func byValue(ref program.Ref) bool { return ref.Use&program.ByValue != 0 }

// passes reports whether a value passes a reference on. A reference in its conditions is not passed on.
func passes(ref program.Ref) bool { return ref.Use&^(program.ByCondition|program.ByNull) != 0 }

// Among returns the keys of some that are in the sorted list. If some is nil, it returns the list.
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
