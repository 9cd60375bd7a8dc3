package state

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
)

// Move returns a snapshot in which objects have new addresses. moves has the new address of each object by its present
// one. Move also changes the recorded dependencies on these objects, and check results. All moves happen at once, so
// that objects may exchange addresses. Move returns an error if two objects would have the same address, or if an
// object to move does not exist. The caller decides whether a move makes sense.
//
// A dependency names a resource, not an instance. If some objects of a resource move to another resource and others
// stay, the objects that depend on the resource then depend on both resources.
func (s *Snapshot) Move(moves map[addr.Object]addr.Object) (*Snapshot, error) {
	moves = maps.Clone(moves)
	maps.DeleteFunc(moves, func(from, to addr.Object) bool { return from == to })
	if err := s.checkMoves(moves); err != nil {
		return nil, err
	}
	m := mover{Edit: s.Edit(), moves: moves}
	m.entries(s)
	m.recorded(s)
	m.checks()
	return m.Done(), nil
}

func (s *Snapshot) checkMoves(moves map[addr.Object]addr.Object) error {
	taken := make(map[addr.Object]addr.Object, len(moves))
	for from, to := range moves {
		if s.Get(from) == nil {
			return fmt.Errorf("%s cannot be moved: it is not in the state", from)
		}
		if from.Mode != to.Mode || from.Mode == addr.Ephemeral {
			return fmt.Errorf("%s cannot be moved to %s: they are of different kinds", from, to)
		}
		if _, leaves := moves[to]; s.Get(to) != nil && !leaves {
			return fmt.Errorf("%s cannot be moved to %s: there is already an object at that address", from, to)
		}
		if other, ok := taken[to]; ok {
			first, second := other, from
			if second.Compare(first) < 0 {
				first, second = second, first
			}
			return fmt.Errorf("%s and %s cannot both be moved to %s", first, second, to)
		}
		taken[to] = from
	}
	return nil
}

// mover has the data of one call of Move.
type mover struct {
	*Edit
	moves map[addr.Object]addr.Object
}

func (m *mover) entries(s *Snapshot) {
	for from := range m.moves {
		m.Put(from, nil)
	}
	for from, to := range m.moves {
		m.Put(to, s.Get(from))
		if now := m.next.resources[to.Abs()]; now.Extra == nil && from.Abs() != to.Abs() {
			now.Extra = s.Resource(from.Abs()).Extra
		}
	}
	m.removed = nil // so that Done treats the objects as renamed, not as removed
}

// recorded renames the moved resources in the recorded dependencies of all objects. If the objects of a resource were
// moved to several resources, its name is replaced by all of their names. If at least one object was not moved, the old
// name stays, too.
func (m *mover) recorded(s *Snapshot) {
	renamed := map[addr.Resource][]addr.Resource{}
	for from, to := range m.moves {
		if a, b := from.Resource(), to.Resource(); a != b && !slices.Contains(renamed[a], b) {
			renamed[a] = append(renamed[a], b)
		}
	}
	if len(renamed) == 0 {
		return
	}
	for _, list := range renamed {
		slices.SortFunc(list, addr.Resource.Compare)
	}
	for a, r := range s.all() {
		from := a.Resource()
		if list, ok := renamed[from]; ok && !slices.Contains(list, from) && m.stays(a, r) {
			renamed[from] = append(list, from)
		}
	}
	lists := relist(func(list []addr.Resource) []addr.Resource { return rename(list, renamed) })
	for a, r := range m.next.resources {
		m.rewrite(a, r, lists)
	}
}

// stays reports whether at least one object of the resource r is not moved to another resource.
func (m *mover) stays(a addr.AbsResource, r *Resource) bool {
	for s := range r.each {
		if to, moved := m.moves[objectAt(a, s)]; !moved || to.Resource() == a.Resource() {
			return true
		}
	}
	return false
}

// rename returns a list with the renamed resources replaced by their new resources. If the list contains none of them,
// rename returns the list itself.
func rename(list []addr.Resource, renamed map[addr.Resource][]addr.Resource) []addr.Resource {
	if !slices.ContainsFunc(list, func(r addr.Resource) bool { return renamed[r] != nil }) {
		return list
	}
	out := make([]addr.Resource, 0, len(list)+1)
	seen := make(map[addr.Resource]bool, len(list)+1)
	for _, r := range list {
		now := renamed[r]
		if now == nil {
			now = []addr.Resource{r}
		}
		for _, n := range now {
			if !seen[n] {
				seen[n] = true
				out = append(out, n)
			}
		}
	}
	return out
}

