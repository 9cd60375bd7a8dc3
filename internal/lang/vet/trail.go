package vet

import (
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
)

// trail is an address from the root on, as steps: the name of a call or resource, then the instance
// of it, if the address goes on or is about one instance. What contains something has a trail that
// its trail begins with.
type trail []string

// Steps that are instances.
const (
	anyInstance = "[*]" // of a module that a block stands in
	unkeyed     = "[]"
)

func newTrail(in addr.Module, t addr.Target, whole bool) trail {
	var out trail
	for m := in; !m.IsRoot(); m = m.Parent() {
		out = append(out, anyInstance, "module."+m.Name())
	}
	slices.Reverse(out)
	modules := t.Enclosing()
	for i, m := range modules {
		name, key := m.AsModule().Call()
		out = append(out, "module."+name)
		if !whole || t.Mode != 0 || i < len(modules)-1 {
			out = append(out, instanceStep(key))
		}
	}
	if t.Mode == 0 {
		return out
	}
	out = append(out, addr.Resource{Mode: t.Mode, Type: t.Type, Name: t.Name}.String())
	if !whole {
		out = append(out, instanceStep(t.Key))
	}
	return out
}

func instanceStep(k addr.Key) string {
	if k.IsNone() {
		return unkeyed
	}
	return k.String()
}

// matches reports whether two trails may lead to the same.
func (t trail) matches(u trail) bool { return len(t) == len(u) && t.within(u) }

// within reports whether t may begin with u.
func (t trail) within(u trail) bool {
	if len(u) > len(t) {
		return false
	}
	for i, s := range u {
		if s != t[i] && (s != anyInstance || !isInstance(t[i])) && (t[i] != anyInstance || !isInstance(s)) {
			return false
		}
	}
	return true
}

func isInstance(step string) bool { return step[0] == '[' }

// names is t without its instances, for looking up.
func (t trail) names() string {
	return strings.Join(slices.DeleteFunc(slices.Clone(t), isInstance), "\x00")
}

// trails finds numbered trails by others.
type trails struct {
	list  map[int]trail
	whole map[string][]int // by their names
	parts map[string][]int // by the names of all that they begin with
}

func (x *trails) add(n int, t trail) {
	if x.list == nil {
		*x = trails{map[int]trail{}, map[string][]int{}, map[string][]int{}}
	}
	x.list[n] = t
	x.whole[t.names()] = append(x.whole[t.names()], n)
	for i := 1; i < len(t); i++ {
		x.parts[t[:i].names()] = append(x.parts[t[:i].names()], n)
	}
}

// same finds what may be t.
func (x *trails) same(t trail) []int {
	return x.those(x.whole[t.names()], func(u trail) bool { return u.matches(t) })
}

// inside finds what may lie within t.
func (x *trails) inside(t trail) []int {
	return x.those(x.parts[t.names()], func(u trail) bool { return len(u) > len(t) && u.within(t) })
}

// around finds what t may lie within.
func (x *trails) around(t trail) []int {
	var out []int
	for i := 1; i < len(t); i++ {
		out = append(out, x.those(x.whole[t[:i].names()], func(u trail) bool { return len(u) < len(t) && t.within(u) })...)
	}
	return out
}

func (x *trails) those(list []int, ok func(trail) bool) []int {
	return slices.DeleteFunc(slices.Clone(list), func(n int) bool { return !ok(x.list[n]) })
}
