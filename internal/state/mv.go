package state

import (
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
)

// Renaming is the old and the new address of a moved resource, instance or module, for messages.
type Renaming struct{ From, To string }

// Mv moves the objects that match one address to another address. A resource moves to a resource, an instance to an
// instance of the same type, and a module or a module instance to another module. A module address without a key means
// the instance without a key, or all instances if that does not exist.
//
// If into is nil, the objects move within the snapshot, and the result target is nil. Otherwise they move to the
// snapshot into. Mv returns both changed snapshots. After an error, which it adds to bag, it returns false.
func (s *Snapshot) Mv(from, to addr.Target, into *Snapshot, bag *diag.Bag) (source, target *Snapshot, done []Renaming, ok bool) {
	m := relocation{from: s, into: into, bag: bag, moves: map[addr.Object]addr.Object{}}
	if into == nil {
		m.into = s
	}
	switch {
	case from.Mode == 0 && to.Mode == 0:
		ok = m.module(from, to)
	case from.Mode == 0:
		ok = m.refuse("Invalid target address", from, to, "the target must also be a module")
	case to.Mode == 0:
		ok = m.refuse("Invalid target address", from, to, "the target must also be a resource instance")
	default:
		ok = m.resource(from, to)
	}
	if !ok {
		return nil, nil, nil, false
	}
	slices.SortStableFunc(m.done, func(a, b moved) int { return a.order.Compare(b.order) })
	for _, d := range m.done {
		done = append(done, d.Renaming)
	}
	if into == nil {
		source, ok = m.within()
		return source, nil, done, ok
	}
	source, target = m.across()
	return source, target, done, true
}

// relocation has the data of one call of Mv: the two states, the moves so far, and the messages.
type relocation struct {
	from, into *Snapshot
	bag        *diag.Bag
	moves      map[addr.Object]addr.Object
	done       []moved
}

type moved struct {
	order addr.ModuleInstance
	Renaming
}

func (m *relocation) refuse(title string, from, to addr.Target, why string) bool {
	m.bag.Add(diag.Errorf(title, "Cannot move %s to %s: %s.", targetText(from), targetText(to), why))
	return false
}

func (m *relocation) nothing(from addr.Target) bool {
	m.bag.Add(diag.Errorf("Invalid source address", "Cannot move %s: does not match anything in the current state.%s", targetText(from), m.from.Near(from)))
	return false
}

func (m *relocation) occupied(to, what string) bool {
	m.bag.Add(diag.Errorf("Invalid target address", "Cannot move to %s: there is already a %s at that address in the current state.", to, what))
	return false
}

// resource records the move of a resource or of an instance in m.moves. If the move is not possible, it adds an error
// to the bag and returns false.
func (m *relocation) resource(from, to addr.Target) bool {
	a, b := from.AsInstance(), to.AsInstance()
	switch {
	case a.Mode != b.Mode && a.Mode == addr.Managed:
		return m.refuse("Invalid state move request", from, to, "a managed resource can be moved only to another managed resource address")
	case a.Mode != b.Mode:
		return m.refuse("Invalid state move request", from, to, "a data resource can be moved only to another data resource address")
	case a.Type != b.Type:
		return m.refuse("Invalid state move request", from, to, "resource types don't match")
	}
	r := m.from.Resource(a.Abs())
	if r == nil {
		return m.nothing(from)
	}
	if !from.KeyGiven && !to.KeyGiven {
		if m.into.Resource(b.Abs()) != nil {
			return m.occupied(b.String(), "resource instance")
		}
		m.all(r, b.Abs())
	} else if !m.instance(r, from, a, b) {
		return false
	}
	m.done = append(m.done, moved{Renaming: Renaming{a.String(), b.String()}})
	return true
}

// all records the moves of all objects of the resource r.
func (m *relocation) all(r *Resource, to addr.AbsResource) {
	for s := range r.each {
		m.moves[objectAt(r.Addr, s)] = objectAt(to, s)
	}
}

// instance records the moves of the objects of the instance a to the instance b. If b exists, or if a has no objects,
// it adds an error to the bag and returns false.
func (m *relocation) instance(r *Resource, from addr.Target, a, b addr.Instance) bool {
	for s := range m.into.Resource(b.Abs()).each {
		if s.key == b.Key {
			return m.occupied(b.String(), "resource instance")
		}
	}
	for s := range r.each {
		if s.key == a.Key {
			m.moves[objectAt(r.Addr, s)] = addr.Object{Instance: b, Deposed: s.deposed}
		}
	}
	return len(m.moves) > 0 || m.nothing(from)
}