// checks renames the addresses in check results. The result of a resource's instance moves with the instance. Any other
// result, such as the result of an output, moves with its module instance if all objects of that module instance moved
// to one other module instance.
func (m *mover) checks() {
	if len(m.next.Checks) == 0 {
		return
	}
	modules := m.modules()
	groups := map[[2]string]int{}
	var out []Check
	add := func(c Check) {
		k := [2]string{c.Kind, c.Addr}
		i, ok := groups[k]
		if !ok {
			groups[k] = len(out)
			out = append(out, c)
			return
		}
		out[i].Status = worse(out[i].Status, c.Status)
		out[i].Objects = append(slices.Clip(out[i].Objects), c.Objects...)
	}
	for _, c := range m.next.Checks {
		for _, part := range m.split(c, modules) {
			add(part)
		}
	}
	sortChecks(out)
	m.next.Checks = out
}

// split splits a check result by the new addresses of its objects. It returns one check result for each new
// declaration. modules has the new address of each module instance that moves.
func (m *mover) split(c Check, modules map[addr.ModuleInstance]addr.ModuleInstance) []Check {
	parts := map[string]*Check{}
	for _, o := range c.Objects {
		of := c.Addr
		if at, config, ok := m.checked(c.Kind, o.Addr, modules); ok {
			o.Addr, of = at, config
		}
		p := parts[of]
		if p == nil {
			p = &Check{Kind: c.Kind, Addr: of, Status: o.Status, Objects: []CheckedObject{}}
			parts[of] = p
		}
		p.Status = worse(p.Status, o.Status)
		p.Objects = append(p.Objects, o)
	}
	if len(parts) < 2 {
		for of := range parts {
			c.Addr, c.Objects = of, parts[of].Objects
		}
		return []Check{c}
	}
	var out []Check
	for _, of := range slices.Sorted(maps.Keys(parts)) {
		out = append(out, *parts[of])
	}
	return out
}

// checked returns the new addresses of a checked object and of its declaration. kind is the kind of the declaration,
// such as "resource", and at the present address of the object. modules has the new address of each module instance
// that moves. moved is false if the object keeps its address.
func (m *mover) checked(kind, at string, modules map[addr.ModuleInstance]addr.ModuleInstance) (object, config string, moved bool) {
	if kind == "resource" {
		i, err := addr.ParseInstance(at)
		to, ok := m.moves[i.Current()]
		return to.Instance.String(), to.Resource().String(), err == nil && ok
	}
	module, local := splitLocal(at)
	from, err := addr.ParseModuleInstance(module)
	to, ok := modules[from]
	if err != nil || !ok {
		return "", "", false
	}
	return within(to.String(), local), within(to.Module().String(), local), true
}

// splitLocal splits `module.a["k"].check.x` into the module and "check.x". Without a module, module is "".
func splitLocal(at string) (module, local string) {
	i := strings.LastIndexByte(at, '.')
	if i < 0 {
		return "", at
	}
	if j := strings.LastIndexByte(at[:i], '.'); j >= 0 {
		return at[:j], at[j+1:]
	}
	return "", at
}

func within(module, local string) string {
	if module == "" {
		return local
	}
	return module + "." + local
}

// modules returns the module instances that moved as a whole, with their new addresses. It considers the modules of the
// moved objects, and the modules that contain these if the names inside stay the same.
func (m *mover) modules() map[addr.ModuleInstance]addr.ModuleInstance {
	out := map[addr.ModuleInstance]addr.ModuleInstance{}
	torn := map[addr.ModuleInstance]bool{}
	for a := range m.next.resources {
		for at := a.Module; ; at = at.Parent() {
			torn[at] = true // an object that does not move remains in this module instance
			if at.IsRoot() {
				break
			}
		}
	}
	for from, to := range m.moves {
		a, b := from.Module, to.Module
		if a == b || from.Local() != to.Local() {
			torn[a] = true
			continue
		}
		for a != b && !a.IsRoot() && !b.IsRoot() {
			if was, ok := out[a]; ok && was != b {
				torn[a] = true
			}
			out[a] = b
			an, ak := a.Call()
			bn, bk := b.Call()
			if an != bn || ak != bk {
				break
			}
			a, b = a.Parent(), b.Parent()
		}
	}
	maps.DeleteFunc(out, func(from, _ addr.ModuleInstance) bool { return torn[from] })
	return out
}

// worse returns the worse of two statuses. The order is: error, fail, unknown, pass.
func worse(a, b Status) Status {
	for _, s := range []Status{Errored, Fail, Unknown} {
		if a == s || b == s {
			return s
		}
	}
	return Pass
}
