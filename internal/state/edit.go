package state

import (
	"maps"
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
)

// Edit is a snapshot in the making, for one goroutine.
type Edit struct {
	base  *Snapshot // what it began with
	put   bool      // an object was stored or removed
	next  Snapshot
	owned map[addr.AbsResource]bool           // resources already copied
	gone  map[addr.Resource][][]addr.Resource // what removed objects had recorded
}

// Edit begins a change of s, which itself stays as it is.
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

// Put stores an object; a nil entry removes it.
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

// remember keeps what a removed object had recorded, in case it was the last of its resource.
func (e *Edit) remember(r addr.Resource, recorded []addr.Resource) {
	lists := e.gone[r]
	if len(recorded) == 0 || len(lists) > 0 && same(lists[len(lists)-1], recorded) {
		return
	}
	if e.gone == nil {
		e.gone = map[addr.Resource][][]addr.Resource{}
	}
	e.gone[r] = append(lists, recorded)
}

// Get gives an object as it is now.
func (e *Edit) Get(o addr.Object) *Entry { return e.next.Get(o) }

// Output stores a root output.
func (e *Edit) Output(name string, o Output) { e.next.Outputs[name] = o }

// DropOutput removes a root output.
func (e *Edit) DropOutput(name string) { delete(e.next.Outputs, name) }

// Head gives lineage, serial, version, checks and unknown fields to change.
func (e *Edit) Head() *Snapshot { return &e.next }

// Objects is Done where only objects may have been changed: if none was, it gives the snapshot that the Edit began with,
// with its text.
func (e *Edit) Objects() *Snapshot {
	if e.base != nil && !e.put {
		return e.base
	}
	return e.Done()
}

// Done gives the new snapshot. The Edit must not be used afterwards.
//
// Recorded dependencies are direct, so an object that depended on another through one that is
// gone would forget it: what resources without any object left had recorded is handed on to those
// that name them.
func (e *Edit) Done() *Snapshot {
	e.bequeath()
	s := e.next
	s.derived = &derived{}
	e.owned = nil
	return &s
}

func (e *Edit) bequeath() {
	if len(e.gone) == 0 || len(e.next.resources) == 0 {
		return
	}
	for a := range e.next.resources {
		delete(e.gone, a.Resource())
	}
	if len(e.gone) == 0 {
		return
	}
	lists := relist(e.extend)
	for a, r := range e.next.resources {
		e.rewrite(a, r, lists)
	}
}

// extend adds to a list what the resources in it that are gone had recorded, and so on.
func (e *Edit) extend(list []addr.Resource) []addr.Resource {
	if !slices.ContainsFunc(list, func(r addr.Resource) bool { return e.gone[r] != nil }) {
		return list
	}
	seen := make(map[addr.Resource]bool, 2*len(list))
	out := slices.Clone(list)
	for _, r := range out {
		seen[r] = true
	}
	for i := 0; i < len(out); i++ {
		for _, more := range e.gone[out[i]] {
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

// rewrite gives every object of r the list that lists makes of its own.
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

// relist remembers what f makes of a list, so that objects that share one keep sharing one. f
// gives back the very list if nothing changes.
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
