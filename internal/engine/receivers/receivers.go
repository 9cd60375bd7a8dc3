package receivers

import (
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/engine/declared"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
)

// Face returns the face on which to read the value of d, if the caller wants the value on face. The before face has
// prior values, and the after face planned values. The result is the after face if the value is equal on both faces,
// and face otherwise.
func (r *Analysis) Face(d program.Decl, face frame.Face) frame.Face {
	if r.Steady(d) {
		return frame.After
	}
	return face
}

// Ephemerals returns the ephemeral resources whose values a declaration receives, directly or through values
// (variables, locals, outputs, module calls). It does not follow the references of resources and providers, and
// excludes ephemeral resources that only provisioners receive.
func (r *Analysis) Ephemerals(d program.Decl) []program.Decl { return decls(r.Received(d)) }

func decls(list []Received) []program.Decl {
	var out []program.Decl
	for _, w := range list {
		out = append(out, w.Of)
	}
	return out
}

// Received returns the ephemeral resources whose values the declaration d receives, with the instances that d names.
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

// ByInstance reports whether each instance of an ephemeral resource is opened and closed separately. This is so if the
// resource has no conditions, and each receiver and each module output names the instances that it uses.
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

// Exported returns the instances of an ephemeral resource that outputs of child modules return. It returns false if
// there is no such output. Such an output makes a plan or an apply open the ephemeral resource, although the output
// does nothing with the value.
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

// Referred reports whether another declaration refers to d.
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

// Repeating returns the ephemeral resources to which the count or for_each of a declaration refers.
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

// ReceivedByParts returns the ephemeral resources that some parts of a resource receive. A part is a provisioner, a
// connection, or the config.Resource of an action.
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

// behind returns the ephemeral resources to which refs lead, with the named instances. It follows only references in
// refs for which own returns true. The parameter of is the declaration that has the references, or nil if the caller
// does not distinguish its instances.
func (r *Analysis) behind(refs []program.Ref, own func(program.Ref) bool, of *program.Declaration) []Received {
	t := tracer{Analysis: r, seen: map[visited]bool{}, keyed: of != nil && keyed(of)}
	for _, ref := range refs {
		if own(ref) {
			t.visit(ref, true, true)
		}
	}
	return t.found
}

// keyed reports whether each instance of a declaration receives ephemeral values separately: true for managed
// resources, data sources and provider configurations, and false for ephemeral resources, values and module calls.
func keyed(d *program.Declaration) bool {
	return d.Kind == program.Provider || d.Kind == program.Resource && d.Resource.Mode != addr.Ephemeral
}

// tracer follows references to the ephemeral resources from which values come.
type tracer struct {
	*Analysis
	seen  map[visited]bool
	keyed bool // each instance of the receiver receives separately, so [each.key] names one instance
	found []Received
}

// visited is a declaration that a search has visited. around is true for a module call that contains the receiver:
// there the search follows other references than for a module call to which the receiver refers.
type visited struct {
	decl   program.Decl
	around bool
}

// follow visits the references for which along returns true. around is true if refs are the references of a module call
// around the receiver.
func (t *tracer) follow(refs []program.Ref, along func(program.Ref) bool, around bool) {
	for _, ref := range refs {
		if along(ref) {
			t.visit(ref, around, false)
		}
	}
}

// visit follows a reference to a declaration. direct is true if the receiver itself has the reference. around is true
// if the receiver itself, or a module call around the receiver, has the reference.
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

// add adds an ephemeral resource to the result. If the reference names an instance, add adds only this instance. direct
// is true if the receiver itself has the reference: only then does each.key in the reference mean the key of the
// receiver.
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

// inside reports whether a reference, which starts at the contents of a module, leads to a resource or to the contents
// of an inner module.
func (t *tracer) inside(ref program.Ref) bool {
	k := t.prog.Decls()[ref.To].Kind
	return k == program.Resource || k == program.ModuleContents
}

// fromAround reports whether all declarations in a module depend on a reference of the module call: a reference in
// count, for_each, depends_on or providers.
func fromAround(ref program.Ref) bool {
	return ref.Use&(program.ByRepeat|program.ByDepends|program.ByModule) != 0
}

// repeats reports whether a reference is in count or for_each. From a module call, tracer.visit follows only such
// references: an argument of the call may contain each.value, and so receives the values to which for_each refers.
func repeats(ref program.Ref) bool { return ref.Use&program.ByRepeat != 0 }

// Receives reports whether a declaration is a receiver: a resource, a provider configuration, or a declaration with
// conditions. Other declarations, such as locals, only pass values on.
func Receives(d *program.Declaration) bool {
	return d.Kind == program.Resource || d.Kind == program.Provider || declared.HasConditions(d)
}

// ReceivesItself reports whether d is an ephemeral resource with preconditions or postconditions. Its conditions are
// then a receiver of its value.
func ReceivesItself(d *program.Declaration) bool {
	return d.Kind == program.Resource && d.Resource.Mode == addr.Ephemeral && declared.HasResourceConditions(d)
}

// OpensItself reports whether a walk (a plan or an apply) opens the ephemeral resource e although no other declaration
// receives it. The possible reasons are:
//
//   - it has conditions;
//   - a module output returns its value, and whole is true;
//   - its provider is a test program that returns its settings in its answers, no declaration refers to the resource,
//     and whole is true.
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

// OwnKeys returns the keys of the instances of e that a walk opens although no declaration receives them. OpensItself
// must be true for e. A nil result means all instances.
func (r *Analysis) OwnKeys(e *program.Declaration) []addr.Key {
	w, is := r.Exported(e.ID)
	if ReceivesItself(e) || !is {
		return nil
	}
	return w.Keys(addr.NoKey)
}

// Needed returns the ephemeral resources that must be opened for the declarations for which among returns true: the
// ephemeral resources that such a declaration receives, the ephemeral resources with conditions among them, and the
// ephemeral resources that another needed ephemeral resource uses.
func (r *Analysis) Needed(among func(program.Decl) bool) map[program.Decl]bool {
	out := map[program.Decl]bool{}
	var todo []program.Decl
	for _, d := range r.prog.Decls() {
		lease := d.Kind == program.Resource && d.Resource.Mode == addr.Ephemeral
		switch {
		case !among(d.ID): // the plan does not evaluate this declaration
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

// OnlyWritten returns true for each ephemeral resource whose value only write-only arguments receive, directly or
// through other such ephemeral resources, and false for each other ephemeral resource. Only write-only arguments of
// managed resources can contain ephemeral values.
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

// otherThanByArguments reports whether a reference has a use other than these: the value of an argument (also inside
// ephemeralasnull), a provisioner, or an action. Examples of other uses are a condition and depends_on.
func otherThanByArguments(ref program.Ref) bool {
	return ref.Use&^(program.ByProvision|program.ByAction|program.ByNull|program.ByValue) != 0
}

// receivesBy returns a function that reports whether a declaration of kind k receives the target of a reference. For a
// resource, references of provisioners and actions do not count, because ReceivedByParts returns these. References
// inside ephemeralasnull do not count, because it needs no value. For an output, only references in its conditions
// count.
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

// passes reports whether a value, such as a local, contains the target of a reference. A value does not contain the
// targets that only its conditions use.
func passes(ref program.Ref) bool { return ref.Use&^(program.ByCondition|program.ByNull) != 0 }

// Among returns the keys in some that are also in list. list must be sorted. If some is nil, Among returns list.
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
