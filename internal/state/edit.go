package state

import (
	"maps"
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
)

// Edit is a copy of a snapshot while it is being changed. Only one goroutine may use it.
type Edit struct {
	base    *Snapshot // the snapshot at the beginning; may be nil
	put     bool      // Put has stored or removed an object
	next    Snapshot
	owned   map[addr.AbsResource]bool           // the resources whose Resource was copied, so that it may be changed
	removed map[addr.Resource][][]addr.Resource // the recorded dependencies of the removed objects, by resource
}

// Edit begins a change of a copy of s. s itself stays unchanged.
func (s *Snapshot) Edit() *Edit {
	e := &Edit{owned: map[addr.AbsResource]bool{}}
	if s != nil {
		e.next = *s
	}
	e.base = s
	e.next.source, e.next.derived = nil, nil
	e.next.Outputs = maps.Clone(e.next.Outputs)
	if e.next.Outputs == nil {
		e.next.Outputs = map[string]Output{}
	}
	e.next.resources = maps.Clone(e.next.resources)
	if e.next.resources == nil {
		e.next.resources = map[addr.AbsResource]*Resource{}
	}
	return e
}

// Put stores an object, and makes the provider configuration of its entry the one of its resource. If entry is nil, Put
// removes the object.
func (e *Edit) Put(o addr.Object, entry *Entry) {
	a, s := o.Abs(), slot{o.Key, o.Deposed}
	r := e.next.resources[a]
	old := r.at(s)
	if old == nil && entry == nil {
		return
	}
	e.put = true
	if !e.owned[a] {
		r = r.copy(a)
		e.next.resources[a] = r
		e.owned[a] = true
	}
	before := r.Len()
	r.set(s, entry)
	e.next.count += r.Len() - before
	if entry != nil {
		r.Provider = entry.Provider.ProviderConfig
		return
	}
	e.remember(a.Resource(), old.Recorded)
	if r.Len() == 0 {
		delete(e.next.resources, a)
		delete(e.owned, a)
	}
}

// remember keeps the recorded dependencies of a removed object. Done uses them if the object was the last of its
// resource.
func (e *Edit) remember(r addr.Resource, recorded []addr.Resource) {
	lists := e.removed[r]
	if len(recorded) == 0 || len(lists) > 0 && same(lists[len(lists)-1], recorded) {
		return
	}
	if e.removed == nil {
		e.removed = map[addr.Resource][][]addr.Resource{}
	}
	e.removed[r] = append(lists, recorded)
}

// Get returns the object after the changes so far; nil if it does not exist.
func (e *Edit) Get(o addr.Object) *Entry { return e.next.Get(o) }

// Output stores a root output.
func (e *Edit) Output(name string, o Output) { e.next.Outputs[name] = o }

// DropOutput removes a root output.
func (e *Edit) DropOutput(name string) { delete(e.next.Outputs, name) }

// Head returns the changed snapshot, so that the caller can set its lineage, serial, version, checks and unknown
// fields.
func (e *Edit) Head() *Snapshot { return &e.next }

// Objects returns the new snapshot, like Done, for an Edit whose caller may only have called Put. If Put was not
// called, it returns the original snapshot, which still has its source text.
func (e *Edit) Objects() *Snapshot {
	if e.base != nil && !e.put {
		return e.base
	}
	return e.Done()
}

// Done returns the new snapshot. The Edit must not be used afterwards.
//
// Recorded dependencies are direct. If an object depends on a resource that lost all its objects, Done replaces that
// dependency by the dependencies of the removed objects. Otherwise the object would lose its indirect dependencies.
func (e *Edit) Done() *Snapshot {
	e.bequeath()
	s := e.next
	s.derived = &derived{}
	e.owned = nil
	return &s
}

func (e *Edit) bequeath() {
	if len(e.removed) == 0 || len(e.next.resources) == 0 {
		return
	}
	for a := range e.next.resources {
		delete(e.removed, a.Resource())
	}
	if len(e.removed) == 0 {
		return
	}
	lists := relist(e.extend)
	for a, r := range e.next.resources {
		e.rewrite(a, r, lists)
	}
}

// extend returns a list with the recorded dependencies of the removed resources in it, transitively. If the list has no
// removed resource, extend returns the list itself.
func (e *Edit) extend(list []addr.Resource) []addr.Resource {
	if !slices.ContainsFunc(list, func(r addr.Resource) bool { return e.removed[r] != nil }) {
		return list
	}
	seen := make(map[addr.Resource]bool, 2*len(list))
	out := slices.Clone(list)
	for _, r := range out {
		seen[r] = true
	}
	for i := 0; i < len(out); i++ {
		for _, more := range e.removed[out[i]] {
			for _, r := range more {
				if !seen[r] {
					seen[r] = true
					out = append(out, r)
				}
			}
		}
	}
	return out
}

// rewrite replaces the recorded dependencies of every object of the resource r by the result of lists.
func (e *Edit) rewrite(a addr.AbsResource, r *Resource, lists func([]addr.Resource) []addr.Resource) {
	for s, old := range r.each {
		list := lists(old.Recorded)
		if same(list, old.Recorded) {
			continue
		}
		if !e.owned[a] {
			e.next.resources[a] = r.copy(a)
			e.owned[a] = true
		}
		entry := *old
		entry.Recorded = list
		e.next.resources[a].set(s, &entry)
	}
}

// relist returns a function that calls f and caches the results, so that objects that share a list continue to share
// it. If f changes nothing, it must return its argument.
func relist(f func([]addr.Resource) []addr.Resource) func([]addr.Resource) []addr.Resource {
	made := map[listKey][]addr.Resource{}
	return func(list []addr.Resource) []addr.Resource {
		if len(list) == 0 {
			return list
		}
		k := listKey{&list[0], len(list)}
		out, ok := made[k]
		if !ok {
			out = f(list)
			made[k] = out
		}
		return out
	}
}
