package vet

import (
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
)

// trail is an address as a list of steps from the root. The name of a module call or resource is one step. Its instance
// is the next step, if the address continues or is about one instance. So the trail of a module is a prefix of the
// trails of its contents.
type trail []string

// The steps for instances without a fixed key.
const (
	anyInstance = "[*]" // any instance of a module in which a moved block is written
	unkeyed     = "[]"  // the instance without a key
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

// matches reports whether t and u may be trails of the same object.
func (t trail) matches(u trail) bool { return len(t) == len(u) && t.within(u) }

// within reports whether t may be the trail of the object of u, or of an object inside it: t begins with u, where
// anyInstance equals every instance.
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

// open reports whether t contains the step anyInstance.
func (t trail) open() bool { return slices.Contains(t, anyInstance) }

// text returns t as a key for look-ups. If open is true, each instance in t becomes anyInstance.
func (t trail) text(open bool) string {
	if !open {
		return strings.Join(t, "\x00")
	}
	t = slices.Clone(t)
	for i, s := range t {
		if isInstance(s) {
			t[i] = anyInstance
		}
	}
	return strings.Join(t, "\x00")
}

// trails is an index of trails, each with a number.
type trails struct {
	list  map[int]trail
	whole map[trailKey][]int
	parts map[trailKey][]int // the numbers of the trails, by each of their proper prefixes
}

// trailKey is a key of an index of trails. A trail that contains anyInstance is indexed only by its open text (see
// text). Any other trail is indexed by its exact text and by its open text, so that a search for an open trail finds
// it.
type trailKey struct {
	text      string
	open      bool // text is an open text: each instance in it is anyInstance
	different bool // the indexed trail itself has fixed instances
}

func (x *trails) add(n int, t trail) {
	if x.list == nil {
		*x = trails{map[int]trail{}, map[trailKey][]int{}, map[trailKey][]int{}}
	}
	x.list[n] = t
	for i := 1; i <= len(t); i++ {
		into := x.parts
		if i == len(t) {
			into = x.whole
		}
		keys := []trailKey{{t[:i].text(false), false, false}, {t[:i].text(true), true, true}}
		if t.open() {
			keys = []trailKey{{t[:i].text(true), true, false}}
		}
		for _, k := range keys {
			into[k] = append(into[k], n)
		}
	}
}

// find returns the numbers of the trails in one map of the index that may equal t. open is true if t contains
// anyInstance. The caller must still compare each trail with t.
func find(in map[trailKey][]int, t trail, open bool) []int {
	out := in[trailKey{t.text(true), true, false}]
	if open {
		return slices.Concat(out, in[trailKey{t.text(true), true, true}])
	}
	return slices.Concat(out, in[trailKey{t.text(false), false, false}])
}

// same returns the numbers of the trails that may equal t.
func (x *trails) same(t trail) []int {
	return x.those(find(x.whole, t, t.open()), func(u trail) bool { return u.matches(t) })
}

// inside returns the numbers of the trails that may be inside t.
func (x *trails) inside(t trail) []int {
	return x.those(find(x.parts, t, t.open()), func(u trail) bool { return u.within(t) })
}

// around returns the numbers of the trails that are, or may be, proper prefixes of t: the modules and resources that
// contain t.
func (x *trails) around(t trail) []int {
	var out []int
	for i := 1; i < len(t); i++ {
		out = append(out, x.those(find(x.whole, t[:i], t.open()), t.within)...)
	}
	return out
}

func (x *trails) those(list []int, ok func(trail) bool) []int {
	return slices.DeleteFunc(list, func(n int) bool { return !ok(x.list[n]) })
}