// module records the moves of module instances with all objects in them. If no such module has objects, or if a new
// address is in use, it adds an error to the bag and returns false.
func (m *relocation) module(from, to addr.Target) bool {
	places := m.places(from, to)
	if len(places) == 0 {
		return m.nothing(from)
	}
	for at, to := range places {
		if at == to {
			return m.occupied(to.String(), "module instance")
		}
	}
	inside := map[addr.ModuleInstance]addr.ModuleInstance{}
	for _, r := range m.from.all() {
		now, ok := rebase(r.Addr.Module, places)
		if !ok {
			continue
		}
		if inside[r.Addr.Module] == (addr.ModuleInstance{}) {
			inside[r.Addr.Module] = now
			m.done = append(m.done, moved{r.Addr.Module, Renaming{r.Addr.Module.String(), now.String()}})
		}
		a := r.Addr
		a.Module = now
		m.all(r, a)
	}
	return m.free(places)
}

// free adds an error and returns false if an object that does not move away is in one of the new module instances, the
// values of places.
func (m *relocation) free(places map[addr.ModuleInstance]addr.ModuleInstance) bool {
	wanted := make(map[addr.ModuleInstance]bool, len(places))
	for _, to := range places {
		wanted[to] = true
	}
	for _, r := range m.into.all() {
		if _, leaves := rebase(r.Addr.Module, places); leaves && m.into == m.from {
			continue
		}
		for at := r.Addr.Module; !at.IsRoot(); at = at.Parent() {
			if wanted[at] {
				return m.occupied(at.String(), "module instance")
			}
		}
	}
	return true
}

// places returns the module instances that match the address of the objects to move, with the new address of each.
func (m *relocation) places(from, to addr.Target) map[addr.ModuleInstance]addr.ModuleInstance {
	out := map[addr.ModuleInstance]addr.ModuleInstance{}
	a, b := from.AsModule(), to.AsModule()
	name, key := a.Call()
	newName, newKey := b.Call()
	for _, r := range m.from.all() {
		at := r.Addr.Module
		for ; at.Depth() > a.Depth(); at = at.Parent() {
		}
		if at == a {
			return map[addr.ModuleInstance]addr.ModuleInstance{a: b}
		}
		n, k := at.Call()
		if key.IsNone() && newKey.IsNone() && n == name && at.Parent() == a.Parent() && from.ContainsModule(at) {
			out[at] = b.Parent().Child(newName, k)
		}
	}
	return out
}

// rebase returns the new address of a module instance that moves, or that is inside a moving module instance. places
// has the new address of each moving module instance. For other module instances, rebase returns the address unchanged
// and false.
func rebase(at addr.ModuleInstance, places map[addr.ModuleInstance]addr.ModuleInstance) (addr.ModuleInstance, bool) {
	if to, ok := places[at]; ok {
		return to, true
	}
	if at.IsRoot() {
		return at, false
	}
	parent, ok := rebase(at.Parent(), places)
	if !ok {
		return at, false
	}
	name, key := at.Call()
	return parent.Child(name, key), true
}

// within performs the recorded moves inside one snapshot. If that fails, it adds an error to the bag and returns false.
func (m *relocation) within() (*Snapshot, bool) {
	out, err := m.from.Move(m.moves)
	if err != nil {
		m.bag.Add(diag.Errorf("Invalid state move request", "%v.", err))
		return nil, false
	}
	return m.joined(out), true
}

// across moves the objects of the recorded moves into another snapshot. It returns both changed snapshots.
func (m *relocation) across() (source, target *Snapshot) {
	source, target = m.from.MoveInto(m.into, m.moves, nil)
	return source, m.joined(target)
}

// joined returns a snapshot after the move, in which objects that joined a resource have its provider configuration, as
// in Terraform. A file has one provider configuration for a resource, so without this change the resource's other
// objects could get the provider configuration of a moved object.
func (m *relocation) joined(out *Snapshot) *Snapshot {
	e := out.Edit()
	for _, to := range m.moves {
		r, entry := m.into.Resource(to.Abs()), out.Get(to)
		if r == nil || entry == nil || entry.Provider.ProviderConfig == r.Provider {
			continue
		}
		joined := *entry
		joined.Provider = addr.ProviderInstance{ProviderConfig: r.Provider}
		e.Put(to, &joined)
	}
	return e.Objects()
}
